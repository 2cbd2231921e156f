import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from yarl import URL

from imagerefresh.registry import RequestRecord
from imagerefresh.registry.messages import Request
from imagerefresh.registry.outcomes import TroubleReason
from imagerefresh.registry.transport import Transport
from unit.registry.conftest import Names
from unit.registry.scripted import SETTINGS, Reply, ScriptedRegistry, raw_server, saying
from unit.registry.sending import SECRET, get, redirect, trouble


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


async def test_new_rules_begin_with_new_connections_and_the_old_ones_are_closed(
    registry: ScriptedRegistry, impatient: Transport
) -> None:
    registry.on("HEAD", "/x", Reply())
    request = Request("HEAD", URL(f"{registry.url}/x"), {})
    await impatient.send(request)
    wire = impatient._wire
    impatient.use(impatient.rules)
    (retiring, session) = next(iter(wire._retiring.items()))
    await impatient.send(request)
    assert len({seen.peer for seen in registry.seen}) == 2
    await retiring
    assert session.closed
    assert not wire._retiring


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
    assert error.message == f"{host}: {cause}; it is asked again by itself"


async def test_silence_and_endless_bodies_end(
    registry: ScriptedRegistry, impatient: Transport
) -> None:
    """B7: a timeout."""
    registry.on("GET", "/x", Reply(hold=asyncio.Event()))
    error = await asyncio.wait_for(trouble(impatient, f"{registry.url}/x"), 30)
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


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://169.254.169.254/x", "metadata service"),
        ("https://[::ffff:169.254.169.254]/x", "metadata service"),
        ("https://evil.example.com/x", "metadata service"),
        (
            "https://169.254.1.1/x",
            "allowLinkLocal: true for the host",
        ),
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
        by_name = scheme == "http" and host == "local.example.com"
        assert ("insecure: plainHTTP" if by_name else "allowLoopback") in error.message
        assert "IMAGEREFRESH_" in error.message
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
