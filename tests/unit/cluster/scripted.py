"""A scripted HTTP server for what a real API server can't be made to do: 429, outages, garbage."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

_END = web.AppKey("end", asyncio.Event)


def says(code: int, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Answers with a JSON body, or with a text as it is."""
    text = body if isinstance(body, str) else json.dumps(body or {})

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=code, text=text, headers=headers)

    return answer


def status(code: int, message: str) -> dict[str, object]:
    """The body of the API server's failures."""
    return {"kind": "Status", "apiVersion": "v1", "code": code, "message": message}


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """Closes the connection without an answer."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def hangs(request: web.Request) -> web.StreamResponse:
    """Does not answer while the test runs."""
    await request.app[_END].wait()
    return web.Response()


@dataclass
class ScriptedServer:
    """Gives `answers` one after the other, the last one for ever, and keeps what it was asked."""

    kubeconfig: Path
    token_file: Path
    answers: list[Answer] = field(default_factory=lambda: [says(200)])
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def authorizations(self) -> list[str | None]:
        return [request.headers.get("Authorization") for request in self.requests]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(json.loads(await request.text() or "{}"))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)


@asynccontextmanager
async def scripted_server(folder: Path) -> AsyncIterator[ScriptedServer]:
    server = ScriptedServer(folder / "kubeconfig", folder / "token")
    app = web.Application()
    app[_END] = asyncio.Event()
    app.router.add_route("*", "/{path:.*}", server._handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.token_file.write_text("first-token\n")
    write_kubeconfig(
        server.kubeconfig,
        {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"},
        {"tokenFile": str(server.token_file)},
    )
    try:
        yield server
    finally:
        app[_END].set()
        await runner.cleanup()


def write_kubeconfig(path: Path, cluster: dict[str, str], user: dict[str, str]) -> None:
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "it",
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "clusters": [{"name": "it", "cluster": cluster}],
                "users": [{"name": "it", "user": user}],
            }
        )
    )
