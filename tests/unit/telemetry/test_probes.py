from collections.abc import AsyncIterator

import aiohttp
import pytest

from imagerefresh.telemetry.metrics import Metrics
from imagerefresh.telemetry.probes import AddressError, ProbeServer

HOST = "127.0.0.1"


class Process:
    """A process under test: what its checks say at the moment."""

    def __init__(self) -> None:
        self.health = (True, "ok")
        self.readiness = (False, "the CRD is not installed")
        self.metrics = Metrics()
        self.server = ProbeServer(
            healthy=lambda: self.health,
            ready=lambda: self.readiness,
            exposition=self.metrics.exposition,
        )
        self.port = 0

    async def get(self, path: str) -> tuple[int, str, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://{HOST}:{self.port}{path}") as answer,
        ):
            return answer.status, answer.headers["Content-Type"], await answer.text()


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    process = Process()
    process.port = await process.server.start(HOST, 0)
    yield process
    await process.server.close()


async def test_probes_say_at_each_request_what_the_checks_say(process: Process) -> None:
    """B29: liveness can fail, and come back."""
    assert (await process.get("/healthz"))[::2] == (200, "ok\n")
    assert (await process.get("/readyz"))[::2] == (503, "the CRD is not installed\n")
    process.health = (False, "no call has succeeded for 301 s")
    process.readiness = (True, "ok")
    assert (await process.get("/healthz"))[::2] == (503, "no call has succeeded for 301 s\n")
    assert (await process.get("/readyz"))[::2] == (200, "ok\n")


async def test_metrics_are_served_in_the_format_of_prometheus(process: Process) -> None:
    code, content_type, text = await process.get("/metrics")
    assert code == 200
    assert content_type.startswith("text/plain; version=")
    assert "imagerefresh_policies 0.0" in text


async def test_anything_else_is_not_there(process: Process) -> None:
    assert (await process.get("/"))[0] == 404


async def test_an_address_in_use_is_said_with_what_to_do(process: Process) -> None:
    second = Process()
    with pytest.raises(AddressError, match="is in use; set IMAGEREFRESH_HTTP_ADDRESS"):
        await second.server.start(HOST, process.port)


async def test_a_foreign_address_is_said_with_what_to_do() -> None:
    with pytest.raises(AddressError, match=r"192\.0\.2\.1 port 0: .*; set IMAGEREFRESH_HTTP"):
        await Process().server.start("192.0.2.1", 0)


async def test_a_closed_server_frees_its_address(process: Process) -> None:
    second = Process()
    await process.server.close()
    assert await second.server.start(HOST, process.port) == process.port
    await second.server.close()
