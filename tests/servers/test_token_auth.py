"""A real registry behind a token service (B10)."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from imagerefresh.reference import Reference
from imagerefresh.registry import (
    Credential,
    RegistryClient,
    RequestRecord,
    Resolved,
    Trouble,
    TroubleReason,
)
from servers.real import BOB, EVE, REPOSITORY, TAG, registry
from servers.tokens import TokenService
from unit.registry.scripted import SETTINGS, scripted_registry


@pytest.fixture
def service() -> TokenService:
    return TokenService({BOB.username: BOB.password})


@pytest.fixture
async def reference(digest: str, tmp_path: Path, service: TokenService) -> AsyncIterator[Reference]:
    async with scripted_registry() as server:
        server.on("GET", "/token", service.answer)
        auth = service.configuration(f"{server.url}/token", tmp_path)
        with registry(tmp_path, "guarded", auth=auth) as address:
            yield Reference(address, REPOSITORY, TAG)


@pytest.fixture
def records() -> list[RequestRecord]:
    return []


@pytest.fixture
async def client(records: list[RequestRecord]) -> AsyncIterator[RegistryClient]:
    client = RegistryClient(SETTINGS, records.append)
    yield client
    await client.close()


async def test_who_may_pull_finds_the_digest(
    reference: Reference,
    client: RegistryClient,
    digest: str,
    service: TokenService,
    records: list[RequestRecord],
) -> None:
    for _ in range(3):
        found = await client.resolve(reference, (EVE, BOB), fresh_since=time.monotonic())
        assert isinstance(found, Resolved), found
        assert (found.digest, found.used, found.rejected) == (digest, BOB.source, (EVE.source,))
    assert await client.inspect(reference, digest, (BOB,)) is None
    assert service.issued == ["bob"]  # for all of it
    # Challenged, Eve refused, then Bob: each request after that brings its token along.
    asked = [(record.method, record.status) for record in records]
    assert asked[:4] == [("HEAD", 401), ("GET", 401), ("GET", 200), ("HEAD", 200)]
    assert asked[-2:] == [("HEAD", 200), ("GET", 200)]


@pytest.mark.parametrize("credentials", [(), (EVE,)])
async def test_nobody_else_does(
    reference: Reference, client: RegistryClient, credentials: tuple[Credential, ...]
) -> None:
    found = await client.resolve(reference, credentials, fresh_since=time.monotonic())
    assert isinstance(found, Trouble)
    assert found.reason is TroubleReason.ImageNotFoundOrDenied
    assert found.rejected == tuple(credential.source for credential in credentials)
    assert EVE.password not in repr(found)


async def test_a_token_that_ends_too_early_is_renewed(
    reference: Reference, client: RegistryClient, service: TokenService, digest: str
) -> None:
    """The registry bears a minute of difference between clocks; the first token is at its end."""
    service.life = -55
    began = time.monotonic()
    while len(service.issued) < 2:
        found = await client.resolve(reference, (BOB,), fresh_since=time.monotonic())
        assert isinstance(found, Resolved), found
        assert found.digest == digest
        service.life = 300
        assert time.monotonic() - began < 60
        await asyncio.sleep(0.05)
