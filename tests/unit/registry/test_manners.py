"""What a host is spared, and what is told about its limits (B9)."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from imagerefresh.registry import RequestRecord
from imagerefresh.registry.bucket import Rate
from imagerefresh.registry.limit_headers import limit_headers
from imagerefresh.registry.transport import Transport
from unit.registry.scripted import SETTINGS, Reply, ScriptedRegistry
from unit.registry.sending import get


@pytest.fixture
async def told(records: list[RequestRecord]) -> AsyncIterator[Transport]:
    transport = Transport(SETTINGS, records.append)
    yield transport
    await transport.close()


async def test_requests_to_one_host_are_paced_and_no_others(
    registry: ScriptedRegistry, other: ScriptedRegistry, transport: Transport
) -> None:
    transport.hosts.set_rates(lambda name: Rate(20, 2) if name == registry.host else Rate(1e6, 1))
    for server in (registry, other):
        server.on("GET", "/x", Reply())

    async def ask(server: ScriptedRegistry) -> float:
        answer = await transport.send(get(f"{server.url}/x"))
        return answer.sent_at

    began = time.monotonic()
    times = await asyncio.gather(*(ask(registry) for _ in range(6)))
    assert max(times) - began >= 4 / 20
    times = await asyncio.gather(*(ask(other) for _ in range(6)))
    assert max(times) - min(times) < 4 / 20 + 5  # on a busy machine


async def test_a_rate_holds_for_hosts_known_before(
    registry: ScriptedRegistry, transport: Transport
) -> None:
    registry.on("GET", "/x", Reply())
    await transport.send(get(f"{registry.url}/x"))
    transport.hosts.set_rates(lambda _: Rate(10, 1))
    assert transport.hosts.get(registry.host, 0).bucket.rate == Rate(10, 1)


async def test_who_goes_away_while_waiting_leaves_the_place_to_others(
    registry: ScriptedRegistry, transport: Transport
) -> None:
    registry.on("GET", "/x", Reply())
    transport.hosts.set_rates(lambda _: Rate(0.001, 1))
    await transport.send(get(f"{registry.url}/x"))
    bucket = transport.hosts.get(registry.host, 0).bucket
    before = bucket._full_at
    task = asyncio.create_task(transport.send(get(f"{registry.url}/x")))
    await asyncio.sleep(0)  # it comes as far as its wait
    assert bucket._full_at > before
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bucket._full_at == pytest.approx(before)
    assert len(registry.seen) == 1


async def test_records_tell_path_and_limits(
    registry: ScriptedRegistry, told: Transport, records: list[RequestRecord]
) -> None:
    headers = (
        ("RateLimit-Limit", "100;w=21600"),
        ("ratelimit-remaining", "20;w=21600"),
        ("Docker-RateLimit-Source", "192.0.2.1"),
        ("X-Other", "no"),
    )
    registry.on("GET", "/x", Reply(200, headers))
    await told.send(get(f"{registry.url}/x?scope=hidden"))
    (record,) = records
    assert record.path == "/x"
    assert record.limits == (
        ("ratelimit-limit", "100;w=21600"),
        ("ratelimit-remaining", "20;w=21600"),
        ("docker-ratelimit-source", "192.0.2.1"),
    )


def test_limit_headers_are_bounded_and_printable() -> None:
    headers = {f"X-RateLimit-{number}": "\x1b[31m" + "9" * 10_000 for number in range(100)}
    found = limit_headers(headers)
    assert len(found) == 16
    assert all(value.isprintable() and len(value) <= 300 for _, value in found)
