"""A real registry with passwords, over TLS with a CA of its own, and one that caches it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from imagerefresh.reference import Reference
from imagerefresh.registries import Registries
from imagerefresh.registry import RegistryClient, Resolved, TroubleReason
from imagerefresh.registry.manifests import Child
from imagerefresh.resolve import Look, look
from imagerefresh.settings import Settings
from servers.real import BOB, EVE, REPOSITORY, TAG, registry, tls_registry


@dataclass
class Guarded:
    """The registry and what is needed to reach it."""

    reference: Reference
    folder: Path
    ca_file: Path

    def settings(self, text: str) -> Settings:
        path = self.folder / "registries.yaml"
        path.write_text(text)
        return Settings(registries_file=path)

    @property
    def trusting(self) -> Settings:
        """Settings that name its CA, and open this machine for it alone."""
        host = f"'{self.reference.registry}': {{allowLoopback: true, caFile: {self.ca_file}}}"
        return self.settings(f"hosts: {{{host}}}")


@pytest.fixture
def guarded(digest: str, tmp_path: Path) -> Iterator[Guarded]:
    with tls_registry(tmp_path, "127.0.0.1") as (address, ca_file):
        yield Guarded(Reference(address, REPOSITORY, TAG), tmp_path, ca_file)


async def test_the_right_password_and_ca_show_it_all(guarded: Guarded, digest: str) -> None:
    found = await look(guarded.reference, guarded.trusting, (EVE, BOB))
    assert found.trouble is None
    assert found.resolved is not None
    assert (found.resolved.digest, found.resolved.used) == (digest, BOB.source)
    assert found.rejected == (EVE.source,)
    assert [child.is_image for child in found.platforms].count(True) == len(_images(found)) > 0
    assert any(not child.is_image for child in found.platforms)  # its attestation


def _images(found: Look) -> list[Child]:
    return [child for child in found.platforms if child.platform.startswith("linux/")]


async def test_a_wrong_password_is_named(guarded: Guarded) -> None:
    found = await look(guarded.reference, guarded.trusting, (EVE,))
    assert found.trouble is not None
    assert found.trouble.reason is TroubleReason.ImageNotFoundOrDenied
    assert found.trouble.rejected == (EVE.source,)
    assert EVE.source in found.trouble.message


async def test_without_its_ca_nothing_is_sent(guarded: Guarded) -> None:
    host = guarded.reference.registry
    other = guarded.folder / "other.crt"
    trustme.CA().cert_pem.write_to_path(str(other))
    settings = guarded.settings(f"hosts: {{'{host}': {{allowLoopback: true, caFile: {other}}}}}")
    found = await look(guarded.reference, settings, (BOB,))
    assert found.trouble is not None
    assert "TLS certificate not accepted" in found.trouble.message
    assert [record.status for record in found.requests] == [None]


async def test_an_unsafe_registry_is_reached_only_if_the_file_says_so(guarded: Guarded) -> None:
    host = guarded.reference.registry
    settings = guarded.settings(
        f"hosts: {{'{host}': {{allowLoopback: true, insecure: skipVerify}}}}"
    )
    assert (await look(guarded.reference, settings, (BOB,))).trouble is None


async def test_a_cache_answers_as_a_mirror(digest: str, tmp_path: Path) -> None:
    images = {"filesystem": {"rootdirectory": str(tmp_path / "cached")}}
    with registry(tmp_path, "upstream") as upstream:
        proxy = {"remoteurl": f"http://{upstream}"}
        with registry(tmp_path, "cache", proxy=proxy, storage=images) as cache:
            path = tmp_path / "registries.yaml"
            path.write_text(f"mirrors: [{{prefix: upstream.test, location: '{cache}'}}]")
            registries = Registries.open(
                Settings(allow_insecure_registries=True, registries_file=path), lambda _: None
            )
            reference = Reference("upstream.test", REPOSITORY, TAG)
            try:
                await _resolves(registries.client, reference, digest)
                assert await registries.client.inspect(reference, digest) is None
            finally:
                await registries.close()


async def _resolves(client: RegistryClient, reference: Reference, digest: str) -> None:
    found = await client.resolve(reference, fresh_since=time.monotonic())
    assert isinstance(found, Resolved), found
    assert found.digest == digest
