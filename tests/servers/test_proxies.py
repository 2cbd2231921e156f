"""A real proxy, named by the environment, before a real registry that it alone can find."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from imagerefresh.reference import Reference
from imagerefresh.resolve import Look, look
from imagerefresh.settings import Settings
from servers.real import REPOSITORY, TAG, registry
from testbed.forward_proxy import ForwardProxy

NAME = "registry.test"
USER = "robot:hidden-Passw0rd"


@dataclass
class Proxied:
    """Registry and proxy, each by host and port."""

    folder: Path
    address: str
    proxy: str
    host_rule: str

    @property
    def reference(self) -> Reference:
        """The registry by the name that only the proxy knows."""
        return Reference(f"{NAME}:{self.address.rpartition(':')[2]}", REPOSITORY, TAG)

    async def look(self, reference: Reference | None = None, **variables: str) -> Look:
        reference = reference or self.reference
        path = self.folder / "registries.yaml"
        path.write_text(f"hosts: {{'{reference.registry}': {{{self.host_rule}}}}}")
        named = {"IMAGEREFRESH_REGISTRIES_FILE": str(path)}
        return await look(reference, Settings.from_environment({**named, **variables}))


@pytest.fixture
def proxied(digest: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Proxied]:
    """Over TLS, or in plain http where the test's parameter says so."""
    http: dict[str, object] = {}
    rule = "insecure: plainHTTP"
    if getattr(request, "param", "") != "plain":
        ca = trustme.CA()
        leaf = ca.issue_cert(NAME, "127.0.0.1")
        ca_file, cert, key = (tmp_path / name for name in ("ca.crt", "tls.crt", "tls.key"))
        ca.cert_pem.write_to_path(str(ca_file))
        leaf.cert_chain_pems[0].write_to_path(str(cert))
        leaf.private_key_pem.write_to_path(str(key))
        http["tls"] = {"certificate": str(cert), "key": str(key)}
        rule = f"caFile: {ca_file}"
    with (
        registry(tmp_path, "proxied", http=http) as address,
        ForwardProxy(tmp_path, names={NAME: "127.0.0.1"}, login=USER) as proxy,
    ):
        yield Proxied(tmp_path, address, proxy.address, rule)


async def test_it_leads_to_the_registry(proxied: Proxied, digest: str) -> None:
    """The certificate is that of the registry, whoever carries the bytes."""
    found = await proxied.look(HTTPS_PROXY=f"http://{USER}@{proxied.proxy}")
    assert found.trouble is None
    assert found.resolved is not None
    assert found.resolved.digest == digest
    assert "hidden" not in repr(found)


@pytest.mark.parametrize("proxied", ["plain"], indirect=True)
async def test_it_carries_plain_http_too(proxied: Proxied, digest: str) -> None:
    found = await proxied.look(http_proxy=f"{USER}@{proxied.proxy}")
    assert found.resolved is not None
    assert found.resolved.digest == digest


async def test_without_its_password_nobody_gets_through(proxied: Proxied) -> None:
    for user in ("", "robot:guess@"):
        found = await proxied.look(HTTPS_PROXY=f"http://{user}{proxied.proxy}")
        assert found.trouble is not None
        assert "the proxy wants a login that it knows (HTTP 407)" in found.trouble.message
        assert "guess" not in repr(found)


async def test_this_machine_is_not_reached_through_it(proxied: Proxied, digest: str) -> None:
    """B28: it would be the proxy's machine."""
    proxied.host_rule += ", allowLoopback: true"
    direct = Reference(proxied.address, REPOSITORY, TAG)
    found = await proxied.look(direct, HTTPS_PROXY="http://127.0.0.1:1")
    assert found.resolved is not None
    assert found.resolved.digest == digest
