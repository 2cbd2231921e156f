"""The fault proxy does to a write what it is told, and nothing to anything else."""

import gc
import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from testbed import build
from testbed.api import Api, ApiError, Manifest, path
from testbed.controlplane import ControlPlane
from testbed.fault_proxy import FaultProxy
from testbed.faults import CONFLICT, FORBIDDEN, THROTTLE, Cut, Fault, Hold, Refusal, Write
from testbed.namespace import Namespace
from testbed.process import Child

MAPS = "v1/configmaps"


@pytest.fixture
def proxy(bare_control_plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(
        bare_control_plane.server, bare_control_plane.ca, bare_control_plane.key
    ) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: FaultProxy, bare_control_plane: ControlPlane) -> Iterator[Api]:
    """A client that knows the proxy only."""
    api = Api(proxy.server, bare_control_plane.token, bare_control_plane.ca)
    yield api
    api.close()


@pytest.fixture
def made(bare_namespace: Namespace) -> Manifest:
    """The ConfigMap `one`, whose `step` is 0."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    return bare_namespace.create(manifest | {"data": {"step": "0"}})


def put(api: Api, namespace: Namespace, step: int) -> Manifest:
    return api.patch(MAPS, namespace.name, "one", {"data": {"step": str(step)}})


def step(namespace: Namespace) -> str:
    found: str = namespace.get("ConfigMap", "one")["data"]["step"]
    return found


def follow(proxy: FaultProxy, *faults: Fault) -> None:
    """One fault for each of the first writes."""
    by_number = dict(enumerate(faults, 1))
    proxy.follow(lambda write: by_number.get(write.number))


def test_what_is_not_planned_passes_unchanged(
    proxy: FaultProxy, through: Api, bare_namespace: Namespace, made: Manifest
) -> None:
    stored = put(through, bare_namespace, 1)

    assert stored == bare_namespace.get("ConfigMap", "one")
    assert through.get(MAPS, bare_namespace.name, "one") == stored
    with pytest.raises(ApiError, match="not found"):
        through.get(MAPS, bare_namespace.name, "none")
    [write] = proxy.writes()
    assert write == Write(
        number=1,
        method="PATCH",
        path=path(MAPS, bare_namespace.name, "one"),
        namespace=bare_namespace.name,
        resource="configmaps",
        name="one",
        subresource="",
        body={"data": {"step": "1"}},
        status=200,
    )


@pytest.mark.parametrize("refusal", [FORBIDDEN, CONFLICT, THROTTLE])
def test_a_refused_write_is_not_done(
    proxy: FaultProxy,
    through: Api,
    bare_namespace: Namespace,
    made: Manifest,
    refusal: Refusal,
) -> None:
    follow(proxy, refusal)

    with pytest.raises(ApiError) as caught:
        put(through, bare_namespace, 1)

    assert (caught.value.code, str(caught.value)) == (
        refusal.code,
        f"{refusal.code}: {refusal.message}",
    )
    assert step(bare_namespace) == "0"
    put(through, bare_namespace, 2)
    assert step(bare_namespace) == "2"
    assert [write.status for write in proxy.writes()] == [None, 200]


@pytest.mark.parametrize("is_done", [False, True])
def test_a_cut_write_is_done_or_not(
    proxy: FaultProxy, through: Api, bare_namespace: Namespace, made: Manifest, *, is_done: bool
) -> None:
    # The client sends once more what had no answer, as many clients do.
    follow(proxy, Cut(is_done), Cut(is_done=False))

    with pytest.raises((ConnectionError, OSError)):
        put(through, bare_namespace, 1)

    assert step(bare_namespace) == ("1" if is_done else "0")


@pytest.mark.parametrize("is_done", [False, True])
def test_a_held_write_ends_with_its_client(
    bare_namespace: Namespace, made: Manifest, *, is_done: bool
) -> None:
    control_plane, hold = bare_namespace.control_plane, Hold(is_done)
    config, log = (control_plane.folder / f"held.{each}" for each in ("kubeconfig", "log"))
    patch = ["patch", "configmap/one", "--patch", '{"data": {"step": "1"}}']
    with FaultProxy(control_plane.server, control_plane.ca, control_plane.key) as proxy:
        follow(proxy, hold)
        own = control_plane.kubeconfig.read_text()
        config.write_text(own.replace(control_plane.server, proxy.server))
        command = [str(build.tools()["kubectl"]), f"--kubeconfig={config}"]
        with Child([*command, f"--namespace={bare_namespace.name}", *patch], log=log) as client:
            assert hold.reached.wait(60)
            assert client.exit_code is None
        assert step(bare_namespace) == ("1" if is_done else "0")
        bare_namespace.patch("ConfigMap", "one", {"data": {"step": "2"}})

    assert step(bare_namespace) == "2"


def test_the_past_is_shown_once(
    proxy: FaultProxy, through: Api, bare_namespace: Namespace, made: Manifest
) -> None:
    name = path(MAPS, bare_namespace.name, "one")
    assert not proxy.show_past(name)
    first = put(through, bare_namespace, 1)
    second = put(through, bare_namespace, 2)

    assert proxy.show_past(name)
    assert proxy.has_unread_past(name)

    assert through.get(MAPS, bare_namespace.name, "one") == first
    assert not proxy.has_unread_past(name)
    assert through.get(MAPS, bare_namespace.name, "one") == second
    listed = through.request("GET", path(MAPS, bare_namespace.name))
    assert [item["data"] for item in listed["items"] if item["metadata"]["name"] == "one"] == [
        {"step": "1"}
    ]
    assert listed["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    again = through.items(MAPS, bare_namespace.name)
    assert {"step": "2"} in [item.get("data") for item in again]


@contextmanager
def watch(
    proxy: FaultProxy, namespace: Namespace, made: Manifest
) -> Iterator[http.client.HTTPResponse]:
    """A watch on the namespace's ConfigMaps, from `made` on."""
    control_plane, url = namespace.control_plane, urlsplit(proxy.server)
    trust = ssl.create_default_context(cafile=str(control_plane.ca))
    client = http.client.HTTPSConnection(url.hostname or "", url.port, timeout=60, context=trust)
    query = f"?watch=1&resourceVersion={made['metadata']['resourceVersion']}"
    headers = {"Authorization": f"Bearer {control_plane.token}"}
    client.request("GET", path(MAPS, namespace.name) + query, headers=headers)
    with closing(client), client.getresponse() as answer:
        yield answer


def test_a_watch_is_passed_on_as_it_comes(
    proxy: FaultProxy, bare_namespace: Namespace, made: Manifest
) -> None:
    with watch(proxy, bare_namespace, made) as answer:
        for number in (1, 2):
            put(bare_namespace.control_plane.api, bare_namespace, number)
            event = json.loads(answer.readline())
            assert (event["type"], event["object"]["data"]) == ("MODIFIED", {"step": str(number)})


def test_a_proxy_that_ends_leaves_nothing_open(bare_namespace: Namespace, made: Manifest) -> None:
    """What is left open is told when it is collected, and fails the test."""
    control_plane = bare_namespace.control_plane
    proxy = FaultProxy(control_plane.server, control_plane.ca, control_plane.key)
    with watch(proxy, bare_namespace, made):
        proxy.stop()
    del proxy
    gc.collect()
