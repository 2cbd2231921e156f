"""A registry that says what a test tells it to say, and remembers what it was asked."""

import asyncio
import hashlib
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from imagerefresh.reference import Reference
from imagerefresh.registry import RegistrySettings, manifests

SETTINGS = RegistrySettings("imagerefresh/test", allow_insecure_loopback=True)

INDEX = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": manifests.OCI_INDEX,
        "manifests": [
            {
                "mediaType": manifests.OCI_MANIFEST,
                "digest": f"sha256:{'1' * 64}",
                "size": 2,
                "platform": {"os": "linux", "architecture": "amd64"},
            }
        ],
    }
).encode()


def digest_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: Mapping[str, str]
    body: str
    peer: str

    @property
    def authorization(self) -> str | None:
        return self.headers.get("Authorization")


@dataclass(frozen=True)
class Reply:
    """One answer; a body is left out for HEAD. `hold` keeps it back until it is set."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    hold: asyncio.Event | None = None


Script = Reply | Callable[[Seen], Reply | Awaitable[Reply]]


def errors(status: int, code: str, message: str, *headers: tuple[str, str]) -> Reply:
    """Return an error as registries write it."""
    body = json.dumps({"errors": [{"code": code, "message": message}]}).encode()
    return Reply(status, headers, body)


def manifest(body: bytes = INDEX, media_type: str = manifests.OCI_INDEX) -> Reply:
    """Return a manifest with all headers that it should have."""
    headers = (("Docker-Content-Digest", digest_of(body)), ("Content-Type", media_type))
    return Reply(200, headers, body)


def token(value: str = "t0ken", **fields: object) -> Reply:
    """Return what a token service answers."""
    return Reply(200, (), json.dumps({"token": value, "expires_in": 300, **fields}).encode())


def challenge(*values: str) -> Reply:
    """Return a 401 with one header line for each value."""
    return Reply(401, tuple(("WWW-Authenticate", value) for value in values))


@dataclass
class ScriptedRegistry:
    """Serves on 127.0.0.1; what no script covers is 404.

    Attributes:
        host: host and port, as a reference's registry.
        seen: all requests, in order.
    """

    host: str = ""
    seen: list[Seen] = field(default_factory=list)
    _scripts: dict[tuple[str, str], deque[Script]] = field(default_factory=dict)
    _arrival: asyncio.Condition = field(default_factory=asyncio.Condition)

    def on(self, method: str, path: str, *scripts: Script) -> None:
        """Answer requests for a path in turn; the last answer is given for ever."""
        self._scripts[method, path] = deque(scripts)

    def on_tag(self, method: str, *scripts: Script) -> None:
        """Answer requests for the manifest of `reference`."""
        self.on(method, "/v2/team/app/manifests/prod", *scripts)

    @property
    def reference(self) -> Reference:
        return Reference(self.host, "team/app", "prod")

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def bearer(self, **parameters: str) -> Reply:
        """Return a challenge to get a token at this registry's own token service."""
        fields = {"realm": f"{self.url}/token", "service": "registry.test", **parameters}
        return challenge("Bearer " + ",".join(f'{k}="{v}"' for k, v in fields.items()))

    def methods(self) -> list[str]:
        """Return what was asked so far, as method and path."""
        return [f"{seen.method} {seen.path}" for seen in self.seen]

    async def asked(self, count: int) -> None:
        """Wait until so many requests have arrived."""
        async with asyncio.timeout(30), self._arrival:
            await self._arrival.wait_for(lambda: len(self.seen) >= count)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        seen = Seen(
            request.method,
            request.path,
            list(request.query.items()),
            request.headers,
            await request.text(),
            str(request.transport and request.transport.get_extra_info("peername")),
        )
        async with self._arrival:
            self.seen.append(seen)
            self._arrival.notify_all()
        scripts = self._scripts.get((request.method, request.path))
        if not scripts:
            return web.Response(status=404)
        script = scripts.popleft() if len(scripts) > 1 else scripts[0]
        if not isinstance(script, Reply):
            made = script(seen)
            script = made if isinstance(made, Reply) else await made
        if script.hold is not None:
            await script.hold.wait()
        response = web.Response(status=script.status, body=script.body)
        if request.method == "HEAD":
            response.headers["Content-Length"] = str(len(script.body))
        for name, value in script.headers:
            if name == "Content-Type":
                response.headers[name] = value
            else:
                response.headers.add(name, value)
        return response


@asynccontextmanager
async def scripted_registry(
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[ScriptedRegistry]:
    registry = ScriptedRegistry()
    runner = web.ServerRunner(web.Server(registry.answer, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        registry.host = f"127.0.0.1:{runner.addresses[0][1]}"
        yield registry
    finally:
        await runner.cleanup()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def saying(answer: bytes) -> Talk:
    """Return a talk that answers one request with what no well-behaved server would send."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return talk


@asynccontextmanager
async def raw_server(talk: Talk) -> AsyncIterator[str]:
    """Talk to each connection, then hang up; yields host and port."""
    talks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            await talk(reader, writer)
        except (asyncio.CancelledError, OSError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
