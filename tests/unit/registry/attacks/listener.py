"""A server that writes down every byte that it is sent, and answers as no good server would."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import SupportsIndex

from multidict import CIMultiDict
from typing_extensions import override
from yarl import URL

from testbed.loop import BackgroundLoop
from unit.registry.scripted import Reply, Seen

OURS = "127.0.0.1"
ANOTHER = "127.0.0.2"
"""Another host, as far as credentials are concerned."""

_END_OF_HEAD = b"\r\n\r\n"
_MAX_HEAD = 1024 * 1024

Answer = Reply | Iterable[bytes]
"""A well-formed answer, or pieces that are sent as they are, then the connection is closed."""
Script = Answer | Callable[[Seen], Answer]


class Listener:
    """Speaks HTTP, over TLS if it is given a context. What no script covers is 404.

    Attributes:
        address: host and port.
        url: of its root.
        received: all bytes so far, of all connections, without TLS.
        connections: how many were made.
        heard: the requests, in order.
        sent: number of bytes written, as far as somebody read them.
    """

    def __init__(
        self, loop: BackgroundLoop, host: str = OURS, tls: ssl.SSLContext | None = None
    ) -> None:
        self.received = bytearray()
        self.connections = 0
        self.heard: list[Seen] = []
        self.sent = 0
        self._scripts: dict[tuple[str, str], Script] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = loop
        self.address = loop.run(self._start(host, tls))
        self.url = f"{'https' if tls else 'http'}://{self.address}"

    def stop(self) -> None:
        """Hang up."""
        self._loop.run(self._stop())

    def on(self, method: str, path: str, script: Script) -> None:
        """Answer requests for a path; it has no query."""
        self._scripts[method, path] = script

    def lines(self) -> list[str]:
        """What was asked so far, as method and path."""
        return [f"{each.method} {each.path}" for each in self.heard]

    async def _start(self, host: str, tls: ssl.SSLContext | None) -> str:
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(_Ear(self.received), self._connected)

        self._server = await loop.create_server(protocol, host, 0, ssl=tls)
        return "{}:{}".format(*self._server.sockets[0].getsockname()[:2])

    async def _stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._talk(reader, writer):
                    pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; returns whether the connection is good for another."""
        seen = await _read(reader)
        self.heard.append(seen)
        script = self._scripts.get((seen.method, seen.path), Reply(404))
        answer = script(seen) if callable(script) else script
        pieces = [_written(answer, seen)] if isinstance(answer, Reply) else answer
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            self.sent += len(piece)
        return isinstance(answer, Reply)


class _Ear(asyncio.StreamReader):
    """Notes what comes in before anybody makes sense of it."""

    def __init__(self, received: bytearray) -> None:
        super().__init__(limit=_MAX_HEAD)
        self._received = received

    @override
    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        self._received.extend(data)
        super().feed_data(data)


async def _read(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(_END_OF_HEAD)).decode("latin-1")
    request_line, *lines = head.removesuffix(_END_OF_HEAD.decode()).split("\r\n")
    method, target, _ = request_line.split(" ")
    fields = (line.partition(":") for line in lines)
    headers = CIMultiDict((name, value.strip()) for name, _, value in fields)
    body = await reader.readexactly(int(headers.get("Content-Length", "0")))
    url = URL(target, encoded=True)
    query = list(url.query.items())
    return Seen(method, url.path, query, headers, body.decode("latin-1"), "")


def _written(reply: Reply, seen: Seen) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        *(f"{name}: {value}" for name, value in reply.headers),
        f"Content-Length: {len(reply.body)}",
    ]
    head = "\r\n".join(lines).encode("latin-1") + _END_OF_HEAD
    return head if seen.method == "HEAD" else head + reply.body
