"""A reverse proxy before a registry: counts requests, and answers badly when told to.

For what a healthy registry can't be made to do. It knows HTTP, not the distribution protocol.
"""

import asyncio
import re
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self

from aiohttp import ClientSession, ClientTimeout, web
from multidict import CIMultiDict

from testbed.loop import BackgroundLoop

_OWN = {"connection", "date", "keep-alive", "server", "transfer-encoding"}  # each side's own
_DIGEST = "docker-content-digest"


@dataclass(frozen=True)
class FrontRequest:
    """A request and its answer; `status` 0 means that it was left without one.

    `path` includes the query, `time` is time.monotonic() when the request came in, and the names of
    `headers` are in lower case.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    status: int
    time: float


@dataclass
class _Fault:
    methods: frozenset[str]
    path: re.Pattern[str]
    status: int
    headers: Mapping[str, str]
    body: bytes
    left: float


class RegistryFront:
    """Forwards what comes to `address` ("host:port") to the registry at `upstream`.

    Made to be driven by a test while requests come in. `digest_header` is how the name of
    Docker-Content-Digest is spelt (None: as the registry does); `leave_out` names headers, in lower
    case, that the answers lack.
    """

    def __init__(self, upstream: str) -> None:
        self.digest_header: str | None = None
        self.leave_out: Collection[str] = ()
        self._upstream = upstream
        self._lock = threading.Lock()
        self._requests: list[FrontRequest] = []
        self._faults: list[_Fault] = []
        self._healed = asyncio.Event()
        self._loop = BackgroundLoop("registry front")
        self.address = self._loop.run(self._start())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.heal()
        self._loop.run(self._stop())
        self._loop.stop()

    def requests(self, method: str = "", path: str = "") -> list[FrontRequest]:
        """The requests so far, in order of their answers.

        Only those of `method`, if given, and in whose path the regular expression `path` is found.
        """
        with self._lock:
            return [
                request
                for request in self._requests
                if method in ("", request.method) and re.search(path, request.path)
            ]

    def forget(self) -> None:
        """Drop the requests so far."""
        with self._lock:
            self._requests.clear()

    def fail(
        self,
        status: int,
        *,
        path: str = "",
        methods: Collection[str] = ("GET", "HEAD"),
        headers: Mapping[str, str] | None = None,
        body: str = "",
        times: float = float("inf"),
    ) -> None:
        """Answer with `status` instead of forwarding: the next `times` requests, or until `heal`.

        It concerns `methods` and paths in which the regular expression `path` is found; of several
        that fit, the newest applies. With a `status` of 0 requests wait for an answer until `heal`.
        """
        fault = _Fault(
            frozenset(methods), re.compile(path), status, headers or {}, body.encode(), times
        )
        with self._lock:
            self._faults.append(fault)

    def heal(self) -> None:
        """Forward everything again, and hang up on those that wait."""
        with self._lock:
            self._faults.clear()
        self._loop.run(self._release())

    async def _start(self) -> str:
        self._session = ClientSession(
            f"http://{self._upstream}", auto_decompress=False, timeout=ClientTimeout(total=60)
        )
        application = web.Application(client_max_size=0)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        return f"{host}:{port}"

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _release(self) -> None:
        self._healed.set()
        self._healed = asyncio.Event()

    async def _handle(self, request: web.Request) -> web.Response:
        came = time.monotonic()
        fault = self._fault_for(request)
        if fault is None:
            response = await self._forward(request)
        elif fault.status:
            response = web.Response(
                status=fault.status, headers=CIMultiDict(fault.headers), body=fault.body
            )
        else:
            self._count(request, 0, came)
            await self._healed.wait()
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        self._count(request, response.status, came)
        return response

    def _fault_for(self, request: web.Request) -> _Fault | None:
        with self._lock:
            for fault in reversed(self._faults):
                if (
                    fault.left > 0
                    and request.method in fault.methods
                    and fault.path.search(request.path_qs)
                ):
                    fault.left -= 1
                    return fault
        return None

    async def _forward(self, request: web.Request) -> web.Response:
        body = await request.read()
        async with self._session.request(
            request.method,
            request.rel_url,
            headers=request.headers,
            data=body or None,
            allow_redirects=False,
        ) as answer:
            data = await answer.read()
            headers = CIMultiDict[str]()
            for name, value in answer.headers.items():
                if name.lower() in _OWN or name.lower() in self.leave_out:
                    continue
                is_digest = name.lower() == _DIGEST
                headers.add(self.digest_header or name if is_digest else name, value)
        return web.Response(status=answer.status, headers=headers, body=data or None)

    def _count(self, request: web.Request, status: int, came: float) -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._lock:
            self._requests.append(
                FrontRequest(request.method, request.path_qs, headers, status, came)
            )
