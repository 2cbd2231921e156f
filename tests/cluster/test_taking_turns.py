"""Two policies that act on different parts of one target roll out one after the other (B23)."""

import pytest

from cluster.conftest import StartOperator
from cluster.story import (
    RARELY,
    REPOSITORY,
    TAG,
    check,
    entry,
    image,
    impatient,
    let_run,
    message,
    ready,
    rollouts,
    state,
    told,
    wait_ready,
    wait_recorded,
    wait_stuck,
    web_container,
    web_policy,
    web_restart,
)
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import container, policy, restart, workload

SIDE = "example/side"


@pytest.fixture
def both(namespace: Namespace, registry: Registry, operator: OperatorProcess) -> None:
    """A Deployment of two containers, each followed by a policy of its own."""
    settle(namespace, registry)


def settle(namespace: Namespace, registry: Registry) -> None:
    registry.publish(REPOSITORY, TAG)
    registry.publish(SIDE, TAG)
    side = container("side", image(registry, SIDE))
    namespace.create(
        workload("web", [web_container(registry), side], progress_deadline_seconds=600)
    )
    namespace.create(web_policy(web_restart(registry)))
    follow_side = restart("side", registry.address, SIDE, TAG)
    namespace.create(policy("side", "web", [follow_side], interval=RARELY))
    wait_ready(namespace)
    wait_ready(namespace, "side")


@pytest.fixture
def bad(namespace: Namespace, registry: Registry, both: None) -> str:
    """What policy `web` has asked, and what can't run at first."""
    digest = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    return digest


def test_the_second_waits_until_the_first_is_proven(
    namespace: Namespace, registry: Registry, bad: str
) -> None:
    digest = registry.publish(SIDE, TAG)
    found = check(namespace, "side")
    assert ready(found) == ("Unknown", "WaitingForPolicy")
    assert (entry(found, "side")["state"], entry(found, "side")["latest"]) == ("Waiting", digest)
    assert "web" in message(found)
    assert rollouts(namespace) == [None, bad]

    let_run(namespace)

    wait_recorded(namespace, bad)
    # The new template still has the stamp of the first, which pods of the test bed shun.
    wait_stuck(namespace)
    let_run(namespace)
    wait_recorded(namespace, digest, "side", of="side")
    assert entry(namespace.policy("web"))["recorded"] == bad
    assert len(rollouts(namespace)) == 3
    told(namespace, "Asked", 1, "side")


def test_the_second_waits_for_nobody_who_is_gone(
    namespace: Namespace, registry: Registry, bad: str
) -> None:
    """What a deleted policy left on the target is nobody's ask."""
    registry.publish(SIDE, TAG)
    assert ready(check(namespace, "side")) == ("Unknown", "WaitingForPolicy")

    namespace.delete("ImageRefreshPolicy", "web")

    eventually(lambda: len(rollouts(namespace)) == 3, describe="the second has asked")


def test_the_second_goes_on_when_the_first_has_failed(
    namespace: Namespace, registry: Registry, both: None
) -> None:
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    digest = registry.publish(SIDE, TAG)
    check(namespace, "side")

    with impatient(namespace):
        wait_ready(namespace, status="False", reason="RolloutFailed")

    eventually(
        lambda: state(namespace.deployment("web"), "side").get("asked") == digest,
        describe="the second has asked",
    )
    assert entry(namespace.policy("web"))["failed"] == bad


def test_the_second_waits_across_a_kill(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B22: what the first has asked is on the target; after a start both are run at once."""
    operator = start_operator()
    settle(namespace, registry)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    registry.publish(SIDE, TAG)
    assert ready(check(namespace, "side")) == ("Unknown", "WaitingForPolicy")
    operator.kill()

    start_operator()
    found = check(namespace, "side")

    assert ready(found) == ("Unknown", "WaitingForPolicy")
    assert rollouts(namespace) == [None, bad]
