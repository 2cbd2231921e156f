"""The HTTP endpoints /healthz, /readyz and /metrics.

They are served on their own and not by the operator framework, so that they are right before its
start and with no policy at all. What healthy means is not decided here.
"""

import errno
import os
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias

from aiohttp import web

from imagerefresh.telemetry.metrics import CONTENT_TYPE

Check: TypeAlias = Callable[[], tuple[bool, str]]
"""Whether all is well, and a line that says why."""


class AddressError(OSError):
    """The address can't be listened on; the text says what to do."""


class ProbeServer:
    """Serves the probes from `start` to `close`."""

    def __init__(self, *, healthy: Check, ready: Check, exposition: Callable[[], bytes]) -> None:
        app = web.Application()
        app.router.add_get("/healthz", _answer(healthy))
        app.router.add_get("/readyz", _answer(ready))

        async def metrics(_: web.Request) -> web.Response:
            return web.Response(body=exposition(), headers={"Content-Type": CONTENT_TYPE})

        app.router.add_get("/metrics", metrics)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self, host: str, port: int) -> int:
        """Listens, and returns the port: the system's choice if it was 0.

        Raises:
            AddressError: the address is in use, or not one of this machine.
        """
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self._runner.cleanup()
            why = "it is in use" if error.errno == errno.EADDRINUSE else _words(error)
            raise AddressError(
                f"can't serve the probes on {host} port {port}: {why}; "
                "set IMAGEREFRESH_HTTP_ADDRESS to another host:port"
            ) from None
        bound: int = self._runner.addresses[0][1]
        return bound

    async def close(self) -> None:
        """Stops listening; requests under way get an answer first."""
        await self._runner.cleanup()


def _answer(check: Check) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_: web.Request) -> web.Response:
        is_well, why = check()
        status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
        return web.Response(status=status, text=f"{why}\n")

    return handle


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
