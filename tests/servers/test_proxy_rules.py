"""Registries behind a real forward proxy: which one is used for which host, and what people are
told of one that lets nobody through.
"""

import json
import logging
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohappyeyeballs
import pytest
from aiohappyeyeballs import AddrInfoType

from imagerefresh.reference import Reference
from imagerefresh.registry import TroubleReason, addresses
from imagerefresh.resolve import Look, look
from imagerefresh.settings import Settings
from servers.real import BOB, REPOSITORY, TAG, publish_image, registry, tls_registry
from testbed.forward_proxy import ForwardProxy
from testbed.process import dead_port
from testbed.waiting import wait_until
from unit.registry.conftest import Names

NAME, ADDRESS = "registry.corp.test", "10.1.2.3"
KNOWN = dict.fromkeys((NAME, ADDRESS), "127.0.0.1")
"""Which lead to the registry, as far as the proxies know."""

GENERAL, OWN, DIRECT = "general", "own", "direct"

Start = Callable[..., ForwardProxy]


@dataclass
class Scene:
    """A registry over TLS.

    Attributes:
        digest: of its image.
        port: of the registry.
        ca_file: whom it takes to trust it.
        connected: the addresses that were connected to. Each connection really ends on this
            machine, so that no address is anybody else's.
    """

    digest: str
    port: str
    ca_file: Path
    folder: Path
    connected: list[str] = field(default_factory=list)

    async def look(
        self,
        proxy: str,
        host: str = NAME,
        *,
        no_proxy: Sequence[str] = (),
        proxies: Mapping[str, str] | None = None,
    ) -> Look:
        """Look at the image by the rules of a file: a proxy for all, and those of single hosts."""
        port = self.port
        trust = {"caFile": str(self.ca_file)}
        own = {key.format(port=port): value for key, value in (proxies or {}).items()}
        rules = {
            "hosts": {"*": trust} | {key: trust | {"proxy": own[key]} for key in own},
            "proxy": {"url": proxy, "noProxy": [each.format(port=port) for each in no_proxy]},
        }
        path = self.folder / "registries.yaml"
        path.write_text(json.dumps(rules))
        reference = Reference(f"{host}:{port}", REPOSITORY, TAG)
        return await look(reference, Settings(registries_file=path), (BOB,))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The digest of the image, and the port and the CA of the registry that serves it."""
    folder = tmp_path_factory.mktemp("served")
    digest = publish_image(folder)
    with tls_registry(folder, NAME, ADDRESS) as (address, ca_file):
        yield digest, address.partition(":")[2], ca_file


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ForwardProxy]]:
    """A proxy for all hosts, and one for some."""
    folder = tmp_path_factory.mktemp("ways")
    with (
        ForwardProxy(folder, GENERAL, names=KNOWN) as general,
        ForwardProxy(folder, OWN, names=KNOWN) as own,
    ):
        yield {GENERAL: general, OWN: own}


@pytest.fixture
def scene(served: tuple[str, str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    names = Names()
    names.addresses[NAME] = ["192.0.2.1"]
    monkeypatch.setattr(addresses, "DefaultResolver", lambda: names)
    start = aiohappyeyeballs.start_connection
    connected: list[str] = []

    async def note(addr_infos: Sequence[AddrInfoType], **others: Any) -> socket.socket:
        _, kind, protocol, name, (host, port, *_) = addr_infos[0]
        connected.append(f"{host}:{port}")
        here = (socket.AF_INET, kind, protocol, name, ("127.0.0.1", port))
        return await start([here], **others)

    monkeypatch.setattr(aiohappyeyeballs, "start_connection", note)
    digest, port, ca_file = served
    return Scene(digest, port, ca_file, tmp_path, connected)


@pytest.fixture
def start_proxy(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as running:

        def start(name: str = "proxy", **more: Any) -> ForwardProxy:
            known = {"names": KNOWN} | more
            return running.enter_context(ForwardProxy(tmp_path, name, **known))

        yield start


def url(proxy: ForwardProxy, login: str = "") -> str:
    return f"http://{login}{proxy.address}"


async def test_a_proxy_sees_nothing_but_the_way(scene: Scene, start_proxy: Start) -> None:
    """The certificate that counts is the registry's, which alone hears the password."""
    proxy = start_proxy()
    found = await scene.look(url(proxy))
    assert found.resolved is not None, found.trouble
    assert (found.resolved.digest, found.resolved.used) == (scene.digest, BOB.source)
    assert set(scene.connected) == {proxy.address}
    wait_until(lambda: f"CONNECT {NAME}:{scene.port}" in proxy.log(), timeout=30)
    assert BOB.username not in proxy.log()


async def test_plain_http_goes_through_the_proxy(
    scene: Scene, tmp_path: Path, start_proxy: Start, digest: str
) -> None:
    """Which reads it all; so its own login stands beside."""
    proxy = start_proxy(login="user:pass")
    with registry(tmp_path, "plain") as address:
        host = f"{NAME}:{address.partition(':')[2]}"
        path = tmp_path / "registries.yaml"
        path.write_text(
            f"hosts: {{'{host}': {{insecure: plainHTTP}}}}\n"
            f"proxy: {{url: '{url(proxy, 'user:pass@')}'}}"
        )
        found = await look(Reference(host, REPOSITORY, TAG), Settings(registries_file=path))
    assert found.resolved is not None, found.trouble
    assert found.resolved.digest == digest
    assert set(scene.connected) == {proxy.address}


