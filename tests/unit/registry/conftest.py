import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override
from yarl import URL

from imagerefresh.registry import (
    ConfigFile,
    RegistryClient,
    RegistrySettings,
    RequestRecord,
    addresses,
)
from imagerefresh.registry import transport as transport_module
from imagerefresh.registry.auth import Authenticator
from imagerefresh.registry.tokens import TokenScope, TokenSource
from imagerefresh.registry.transport import Transport
from unit.registry.asking import Asker
from unit.registry.scripted import SETTINGS, ScriptedRegistry, scripted_registry

Ruled = Callable[[str], Awaitable[RegistryClient]]


class Names(AbstractResolver):
    """Resolves what a test says, and remembers what it was asked.

    `later` holds what a name leads to from its next look-up on, and so forth.
    """

    def __init__(self) -> None:
        self.addresses: dict[str, list[str]] = {}
        self.later: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if host not in self.addresses:
            raise OSError(None, "no such name")
        found = self.addresses[host]
        if self.later.get(host):
            self.addresses[host] = self.later[host].pop(0)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in found
        ]

    @override
    async def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Keep every test off the network's name service."""
    names = Names()
    names.addresses["localhost"] = ["127.0.0.1"]
    monkeypatch.setattr(addresses, "DefaultResolver", lambda: names)
    return names


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "_RETRY_PAUSES", (0.001, 0.002))


@pytest.fixture
async def registry() -> AsyncIterator[ScriptedRegistry]:
    async with scripted_registry() as registry:
        yield registry


@pytest.fixture
async def other() -> AsyncIterator[ScriptedRegistry]:
    """Another server, so another origin."""
    async with scripted_registry() as other:
        yield other


@pytest.fixture
def records() -> list[RequestRecord]:
    """Every request that `client` sends."""
    return []


@pytest.fixture
async def client(records: list[RequestRecord]) -> AsyncIterator[RegistryClient]:
    client = RegistryClient(SETTINGS, records.append)
    yield client
    await client.close()


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = Transport(SETTINGS)
    yield transport
    await transport.close()


@pytest.fixture
async def impatient() -> AsyncIterator[Transport]:
    transport = Transport(replace(SETTINGS, timeout=1.5, connect_timeout=1.5, read_timeout=0.75))
    yield transport
    await transport.close()


@pytest.fixture
async def ask(transport: Transport, registry: ScriptedRegistry) -> AsyncIterator[Asker]:
    authenticator = Authenticator(transport)
    yield Asker(authenticator, registry)
    await authenticator.close()


@pytest.fixture
async def source(transport: Transport) -> AsyncIterator[TokenSource]:
    source = TokenSource(transport)
    yield source
    await source.close()


@pytest.fixture
def scope(registry: ScriptedRegistry) -> TokenScope:
    return TokenScope(
        "registry.test", URL(f"{registry.url}/token"), "svc", "repository:team/app:pull"
    )


@pytest.fixture
async def ruled(tmp_path: Path) -> AsyncIterator[Ruled]:
    """Makes clients that go by a registries file, and allow nothing more."""
    async with AsyncExitStack() as stack:

        async def make(text: str) -> RegistryClient:
            path = tmp_path / "registries.yaml"
            path.write_text(text)
            rules = await asyncio.to_thread(ConfigFile(path, allow_loopback=False).load)
            client = RegistryClient(RegistrySettings("test"), None, rules)
            stack.push_async_callback(client.close)
            return client

        yield make
