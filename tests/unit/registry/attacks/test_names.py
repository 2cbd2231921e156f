"""Attacks by names: where a name leads is up to whoever owns it, and may change at any time (B28).

The client is driven with a resolver of the test's own, as no attacker's name service is at hand.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from imagerefresh.registry import ConfigFile, RegistryClient, Resolved, Trouble
from testbed.loop import BackgroundLoop
from unit.registry.attacks.listener import ANOTHER, Listener
from unit.registry.attacks.rows_realms import bearer
from unit.registry.attacks.stage import MANIFEST, MISCONFIGURED, Stage
from unit.registry.conftest import Names, Ruled
from unit.registry.scripted import Reply, manifest, token

ALLOWED = "127.0.0.1"
FORBIDDEN = {
    ANOTHER: "a loopback address",
    "::1": "a loopback address",
    "169.254.169.254": "a metadata service",
    "169.254.1.1": "a link-local address",
    "fe80::1": "a link-local address",
    "::ffff:169.254.169.254": "a metadata service",
    "64:ff9b::a9fe:a9fe": "a metadata service",
    "2002:a9fe:a9fe::": "a metadata service",
    "100.100.100.200": "a metadata service",
    "fd00:ec2::254": "a metadata service",
    "0.0.0.0": "an address that is not one machine's",  # noqa: S104 nobody listens
    "224.0.0.1": "an address that is not one machine's",
}
"""Where a name may lead, and what people are told of it. The first is where the thief listens."""


@dataclass
class Scene(Stage):
    """The registry goes by a name, and so does its neighbour: a host in the same domain, which may
    see its credentials. Both are on the thief's machine.
    """

    names: Names = field(default_factory=Names)

    def __post_init__(self) -> None:
        self.host = f"registry.corp.test:{_port(self.registry)}"
        self.neighbour = f"auth.corp.test:{_port(self.thief)}"
        self.names.addresses["registry.corp.test"] = [ALLOWED]

    def rules(self, *, neighbour: str = "insecure: plainHTTP") -> str:
        ours = f"'registry.corp.test:{_port(self.registry)}'"
        own = "{insecure: plainHTTP, allowLoopback: true}"
        return f"hosts: {{{ours}: {own}, '{self.neighbour}': {{{neighbour}}}}}"

    async def ask(self, client: RegistryClient) -> Resolved | Trouble:
        return await client.resolve(
            self.reference, (self.credential,), fresh_since=time.monotonic()
        )

    async def trouble(self, client: RegistryClient) -> str:
        """Misconfigured, and nothing of the credential anywhere; returns the message."""
        found = await self.ask(client)
        assert isinstance(found, Trouble)
        assert found.reason is MISCONFIGURED
        for text in (self.registry.received, self.thief.received, found.message):
            assert not self.secret.is_in(text)
        return found.message


def _port(listener: Listener) -> str:
    return listener.address.partition(":")[2]


@pytest.fixture
def scene(names: Names) -> Iterator[Scene]:
    loop = BackgroundLoop("attackers")
    registry, thief, hidden = Listener(loop), Listener(loop, ANOTHER), Listener(loop)
    yield Scene(registry, thief, hidden, names=names)
    for listener in (registry, thief, hidden):
        listener.stop()
    loop.stop()


@pytest.mark.parametrize("address", FORBIDDEN)
async def test_a_realm_that_may_see_credentials_but_leads_to_a_forbidden_address(
    scene: Scene, ruled: Ruled, address: str
) -> None:
    scene.names.addresses["auth.corp.test"] = [address]
    scene.on_tag(bearer(f"http://{scene.neighbour}/token"))
    assert FORBIDDEN[address] in await scene.trouble(await ruled(scene.rules()))
    assert scene.names.asked[-1] == "auth.corp.test"
    assert scene.thief.connections == 0


async def test_only_the_address_has_kept_the_credential(scene: Scene, ruled: Ruled) -> None:
    """With that address allowed, it is sent: else the test above would prove nothing."""
    scene.names.addresses["auth.corp.test"] = [ANOTHER]
    scene.serve(manifest(), bearer(f"http://{scene.neighbour}/token"))
    scene.thief.on("GET", "/token", token())
    client = await ruled(scene.rules(neighbour="insecure: plainHTTP, allowLoopback: true"))
    assert isinstance(await scene.ask(client), Resolved)
    assert scene.secret.is_in(scene.thief.received)


@pytest.mark.parametrize(
    "host",
    [
        "auth.corp.test.thief.example",
        "notcorp.test",
        "registry.corp.t\u0435st",  # a Cyrillic letter
    ],
)
async def test_a_realm_in_a_domain_that_only_looks_like_ours(
    scene: Scene, ruled: Ruled, host: str
) -> None:
    """B10: its name is not even looked up."""
    scene.on_tag(bearer(f"https://{host.encode('idna').decode()}/token"))
    assert "so they were not sent" in await scene.trouble(await ruled(scene.rules()))
    assert set(scene.names.asked) == {"registry.corp.test"}


@pytest.mark.parametrize("address", FORBIDDEN)
async def test_a_redirect_by_name_to_a_forbidden_address(
    scene: Scene, ruled: Ruled, address: str
) -> None:
    scene.names.addresses["auth.corp.test"] = [address]
    scene.on_tag(Reply(307, (("Location", f"http://{scene.neighbour}{MANIFEST}"),)))
    assert FORBIDDEN[address] in await scene.trouble(await ruled(scene.rules()))
    assert scene.thief.connections == 0


@pytest.mark.parametrize("address", FORBIDDEN)
async def test_a_policy_that_names_a_host_that_leads_to_a_forbidden_address(
    scene: Scene, ruled: Ruled, address: str
) -> None:
    scene.host = scene.neighbour
    scene.names.addresses["auth.corp.test"] = [address]
    assert FORBIDDEN[address] in await scene.trouble(await ruled(scene.rules()))
    assert scene.thief.connections == 0


async def test_of_several_addresses_the_forbidden_ones_are_left_out(
    scene: Scene, ruled: Ruled
) -> None:
    scene.names.addresses["registry.corp.test"] = [*list(FORBIDDEN)[2:], ALLOWED]
    scene.serve(manifest())
    assert isinstance(await scene.ask(await ruled(scene.rules())), Resolved)


async def test_a_name_that_leads_elsewhere_after_the_check(scene: Scene, ruled: Ruled) -> None:
    """Rebinding: the answer that is checked is the one that is used, so no moment lies between."""
    scene.names.later["registry.corp.test"] = [["169.254.169.254"]]
    hang_up = (("Connection", "close"),)
    good = manifest()
    scene.serve(Reply(200, good.headers + hang_up, good.body))
    client = await ruled(scene.rules())
    for _ in range(2):
        assert isinstance(await scene.ask(client), Resolved)
    assert scene.registry.connections > 1
    assert scene.names.asked == ["registry.corp.test"]
    # When it is looked up again, the new answer is checked as well.
    scene.registry.received.clear()
    client.use(client._transport.rules)
    assert "a metadata service" in await scene.trouble(client)
    assert scene.registry.received == b""


async def test_a_connection_does_not_outlive_its_permission(
    scene: Scene, ruled: Ruled, tmp_path: Path
) -> None:
    """An open one is as good as the address that it leads to."""
    scene.serve(manifest())
    client = await ruled(scene.rules())
    assert isinstance(await scene.ask(client), Resolved)
    scene.registry.received.clear()
    file = tmp_path / "changed.yaml"
    file.write_text(scene.rules().replace(", allowLoopback: true", ""))
    client.use(ConfigFile(file, allow_loopback=False).load())
    assert "a loopback address" in await scene.trouble(client)
    assert scene.registry.received == b""
