"""What the registries file changes on the wire: TLS, proxies, plain http, token services."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme
from aiohttp import TCPConnector

from imagerefresh.reference import Reference, parse
from imagerefresh.registry import ConfigFile, TroubleReason
from imagerefresh.registry.rules import Rules
from unit.registry.conftest import Names, Ruled
from unit.registry.resolving import DIGEST, ONE, resolved, trouble
from unit.registry.scripted import (
    Reply,
    ScriptedRegistry,
    Seen,
    errors,
    manifest,
    raw_server,
    scripted_registry,
    token,
)


@dataclass
class Secure:
    """A registry that speaks TLS."""

    registry: ScriptedRegistry
    ca_file: Path
    cert_file: Path
    key_file: Path


@pytest.fixture
async def secure(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Secure]:
    """Marked with "asks" by a parameter, it wants a certificate of its clients."""
    ca = trustme.CA()
    ca_file, cert_file, key_file = (tmp_path / name for name in ("ca.crt", "c.crt", "c.key"))
    ca.cert_pem.write_to_path(str(ca_file))
    client = ca.issue_cert("client.test")
    client.cert_chain_pems[0].write_to_path(str(cert_file))
    client.private_key_pem.write_to_path(str(key_file))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("127.0.0.1", "registry.test").configure_cert(tls)
    if getattr(request, "param", "") == "asks":
        ca.configure_trust(tls)
        tls.verify_mode = ssl.CERT_REQUIRED
    async with scripted_registry(tls) as registry:
        registry.on_tag("HEAD", manifest())
        yield Secure(registry, ca_file, cert_file, key_file)


async def test_a_ca_is_trusted_for_its_host_only(secure: Secure, ruled: Ruled) -> None:
    host = secure.registry.host
    client = await ruled(f"hosts: {{'{host}': {{allowLoopback: true, caFile: {secure.ca_file}}}}}")
    assert (await resolved(client, secure.registry.reference)).digest == DIGEST
    other = await ruled(
        f"hosts: {{'{host}': {{allowLoopback: true, clientCertificate: "
        f"{{certFile: {secure.cert_file}, keyFile: {secure.key_file}}}}}}}"
    )
    found = await trouble(other, secure.registry.reference)
    assert "TLS certificate not accepted" in found.message


async def test_skip_verify(secure: Secure, ruled: Ruled) -> None:
    client = await ruled(
        f"hosts: {{'{secure.registry.host}': {{allowLoopback: true, insecure: skipVerify}}}}"
    )
    assert (await resolved(client, secure.registry.reference)).digest == DIGEST


@pytest.mark.parametrize("secure", ["asks"], indirect=True)
async def test_a_client_certificate_is_shown(secure: Secure, ruled: Ruled) -> None:
    host = f"'{secure.registry.host}': {{allowLoopback: true, caFile: {secure.ca_file}"
    without = await ruled(f"hosts: {{{host}}}}}")
    assert (await trouble(without, secure.registry.reference)).transient
    own = f"clientCertificate: {{certFile: {secure.cert_file}, keyFile: {secure.key_file}}}"
    client = await ruled(f"hosts: {{{host}, {own}}}}}")
    assert (await resolved(client, secure.registry.reference)).digest == DIGEST


async def test_loopback_and_plain_http_are_allowed_for_one_host_only(
    registry: ScriptedRegistry, other: ScriptedRegistry, ruled: Ruled
) -> None:
    """B28."""
    for server in (registry, other):
        server.on_tag("HEAD", manifest())
    client = await ruled(f"hosts: {{'{registry.host}': {{allowLoopback: true}}}}")
    assert (await resolved(client, registry.reference)).digest == DIGEST
    assert (await trouble(client, other.reference)).reason is TroubleReason.RegistryMisconfigured
    assert other.seen == []


async def test_plain_http_by_name_does_not_open_loopback(
    registry: ScriptedRegistry, ruled: Ruled, names: Names
) -> None:
    """B28."""
    registry.on_tag("HEAD", manifest())
    names.addresses["plain.test"] = ["127.0.0.1"]
    name = f"plain.test:{registry.host.rpartition(':')[2]}"
    reference = Reference(name, "team/app", "prod")
    client = await ruled(f"hosts: {{'{name}': {{insecure: plainHTTP}}}}")
    assert "loopback" in (await trouble(client, reference)).message
    client = await ruled(f"hosts: {{'{name}': {{insecure: plainHTTP, allowLoopback: true}}}}")
    assert (await resolved(client, reference)).digest == DIGEST


async def test_rules_can_be_replaced(registry: ScriptedRegistry, ruled: Ruled) -> None:
    registry.on_tag("HEAD", manifest())
    client = await ruled("{}")
    await trouble(client, registry.reference)
    client.use(Rules(allow_loopback=True))
    assert (await resolved(client, registry.reference)).digest == DIGEST
    client.use(Rules())
    await trouble(client, registry.reference)


async def test_a_request_in_flight_ends_by_the_rules_that_it_began_with(
    registry: ScriptedRegistry, ruled: Ruled
) -> None:
    hold = asyncio.Event()
    registry.on_tag("HEAD", replace(manifest(), hold=hold))
    client = await ruled(f"hosts: {{'{registry.host}': {{allowLoopback: true}}}}")
    asked = asyncio.create_task(resolved(client, registry.reference))
    await registry.asked(1)
    client.use(Rules())
    await trouble(client, registry.reference)
    hold.set()
    assert (await asked).digest == DIGEST


async def test_names_are_resolved_anew_under_new_rules(
    secure: Secure, ruled: Ruled, names: Names, tmp_path: Path
) -> None:
    """B28: what an old rule allowed is not remembered."""
    names.addresses["registry.test"] = ["127.0.0.1"]
    name = f"registry.test:{secure.registry.host.rpartition(':')[2]}"
    text = "hosts: {{'{}': {{allowLoopback: {}, caFile: {}}}}}"
    client = await ruled(text.format(name, "true", secure.ca_file))
    reference = Reference(name, "team/app", "prod")
    assert (await resolved(client, reference)).digest == DIGEST
    path = tmp_path / "changed.yaml"
    path.write_text(text.format(name, "false", secure.ca_file))
    client.use(ConfigFile(path, allow_loopback=False).load())
    assert "loopback" in (await trouble(client, reference)).message


async def test_plain_requests_go_through_the_proxy(
    registry: ScriptedRegistry, ruled: Ruled, names: Names
) -> None:
    """The scripted server plays the proxy; it alone resolves the name."""
    registry.on_tag("HEAD", manifest())
    client = await ruled(
        "hosts: {plain.test: {insecure: plainHTTP}}\n"
        f"proxy: {{url: 'http://user:pass@{registry.host}'}}"
    )
    assert (await resolved(client, parse("plain.test/team/app:prod"))).digest == DIGEST
    assert names.asked == []
    (seen,) = registry.seen
    assert seen.headers["Host"] == "plain.test"
    assert seen.headers["Proxy-Authorization"] == "Basic dXNlcjpwYXNz"


async def test_a_proxy_may_refuse_a_plain_request_in_its_own_name(
    registry: ScriptedRegistry, ruled: Ruled
) -> None:
    """407 can only be the proxy's; 403 may be the registry's."""
    client = await ruled(
        f"hosts: {{plain.test: {{insecure: plainHTTP}}}}\nproxy: {{url: '{registry.url}'}}"
    )
    registry.on_tag("HEAD", Reply(407, (("Proxy-Authenticate", "Basic"),)))
    reference = parse("plain.test/team/app:prod")
    assert "the proxy wants a login" in (await trouble(client, reference)).message
    for method in ("HEAD", "GET"):
        registry.on_tag(method, Reply(403))
    assert "no permission to read it" in (await trouble(client, reference)).message


async def _tunnel(
    targets: Mapping[str, str], asked: list[str]
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Return what a proxy does that knows some names, and keeps the heads of what it was asked."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        target = targets.get(head.split()[1])
        if target is None:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        host, _, port = target.partition(":")
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))
        finally:
            there_writer.transport.abort()

    return talk


async def test_tls_goes_through_the_proxy_and_checks_the_end(secure: Secure, ruled: Ruled) -> None:
    asked: list[str] = []
    talk = await _tunnel({"registry.test:443": secure.registry.host}, asked)
    async with raw_server(talk) as proxy:
        text = f"proxy: {{url: 'http://{proxy}', noProxy: [direct.test]}}\n"
        client = await ruled(f"{text}hosts: {{registry.test: {{caFile: {secure.ca_file}}}}}")
        assert (await resolved(client, parse("registry.test/team/app:prod"))).digest == DIGEST
        assert [head.partition("\r\n")[0] for head in asked] == [
            "CONNECT registry.test:443 HTTP/1.1"
        ]
        refused = await trouble(client, parse("other.test/team/app:prod"))
        assert "the proxy refuses the way there" in refused.message
        direct = await trouble(client, parse("direct.test/team/app:prod"))
        assert "host name not found" in direct.message
        untrusting = await ruled(text)
        found = await trouble(untrusting, parse("registry.test/team/app:prod"))
        assert "TLS certificate not accepted" in found.message
        await client.close()
        await untrusting.close()


async def test_only_the_proxy_sees_its_password(secure: Secure, ruled: Ruled) -> None:
    """B10: whatever characters are in it."""
    asked: list[str] = []
    talk = await _tunnel({"registry.test:443": secure.registry.host}, asked)
    encoded = base64.b64encode("robot:pä€s".encode()).decode()
    async with raw_server(talk) as proxy:
        client = await ruled(
            f"proxy: {{url: 'http://robot:p%C3%A4%E2%82%ACs@{proxy}'}}\n"
            f"hosts: {{registry.test: {{caFile: {secure.ca_file}}}}}"
        )
        assert (await resolved(client, parse("registry.test/team/app:prod"))).digest == DIGEST
        await client.close()
    assert [f"\r\nProxy-Authorization: Basic {encoded}\r\n" in head for head in asked] == [True]
    assert secure.registry.seen
    assert [seen.headers.get("Proxy-Authorization") for seen in secure.registry.seen] == [None]


async def test_a_proxy_opens_no_way_to_forbidden_addresses(
    registry: ScriptedRegistry, ruled: Ruled
) -> None:
    """B28: what is plain to see is refused before the proxy is asked."""
    client = await ruled(f"proxy: {{url: 'http://{registry.host}'}}")
    for host in (
        "169.254.169.254",
        "127.0.0.1:5000",
        "[::1]:5000",
        "[fe80::1]",
        "localhost:5000",
        "a.localhost:5000",
        "0xa9fea9fe:443",
        "0x7f.1:5000",
    ):
        found = await trouble(client, Reference(host, "team/app", "prod"))
        assert found.reason is TroubleReason.RegistryMisconfigured, host
    assert registry.seen == []


async def test_the_link_is_open_for_a_named_host_but_no_metadata_service(
    ruled: Ruled, names: Names
) -> None:
    """B28: where the connection is made, as for any name."""
    names.addresses["rack.test"] = ["169.254.7.1", "169.254.169.254"]
    names.addresses["other.test"] = ["169.254.7.1"]
    client = await ruled("hosts: {rack.test: {allowLinkLocal: true}}")
    refused = await trouble(client, parse("other.test/team/app:prod"))
    assert "allowLinkLocal: true for the host" in refused.message
    connector = client._transport._wire._open_session().connector
    assert isinstance(connector, TCPConnector)
    found = await connector._resolve_host("rack.test", 443)
    assert [each["host"] for each in found] == ["169.254.7.1"]
    names.addresses["rack.test"] = ["169.254.169.254"]
    connector.clear_dns_cache()
    refused = await trouble(client, parse("rack.test/team/app:prod"))
    assert "leads to a metadata service" in refused.message
    assert "administrator" not in refused.message


async def test_a_dead_proxy_is_told_as_such(ruled: Ruled) -> None:
    async with scripted_registry() as gone:
        address = gone.host
    for proxy, cause in (
        (address, "connection refused"),
        ("nowhere.test:3128", "host name not found"),  # not that of the registry
    ):
        client = await ruled(f"proxy: {{url: 'http://{proxy}'}}")
        found = await trouble(client, parse("a.test/b:1"))
        assert found.message.startswith(f"a.test: proxy: {cause};")


async def test_a_named_token_service_may_see_credentials(
    registry: ScriptedRegistry, other: ScriptedRegistry, ruled: Ruled, names: Names
) -> None:
    """B10: only where an administrator has bound both ends."""
    names.addresses["login.other.test"] = ["127.0.0.1"]
    login = f"login.other.test:{other.host.rpartition(':')[2]}"
    registry.on_tag(
        "HEAD",
        lambda seen: (
            manifest()
            if seen.authorization == "Bearer good"
            else registry.bearer(realm=f"http://{login}/token")
        ),
    )

    def answer(seen: Seen) -> Reply:
        return token("good") if seen.authorization else errors(401, "UNAUTHORIZED", "who?")

    other.on("GET", "/token", answer)
    hosts = f"'{login}': {{allowLoopback: true, insecure: plainHTTP}}"
    client = await ruled(f"hosts: {{'{registry.host}': {{allowLoopback: true}}, {hosts}}}")
    found = await trouble(client, registry.reference, (ONE,))
    assert found.reason is TroubleReason.RegistryMisconfigured
    assert "tokenServices" in found.message
    assert not any(seen.authorization for seen in other.seen)
    client = await ruled(
        f"hosts: {{'{registry.host}': "
        f"{{allowLoopback: true, tokenServices: ['{login}']}}, {hosts}}}"
    )
    assert (await resolved(client, registry.reference, (ONE,))).digest == DIGEST
