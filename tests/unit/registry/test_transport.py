import asyncio
import time

import pytest

from imagerefresh.registry.outcomes import RegistryError, TroubleReason
from imagerefresh.registry.transport import Transport
from unit.registry.scripted import SETTINGS, Reply, ScriptedRegistry, errors
from unit.registry.sending import get, trouble


@pytest.mark.parametrize("status", [408, 499, 500, 502, 503, 504, 522])
async def test_temporary_statuses_are_tried_again(
    registry: ScriptedRegistry, transport: Transport, status: int
) -> None:
    """B7: a hiccup is no trouble."""
    registry.on("GET", "/x", Reply(status), Reply(status), Reply(200, (), b"ok"))
    assert (await transport.send(get(f"{registry.url}/x"))).body == b"ok"
    assert len(registry.seen) == 3


async def test_retries_end_and_a_failing_host_gets_none(
    registry: ScriptedRegistry, transport: Transport
) -> None:
    registry.on("GET", "/x", Reply(500))
    error = await trouble(transport, f"{registry.url}/x")
    assert error.reason is TroubleReason.RegistryUnavailable
    assert f"{registry.host}: HTTP 500" in error.message
    assert len(registry.seen) == 3
    await trouble(transport, f"{registry.url}/x")
    assert len(registry.seen) == 4
    registry.on("GET", "/x", Reply(200), Reply(500))
    await transport.send(get(f"{registry.url}/x"))
    await trouble(transport, f"{registry.url}/x")
    assert len(registry.seen) == 8  # it had recovered


async def test_the_host_that_failed_is_blamed_not_who_sent_us_there(
    registry: ScriptedRegistry, other: ScriptedRegistry, transport: Transport
) -> None:
    """B9: the one is not asked again at once, for the other a hiccup still is none (B7)."""
    registry.on("GET", "/x", Reply(307, (("Location", f"{other.url}/x"),)))
    registry.on("GET", "/y", Reply(500), Reply(200))
    other.on("GET", "/x", Reply(500))
    for tries in (3, 4):
        error = await trouble(transport, f"{registry.url}/x")
        assert f"{other.host}: HTTP 500" in error.message
        assert len(other.seen) == tries
        assert (await transport.send(get(f"{registry.url}/y"))).status == 200
        registry.on("GET", "/y", Reply(500), Reply(200))


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (Reply(429, (("Retry-After", "60"),)), 60),
        (Reply(429), 30),
        (errors(429, "TOOMANYREQUESTS", "retry-after: 90s, allowed: 44000/minute"), 90),
        (errors(403, "DENIED", "You have exceeded a secondary rate limit"), 30),
        (Reply(403, (("retry-after", "60"),)), 60),
    ],
)
async def test_a_limit_silences_the_host_for_all(
    registry: ScriptedRegistry,
    other: ScriptedRegistry,
    transport: Transport,
    reply: Reply,
    seconds: float,
) -> None:
    """B9: nothing more is sent while it holds, other hosts are asked as ever."""
    registry.on("GET", "/x", reply)
    other.on("GET", "/x", Reply())
    now = time.monotonic()
    for path in ("x", "x", "y"):
        error = await trouble(transport, f"{registry.url}/{path}")
        assert error.reason is TroubleReason.RateLimited
        assert error.retry_at is not None
        assert seconds <= error.retry_at - now <= seconds * 1.2 + 30  # on a busy machine
    assert len(registry.seen) == 1
    assert (await transport.send(get(f"{other.url}/x"))).status == 200


async def test_a_limit_is_told_at_once_even_where_all_places_are_taken(
    registry: ScriptedRegistry, transport: Transport
) -> None:
    """B9."""
    hold = asyncio.Event()
    limit = Reply(429, (("Retry-After", "60"),))
    registry.on("GET", "/x", *([Reply(hold=hold)] * (SETTINGS.concurrency_per_host - 1)), limit)
    tasks = [
        asyncio.create_task(transport.send(get(f"{registry.url}/x")))
        for _ in range(SETTINGS.concurrency_per_host - 1)
    ]
    await registry.asked(len(tasks))
    await trouble(transport, f"{registry.url}/x")
    blocker = asyncio.create_task(transport.hosts.get(registry.host, 0).slots.acquire())
    error = await asyncio.wait_for(trouble(transport, f"{registry.url}/x"), 30)
    assert error.reason is TroubleReason.RateLimited
    await blocker
    hold.set()
    await asyncio.gather(*tasks)


async def test_retry_after_of_503_is_honoured_but_is_no_rate_limit(
    registry: ScriptedRegistry, transport: Transport
) -> None:
    """B9."""
    registry.on("GET", "/x", Reply(503, (("Retry-After", "60"),)))
    for _ in range(2):
        error = await trouble(transport, f"{registry.url}/x")
        assert error.reason is TroubleReason.RegistryUnavailable
        assert error.retry_at is not None
    assert len(registry.seen) == 1


async def test_a_host_gets_a_bounded_number_of_requests_at_once(
    registry: ScriptedRegistry, transport: Transport
) -> None:
    """B9: and waiting for a place holds up no other host."""
    hold = asyncio.Event()
    registry.on("GET", "/x", Reply(hold=hold))
    tasks = [asyncio.create_task(transport.send(get(f"{registry.url}/x"))) for _ in range(30)]
    await registry.asked(SETTINGS.concurrency_per_host)
    localhost = registry.url.replace("127.0.0.1", "localhost")  # another name, another host
    assert (await transport.send(get(f"{localhost}/y"))).status == 404
    assert len(registry.seen) == SETTINGS.concurrency_per_host + 1
    hold.set()
    await asyncio.gather(*tasks)
    assert len(registry.seen) == 31


async def test_a_queue_to_a_dead_host_fails_together(
    registry: ScriptedRegistry, impatient: Transport
) -> None:
    """B7: not one timeout after the other."""
    registry.on("GET", "/x", Reply(hold=asyncio.Event()))
    found = await asyncio.gather(
        *(impatient.send(get(f"{registry.url}/x")) for _ in range(40)), return_exceptions=True
    )
    assert all(isinstance(error, RegistryError) for error in found)
    assert len(registry.seen) <= 2 * SETTINGS.concurrency_per_host
