import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from imagerefresh.registry import RequestRecord
from imagerefresh.registry.outcomes import RegistryError, TroubleReason
from imagerefresh.registry.transport import Transport, _redirected
from imagerefresh.registry.wire import Answer, Request
from unit.registry.conftest import SETTINGS, Names
from unit.registry.scripted import Reply, ScriptedRegistry, errors, raw_server, saying

SECRET = "Basic c2VjcmV0"


def get(url: str, **headers: str) -> Request:
    return Request("GET", URL(url), headers, max_body=1000)


def redirect(target: str, status: int = 307) -> Reply:
    return Reply(status, (("Location", target),))


async def trouble(transport: Transport, url: str) -> RegistryError:
    with pytest.raises(RegistryError) as caught:
        await transport.send(get(url, Authorization=SECRET))
    return caught.value


@pytest.fixture
async def impatient() -> AsyncIterator[Transport]:
    transport = Transport(replace(SETTINGS, timeout=0.3, connect_timeout=0.3, read_timeout=0.15))
    yield transport
    await transport.close()


async def test_what_every_request_has(
    registry: ScriptedRegistry,
    transport: Transport,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B10: no credentials but those of the request: none of a netrc file, no cookies."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    registry.on("GET", "/x", Reply(200, (("Set-Cookie", "sid=1; Path=/"),), b"ok"))
    for _ in range(2):
        answer = await transport.send(get(f"{registry.url}/x"))
        assert (answer.status, answer.body) == (200, b"ok")
    for seen in registry.seen:
        assert seen.headers["User-Agent"] == "imagerefresh/test"
        assert seen.headers["Accept-Encoding"] == "identity"
        assert "Authorization" not in seen.headers
        assert "Cookie" not in seen.headers


async def test_connections_are_reused(registry: ScriptedRegistry, transport: Transport) -> None:
    registry.on("HEAD", "/x", Reply())
    request = Request("HEAD", URL(f"{registry.url}/x"), {})
    for _ in range(3):
        await transport.send(request)
    assert len({seen.peer for seen in registry.seen}) == 1


async def test_large_headers_are_read(registry: ScriptedRegistry, transport: Transport) -> None:
    registry.on("GET", "/x", Reply(200, (("X-Long", "x" * 60000),)))
    answer = await transport.send(get(f"{registry.url}/x"))
    assert len(answer.headers["X-Long"]) == 60000


async def test_bodies_are_capped(registry: ScriptedRegistry, transport: Transport) -> None:
    registry.on("GET", "/full", Reply(200, (), b"x" * 1000))
    registry.on("GET", "/large", Reply(200, (), b"x" * 1001))
    registry.on("GET", "/error", Reply(404, (), b"x" * 100000))
    assert len((await transport.send(get(f"{registry.url}/full"))).body) == 1000
    assert "more than 1000 bytes" in (await trouble(transport, f"{registry.url}/large")).message
    assert len((await transport.send(get(f"{registry.url}/error"))).body) == 65536


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (b"", "connection closed by the server"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "truncated answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "truncated answer"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "malformed answer"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70000 + b"\r\n\r\n", "malformed answer"),
    ],
)
async def test_broken_answers_are_transient(
    transport: Transport, answer: bytes, cause: str
) -> None:
    """B7: a truncated or malformed answer."""
    async with raw_server(saying(answer)) as host:
        error = await trouble(transport, f"http://{host}/x")
    assert error.reason is TroubleReason.RegistryUnavailable
    assert error.message == f"{host}: {cause}; it is asked again at the next turn"


async def test_silence_and_endless_bodies_end(
    registry: ScriptedRegistry, impatient: Transport
) -> None:
    """B7: a timeout."""
    registry.on("GET", "/x", Reply(hold=asyncio.Event()))
    started = time.monotonic()
    error = await trouble(impatient, f"{registry.url}/x")
    assert time.monotonic() - started < 5
    assert error.message.startswith(f"{registry.host}: timeout")
    assert len(registry.seen) == 1  # its time is spent


