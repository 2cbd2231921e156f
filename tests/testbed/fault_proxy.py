"""A proxy before the API server that lets a test decide what becomes of each of a client's writes.

It ends TLS with the API server's own certificate and speaks HTTP to both sides, since a single
write can only be held, refused or cut off by somebody who sees it. What it lets through it leaves
as it is, watches included; who may do what is still the API server's business.
"""

import asyncio
import itertools
import json
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector, web
from multidict import CIMultiDict

from testbed.faults import Cut, Hold, Plan, Refusal, Write, as_write
from testbed.loop import BackgroundLoop
from testbed.past import Past, with_items

_WRITES = frozenset({"DELETE", "PATCH", "POST", "PUT"})
_HOP_BY_HOP = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}
_NOT_PASSED_ON = _HOP_BY_HOP | {"accept-encoding", "host"}  # what is compressed can't be read


class FaultProxy:
    """Forwards to the API server at `target`, with the client's own credentials.

    `certificate` and `key` are the API server's, so that its clients trust the proxy, too. `server`
    is the URL to use instead of `target`. Made to be driven by a test while requests come in.
    """

    def __init__(self, target: str, certificate: Path, key: Path) -> None:
        self._target = target
        self._trust = ssl.create_default_context(cafile=str(certificate))
        self._identity = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._identity.load_cert_chain(certificate, key)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._writes: list[Write] = []
        self._plan: Plan = _no_fault
        self._past = Past()
        self._loop = BackgroundLoop("fault proxy")
        self.server = f"https://{self._loop.run(self._start())}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Drop what is held, and end."""
        self._loop.run(self._stop())
        self._loop.stop()

    def writes(self) -> list[Write]:
        """The writes so far, in the order in which they came in."""
        with self._lock:
            return list(self._writes)

    def forget(self) -> None:
        """Drop the writes so far, the plan, and the past."""
        with self._lock:
            self._writes.clear()
        self._plan = _no_fault
        self._past.forget()

    def follow(self, plan: Plan) -> None:
        """From now on, ask `plan` what is to become of each write."""
        self._plan = plan

    def show_past(self, path: str) -> bool:
        """Answer the next read of an object, alone and in a list, as before its latest write.

        A watch that begins at such a list brings what came after it, as if the list were from a
        lagging cache. Returns False if the object was not written since the last `forget`.
        """
        return self._past.show(path)

    def has_unread_past(self, path: str) -> bool:
        """Whether no read has met what `show_past` is to show."""
        return self._past.is_unread(path)

    async def _start(self) -> str:
        self._session = ClientSession(
            connector=TCPConnector(ssl=self._trust, limit=0), timeout=ClientTimeout(sock_connect=10)
        )
        application = web.Application(client_max_size=0)
        application.router.add_route("*", "/{path:.*}", self._handle)
        # A client that is gone ends its request: what is held for it must not go on later.
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._identity).start()
        host, port = self._runner.addresses[0][:2]
        return f"{host}:{port}"

    async def _stop(self) -> None:
        # A farewell in TLS would wait for the client's, and the loop ends before that.
        for each in self._runner.server.connections if self._runner.server else ():
            if each.transport is not None:
                each.transport.abort()
        await self._runner.cleanup()
        await self._session.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            if request.method in _WRITES:
                return await self._write(request)
            if request.query.get("watch") in ("true", "1"):
                return await self._watch(request)
            return await self._read(request)
        except (ClientError, ConnectionError):  # either side has gone
            return _cut(request)

    async def _write(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        write = as_write(next(self._numbers), request.method, request.path, body)
        with self._lock:
            self._writes.append(write)
        fault = self._plan(write)
        answer = None
        if fault is None or fault.is_done:
            if write.name and write.method != "DELETE":
                await self._remember(request, write)
            answer = await self._forward(request, body)
            write.status = answer.status
        match fault:
            case Refusal():
                return web.json_response(fault.body(), status=fault.code, headers=fault.headers())
            case Cut():
                return _cut(request)
            case Hold():
                fault.reached.set()
                await asyncio.Event().wait()  # until the client is gone
            case None:
                pass
        assert answer is not None
        return answer

    async def _remember(self, request: web.Request, write: Write) -> None:
        """Keep the object that is about to be written."""
        headers = {"Authorization": request.headers.get("Authorization", "")}
        async with self._session.get(f"{self._target}{write.path}", headers=headers) as answer:
            if answer.ok:
                self._past.remember(write.path, await answer.json())

    async def _read(self, request: web.Request) -> web.StreamResponse:
        if past := self._past.take(request.path):
            return web.json_response(past)
        answer = await self._forward(request, b"")
        if items := self._past.take_items(request.path):
            assert isinstance(answer.body, bytes)
            return web.json_response(with_items(json.loads(answer.body), items))
        return answer

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        async with self._request(request, b"") as answer:
            response = web.StreamResponse(status=answer.status, headers=_headers(answer))
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        async with self._request(request, body) as answer:
            data = await answer.read()
            return web.Response(status=answer.status, headers=_headers(answer), body=data)

    @asynccontextmanager
    async def _request(self, request: web.Request, body: bytes) -> AsyncIterator[ClientResponse]:
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in _NOT_PASSED_ON
        }
        async with self._session.request(
            request.method,
            f"{self._target}{request.path_qs}",
            headers=headers,
            data=body or None,
            allow_redirects=False,
        ) as answer:
            try:
                yield answer
            except BaseException:  # the client is gone, or the proxy ends
                if answer.connection and answer.connection.transport:
                    answer.connection.transport.abort()
                raise


def _no_fault(_: Write) -> None:
    return None


def _headers(answer: ClientResponse) -> CIMultiDict[str]:
    return CIMultiDict(
        (name, value) for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP
    )


def _cut(request: web.Request) -> web.Response:
    """Close the connection without a further word."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