@pytest.mark.parametrize(
    ("used", "host", "proxies", "no_proxy"),
    [
        (GENERAL, NAME, {}, []),
        (GENERAL, ADDRESS, {}, []),
        (OWN, NAME, {f"{NAME}:{{port}}": OWN}, []),
        (OWN, NAME, {"*.corp.test": OWN}, []),
        (OWN, NAME, {"*": OWN}, []),
        (GENERAL, NAME, {"registry.corp.test": OWN, "*.lab.test": OWN}, []),  # another port, name
        (DIRECT, NAME, {"*.corp.test": DIRECT}, []),
        (DIRECT, NAME, {}, [NAME]),
        (DIRECT, NAME, {}, [f"{NAME}:{{port}}"]),
        (GENERAL, NAME, {}, [f"{NAME}:443"]),
        (DIRECT, NAME, {}, [".corp.test"]),
        (DIRECT, NAME, {}, ["test"]),
        (GENERAL, NAME, {}, [".registry.corp.test"]),
        (DIRECT, NAME, {}, ["*"]),
        (DIRECT, ADDRESS, {}, ["192.168.0.0/16", "10.0.0.0/8"]),
        (DIRECT, ADDRESS, {}, [ADDRESS]),
        (GENERAL, ADDRESS, {}, ["192.168.0.0/16", "10.1.2.0/31"]),
        (GENERAL, NAME, {}, ["192.0.2.0/24"]),  # a network holds for hosts given as addresses
        (OWN, NAME, {"*.corp.test": OWN}, ["*"]),
    ],
)
async def test_which_way_is_taken(
    scene: Scene,
    ways: Mapping[str, ForwardProxy],
    used: str,
    host: str,
    proxies: Mapping[str, str],
    no_proxy: Sequence[str],
) -> None:
    urls = {name: url(proxy) for name, proxy in ways.items()} | {DIRECT: DIRECT}
    own = {pattern: urls[way] for pattern, way in proxies.items()}
    found = await scene.look(urls[GENERAL], host, no_proxy=no_proxy, proxies=own)
    assert found.resolved is not None, found.trouble
    assert found.resolved.digest == scene.digest
    itself = f"{ADDRESS if host == ADDRESS else '192.0.2.1'}:{scene.port}"
    expected = itself if used == DIRECT else ways[used].address
    assert set(scene.connected) == {expected}


USER, PASSWORD = "us\u00e9r", "p@ss/w\u00f6rd:%\u20ac"


async def test_a_login_of_any_characters(scene: Scene, start_proxy: Start) -> None:
    """In UTF-8, as for registries."""
    proxy = start_proxy(login=f"{USER}:{PASSWORD}")
    found = await scene.look(url(proxy, f"{quote(USER)}:{quote(PASSWORD, safe='')}@"))
    assert found.resolved is not None, found.trouble


@pytest.mark.parametrize("login", ["", f"{quote(USER)}:wr0ng-p%40ss@"])
async def test_a_login_that_is_refused(
    scene: Scene, start_proxy: Start, caplog: pytest.LogCaptureFixture, login: str
) -> None:
    """A person must correct it, so it is told at once, and not tried again and again."""
    caplog.set_level(logging.DEBUG)
    proxy = start_proxy(login=f"{USER}:{PASSWORD}")
    found = await scene.look(url(proxy, login))
    assert found.trouble is not None
    assert found.trouble.reason is TroubleReason.RegistryMisconfigured
    assert found.trouble.message == (
        f"{NAME}:{scene.port}: the proxy wants a login that it knows (HTTP 407); give its user and"
        " password in its address, where the operator's environment or registries file names it"
    )
    assert len(scene.connected) == 1
    for secret in ("wr0ng", "d3IwbmctcEBzc", PASSWORD, quote(PASSWORD, safe="")):
        assert secret not in f"{found} {caplog.text}"


async def test_a_way_that_is_refused(scene: Scene, start_proxy: Start) -> None:
    proxy = start_proxy(names={})
    found = await scene.look(url(proxy))
    assert found.trouble is not None
    assert found.trouble.reason is TroubleReason.RegistryMisconfigured
    assert found.trouble.message == (
        f"{NAME}:{scene.port}: the proxy refuses the way there (HTTP 403); let it through at the"
        " proxy, or make it an exception (NO_PROXY, or noProxy of the operator's registries file)"
    )
    assert len(scene.connected) == 1


async def test_a_registry_that_the_proxy_cannot_reach(scene: Scene, start_proxy: Start) -> None:
    """B7: it may pass."""
    proxy = start_proxy()
    with dead_port() as port:
        scene.port = str(port)
        found = await scene.look(url(proxy))
    assert found.trouble is not None
    assert found.trouble.reason is TroubleReason.RegistryUnavailable
    assert found.trouble.message == (
        f"{NAME}:{scene.port}: the proxy answers HTTP 502; it is asked again by itself"
    )


async def test_a_proxy_that_is_down(scene: Scene, start_proxy: Start) -> None:
    """B7: it may pass; which of the two is down is told."""
    proxy = start_proxy()
    proxy.stop()
    found = await scene.look(url(proxy))
    assert found.trouble is not None
    assert found.trouble.reason is TroubleReason.RegistryUnavailable
    assert found.trouble.message == (
        f"{NAME}:{scene.port}: proxy: connection refused; it is asked again by itself"
    )