async def test_a_body_that_drips_for_ever_ends(impatient: Transport) -> None:
    """B7: each piece in time, but never all of it."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with raw_server(drip) as host:
        error = await trouble(impatient, f"http://{host}/x")
    assert "timeout" in error.message


async def test_no_name_no_connection_no_tls(
    registry: ScriptedRegistry, transport: Transport, names: Names
) -> None:
    """B7: each with a cause that stays the same."""
    port = registry.host.partition(":")[2]
    names.addresses["registry.test"] = ["127.0.0.1"]
    found = [
        (await trouble(transport, url)).message
        for url in (
            "https://gone.test/x",
            "http://127.0.0.1:1/x",
            f"https://registry.test:{port}/x",
        )
    ]
    assert [message.split(":")[-1].split(";")[0].strip() for message in found] == [
        "host name not found",
        "connection refused",
        "TLS handshake failed",
    ]
    assert not registry.seen


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
        assert seconds <= error.retry_at - now <= seconds * 1.2 + 5
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
    error = await asyncio.wait_for(trouble(transport, f"{registry.url}/x"), 5)
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


# Redirects.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_on_one_origin_keep_the_authorization(
    registry: ScriptedRegistry, transport: Transport, status: int
) -> None:
    registry.on("GET", "/x", redirect("/y?sig=a%2Fb%27&n=1+2", status))
    registry.on("GET", "/y", Reply(200, (), b"ok"))
    answer = await transport.send(get(f"{registry.url}/x", Authorization=SECRET))
    assert answer.body == b"ok"
    assert answer.url.raw_path_qs == "/y?sig=a%2Fb%27&n=1+2"  # as it came, or signatures break
    assert registry.seen[-1].authorization == SECRET


async def test_redirects_to_another_origin_lose_the_authorization_for_good(
    registry: ScriptedRegistry, other: ScriptedRegistry, transport: Transport
) -> None:
    """B10: asserted on what the other side received."""
    registry.on("GET", "/x", redirect(f"{other.url}/y"))
    other.on("GET", "/y", redirect(f"{registry.url}/z"))
    registry.on("GET", "/z", Reply(200, (), b"ok"))
    request = get(f"{registry.url}/x", authorization=SECRET, Accept="a/b")
    assert (await transport.send(request)).body == b"ok"
    assert [seen.authorization for seen in registry.seen] == [SECRET, None]
    assert [seen.authorization for seen in other.seen] == [None]
    assert other.seen[0].headers["Accept"] == "a/b"


async def test_endless_redirects_end(registry: ScriptedRegistry, transport: Transport) -> None:
    registry.on("GET", "/x", redirect("/x"))
    assert "redirects" in (await trouble(transport, f"{registry.url}/x")).message
    assert len(registry.seen) == 6


@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("http://169.254.169.254/latest/meta-data", "link-local"),
        ("https://[fd00:ec2::254]/", "metadata"),
        ("https://127.1/", "unusual"),
        ("https://metadata.example.com/", "link-local"),
        ("http://registry.example.com/", "plain http"),
        ("http://user:pass@127.0.0.1/", "user name"),
    ],
)
async def test_redirects_to_forbidden_places_are_misconfiguration(
    registry: ScriptedRegistry, transport: Transport, names: Names, target: str, word: str
) -> None:
    """B28: the address policy holds on each hop."""
    names.addresses["metadata.example.com"] = ["169.254.169.254"]
    names.addresses["registry.example.com"] = ["127.0.0.1"]
    registry.on("GET", "/x", redirect(target))
    error = await trouble(transport, f"{registry.url}/x")
    assert error.reason is TroubleReason.RegistryMisconfigured
    assert word in error.message
    assert len(registry.seen) == 1


def test_redirects_never_leave_tls() -> None:
    """B10: not even for this machine, where plain http is allowed."""
    answer = Answer(307, CIMultiDictProxy(CIMultiDict(Location="http://127.0.0.1/")), b"", URL(), 0)
    with pytest.raises(RegistryError, match="from https to plain http"):
        _redirected(get("https://registry.example.com/x"), answer)


@pytest.mark.parametrize("target", ["", "ftp://127.0.0.1/", "http://127.0.0.1:port/", "/a b", "//"])
async def test_unusable_redirects(
    registry: ScriptedRegistry, transport: Transport, target: str
) -> None:
    registry.on("GET", "/x", redirect(target))
    error = await trouble(transport, f"{registry.url}/x")
    assert error.reason is TroubleReason.RegistryUnavailable
    assert "redirect" in error.message


# Addresses.


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://169.254.169.254/x", "link-local"),
        ("https://[::ffff:169.254.169.254]/x", "link-local"),
        ("https://evil.example.com/x", "link-local"),
        ("https://0.0.0.0/x", "not one machine"),
        ("http://10.0.0.1/x", "plain http"),
        ("http://registry.example.com/x", "plain http"),
    ],
)
async def test_forbidden_addresses(transport: Transport, names: Names, url: str, word: str) -> None:
    """B28: by literal, and by name where the connection is made."""
    names.addresses["evil.example.com"] = ["169.254.169.254"]
    error = await trouble(transport, url)
    assert error.reason is TroubleReason.RegistryMisconfigured
    assert word in error.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "local.example.com"])
async def test_loopback_needs_the_setting(
    registry: ScriptedRegistry, names: Names, host: str
) -> None:
    """B28."""
    names.addresses["local.example.com"] = ["127.0.0.1"]
    port = registry.host.partition(":")[2]
    strict = Transport(replace(SETTINGS, allow_insecure_loopback=False))
    for scheme in ("http", "https"):
        error = await trouble(strict, f"{scheme}://{host}:{port}/x")
        assert error.reason is TroubleReason.RegistryMisconfigured
    await strict.close()
    assert not registry.seen


async def test_requests_are_recorded(
    registry: ScriptedRegistry, records: list[RequestRecord]
) -> None:
    transport = Transport(SETTINGS, records.append)
    registry.on("GET", "/x", redirect("/y"))
    registry.on("GET", "/y", Reply(500), Reply(200))
    await transport.send(get(f"{registry.url}/x"))
    await trouble(transport, "http://127.0.0.1:1/x")
    await transport.close()
    assert [(r.method, r.host, r.status, r.cause) for r in records] == [
        ("GET", registry.host, 307, None),
        ("GET", registry.host, 500, None),
        ("GET", registry.host, 307, None),
        ("GET", registry.host, 200, None),
    ] + 3 * [("GET", "127.0.0.1:1", None, "connection refused")]
    assert all(record.seconds >= 0 for record in records)


def test_nothing_shows_headers_and_bodies(registry: ScriptedRegistry) -> None:
    """B10: credentials never reach a repr."""
    assert SECRET not in repr(get(f"{registry.url}/x", Authorization=SECRET))
