"""A TCP proxy that can cut the wire, placed between the operator and the API server.

It passes bytes on unseen, so TLS stays between the two ends.
"""

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

from testbed.loop import BackgroundLoop

_CHUNK = 64 * 1024


class TcpProxy:
    """Listens on a loopback port of its own, and passes on to the server at the URL `target`.

    `server` is the URL to use instead.
    """

    def __init__(self, target: str) -> None:
        url = urlsplit(target)
        self._target = url.hostname, url.port
        self._open: set[asyncio.StreamWriter] = set()
        self._cut = False
        self._loop = BackgroundLoop("tcp proxy")
        self.server = f"{url.scheme}://{self._loop.run(self._start())}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._loop.run(self._stop())
        self._loop.stop()

    def cut(self) -> None:
        """Close all connections at once, and from now on each new one."""
        self._loop.run(self._set_cut(cut=True))

    def restore(self) -> None:
        """Pass on new connections again."""
        self._loop.run(self._set_cut(cut=False))

    async def _start(self) -> str:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    async def _stop(self) -> None:
        self._server.close()
        await self._set_cut(cut=True)
        await self._server.wait_closed()

    async def _set_cut(self, *, cut: bool) -> None:
        self._cut = cut
        if cut:
            for writer in self._open:
                writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            target_reader, target_writer = await asyncio.open_connection(*self._target)
        except OSError:
            self._open.discard(writer)
            writer.transport.abort()
            return
        self._open.add(target_writer)
        try:
            await asyncio.gather(_pass_on(reader, target_writer), _pass_on(target_reader, writer))
        finally:
            self._open -= {writer, target_writer}
            writer.close()
            target_writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until one side ends, then end the other."""
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    with suppress(ConnectionError):
        writer.close()
