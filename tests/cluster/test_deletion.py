"""Deleting policies, namespaces and the CRD, with the operator running or not, seen or missed.

B24.
"""

from collections.abc import Iterator

import pytest

from cluster.conftest import StartOperator
from cluster.story import (
    RARELY,
    REPOSITORY,
    TAG,
    check,
    entry,
    ours,
    ready,
    wait_ready,
    wait_recorded,
    web,
    web_policy,
    web_restart,
)
from testbed.audit import service_account_user
from testbed.controlplane import ControlPlane
from testbed.installation import install_cluster_part
from testbed.namespace import Namespace
from testbed.proxy import TcpProxy
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import container, policy, restart, workload

CRD = "imagerefreshpolicies.imagerefresh.dev"
OFTEN = "10s"


def create(namespace: Namespace, registry: Registry, name: str) -> str:
    """A Deployment and a policy that polls often, of one name and an image of their own."""
    digest = registry.publish(f"example/{name}", TAG)
    app = container("app", f"{registry.address}/example/{name}:{TAG}")
    namespace.create(workload(name, [app]))
    followed = restart(name, registry.address, f"example/{name}", TAG)
    namespace.create(policy(name, name, [followed], interval=OFTEN))
    return digest


def wait_turns(registry: Registry, name: str, turns: int) -> None:
    """Wait for turns of a policy that stays, to show that none comes of one that is gone."""

    def heads() -> int:
        return len(registry.front.requests("HEAD", f"example/{name}/"))

    before = heads()
    eventually(
        lambda: heads() >= before + turns, timeout=10 * turns + 60, describe=f"turns of {name}"
    )


def test_no_policy_carries_a_finalizer(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B24: and so each goes at once, whether the operator runs, has ended, or was killed."""
    names = ("running", "ended", "killed")
    for name in names:
        create(namespace, registry, name)
    operator = start_operator()
    for name in names:
        assert "finalizers" not in wait_ready(namespace, name)["metadata"]
        namespace.annotate("ImageRefreshPolicy", name, touched="yes")

    namespace.delete("ImageRefreshPolicy", "running")
    assert namespace.find("ImageRefreshPolicy", "running") is None
    operator.terminate()
    namespace.delete("ImageRefreshPolicy", "ended")
    assert namespace.find("ImageRefreshPolicy", "ended") is None
    operator = start_operator()
    assert "finalizers" not in check(namespace, "killed")["metadata"]
    operator.kill()
    namespace.delete("ImageRefreshPolicy", "killed")
    assert namespace.find("ImageRefreshPolicy", "killed") is None


def test_nothing_is_done_for_a_deleted_policy(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B24: neither polled nor acted on, and its target stays as it is."""
    create(namespace, registry, "stays")
    create(namespace, registry, "goes")
    operator = start_operator()
    for name in ("stays", "goes"):
        wait_ready(namespace, name)
    namespace.delete("ImageRefreshPolicy", "goes")
    eventually(lambda: '"goes"' not in operator.metrics(), describe="the operator has heard of it")
    before = namespace.deployment("goes")
    registry.publish("example/goes", TAG)
    registry.front.forget()

    wait_turns(registry, "stays", 3)

    assert registry.front.requests(path="example/goes/") == []
    after = namespace.deployment("goes")
    assert ours(after) == ours(before)
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


def test_a_deletion_that_the_watch_missed_causes_no_write(
    namespace: Namespace, registry: Registry, start_operator: StartOperator, api_proxy: TcpProxy
) -> None:
    """B24: nobody told the operator, so it looks before it writes; and after that it is told."""
    create(namespace, registry, "stays")
    create(namespace, registry, "goes")
    start_operator(server=api_proxy.server)
    for name in ("stays", "goes"):
        wait_ready(namespace, name)

    api_proxy.cut()
    namespace.delete("ImageRefreshPolicy", "goes")
    assert namespace.find("ImageRefreshPolicy", "goes") is None
    before = namespace.deployment("goes")
    registry.publish("example/goes", TAG)
    digest = registry.publish("example/stays", TAG)
    api_proxy.restore()

    wait_recorded(namespace, digest, "stays", of="stays")
    wait_turns(registry, "stays", 1)
    after = namespace.deployment("goes")
    assert ours(after) == ours(before)
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    registry.front.forget()
    wait_turns(registry, "stays", 2)
    assert registry.front.requests(path="example/goes/") == []


def test_a_policy_that_was_replaced_while_the_watch_was_down_is_followed_once(
    namespace: Namespace, registry: Registry, start_operator: StartOperator, api_proxy: TcpProxy
) -> None:
    """B24: another UID is another policy."""
    registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    namespace.create(web_policy(web_restart(registry), interval=OFTEN))
    start_operator(server=api_proxy.server)
    wait_ready(namespace)

    api_proxy.cut()
    namespace.delete("ImageRefreshPolicy", "web")
    namespace.create(web_policy(web_restart(registry)))
    second = registry.publish(REPOSITORY, TAG)
    api_proxy.restore()

    found = wait_recorded(namespace, second)
    assert ready(found) == ("True", "UpToDate")
    assert len(namespace.replica_sets("web")) == 2


def test_a_namespace_can_be_deleted_with_its_policies(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B24: while the operator runs."""
    create(namespace, registry, "web")
    start_operator()
    wait_ready(namespace)

    namespace.control_plane.kubectl("delete", "namespace", namespace.name, "--timeout=90s")
    again = {"metadata": {"name": namespace.name}}  # what the fixture made, it also removes
    namespace.control_plane.api.create("v1/namespaces", again)


@pytest.fixture
def crd_is_back(control_plane: ControlPlane) -> Iterator[None]:
    """Whatever becomes of the test, others need the CRD."""
    yield
    install_cluster_part(control_plane)


@pytest.mark.usefixtures("crd_is_back")
def test_the_crd_can_be_deleted_and_comes_back(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B24: the running operator goes on with the policies that come with it."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    namespace.create(web_policy(web_restart(registry), interval=RARELY))
    operator = start_operator()
    wait_recorded(namespace, first)

    namespace.control_plane.kubectl("delete", "crd", CRD, "--timeout=90s")
    audit, user = (
        namespace.control_plane.audit,
        service_account_user(namespace.name, "imagerefresh"),
    )
    eventually(
        lambda: [each for each in audit.requests(user) if each.code == 404],
        describe="the operator has noticed",
    )
    install_cluster_part(namespace.control_plane)
    second = registry.publish(REPOSITORY, TAG)
    namespace.create(web_policy(web_restart(registry)))

    found = wait_recorded(namespace, second)
    assert entry(found)["state"] == "Current"
    assert operator.exit_code is None
    assert operator.status_of("/healthz") == 200
