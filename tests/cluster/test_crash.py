"""kill -9 at the worst moments: nothing is lost, nothing repeated.

B13, B14, B21, B22. What was asked is on the target, and no run waits for a rollout.
"""

import pytest

from cluster.admission import frozen_status
from cluster.conftest import StartOperator
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    let_run,
    ready,
    record,
    request,
    rollouts,
    state,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_stuck,
    web_container,
    web_policy,
    web_restart,
    web_set_env,
)
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.waiting import eventually, wait_until
from testbed.workloads import rolled_out, workload

PROVING_TAKES = 2
"""minReadySeconds of the Deployments: time for a kill between an ask and its record."""


def settle(namespace: Namespace, registry: Registry, image: Manifest) -> str:
    """Deployment and policy `web`, and the digest that the variable has, too."""
    digest = registry.publish(REPOSITORY, TAG)
    app = web_container(registry, DIGEST=digest)
    namespace.create(workload("web", [app], min_ready_seconds=PROVING_TAKES))
    namespace.create(web_policy(image))
    return digest


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """The digest on which `web` settles, under action Restart."""
    return settle(namespace, registry, web_restart(registry))


@pytest.fixture
def operator(namespace: Namespace, first: str, start_operator: StartOperator) -> OperatorProcess:
    """Has recorded the first digest."""
    operator = start_operator()
    wait_recorded(namespace, first)
    return operator


def wait_recorded_by_one_rollout(namespace: Namespace, digest: str) -> None:
    found = wait_recorded(namespace, digest)
    assert ready(found) == ("True", "UpToDate")
    assert record(namespace.deployment("web")) == digest
    assert rollouts(namespace) == [None, digest]


@pytest.mark.parametrize("action", ["Restart", "SetEnv"])
def test_a_kill_right_after_an_ask(
    namespace: Namespace, registry: Registry, start_operator: StartOperator, action: str
) -> None:
    """B13."""
    image = web_restart(registry) if action == "Restart" else web_set_env(registry)
    first = settle(namespace, registry, image)
    operator = start_operator()
    wait_recorded(namespace, first)
    second = registry.publish(REPOSITORY, TAG, bad=True)
    request(namespace)
    wait_until(
        lambda: state(namespace.deployment("web"))["asked"] == second, timeout=30, pause=0.001
    )
    operator.kill()
    assert record(namespace.deployment("web")) == first

    start_operator()
    let_run(namespace)

    wait_recorded_by_one_rollout(namespace, second)


def test_an_ask_that_status_never_heard_of(
    namespace: Namespace,
    registry: Registry,
    first: str,
    operator: OperatorProcess,
    start_operator: StartOperator,
) -> None:
    """B22: the higher serial is on the target."""
    second = registry.publish(REPOSITORY, TAG)
    with frozen_status(namespace):
        request(namespace)
        wait_asked(namespace, second)
        operator.kill()
    found = namespace.policy("web")
    assert (entry(found)["asked"], ready(found)[0]) == (first, "True")

    start_operator()

    wait_recorded_by_one_rollout(namespace, second)


def test_a_kill_before_the_record(
    namespace: Namespace,
    registry: Registry,
    first: str,
    operator: OperatorProcess,
    start_operator: StartOperator,
) -> None:
    """B14: the target turns healthy while nobody looks."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    operator.kill()
    let_run(namespace)
    eventually(lambda: rolled_out(namespace.deployment("web")), describe="rolled out")
    assert record(namespace.deployment("web")) == first

    start_operator()

    wait_recorded_by_one_rollout(namespace, second)


def test_a_record_that_status_never_heard_of(
    namespace: Namespace,
    registry: Registry,
    first: str,
    operator: OperatorProcess,
    start_operator: StartOperator,
) -> None:
    """B22: it is read back from the target, which is not written again."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    with frozen_status(namespace):
        let_run(namespace)
        eventually(
            lambda: record(namespace.deployment("web")) == second, describe="recorded on the target"
        )
        operator.kill()
    assert entry(namespace.policy("web"))["recorded"] == first
    before = namespace.deployment("web")["metadata"]["generation"]

    start_operator()

    wait_recorded_by_one_rollout(namespace, second)
    assert namespace.deployment("web")["metadata"]["generation"] == before


def test_a_hold_outlives_a_kill(
    namespace: Namespace,
    registry: Registry,
    first: str,
    operator: OperatorProcess,
    start_operator: StartOperator,
) -> None:
    """B21: a failed digest is not asked again."""
    deadline = {"spec": {"progressDeadlineSeconds": PROVING_TAKES + 1}}
    namespace.patch("Deployment", "web", deadline)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_ready(namespace, status="False", reason="RolloutFailed")
    operator.kill()

    start_operator()
    found = check(namespace)

    assert (entry(found)["state"], entry(found)["failed"]) == ("Held", bad)
    assert entry(found)["recorded"] == first
    assert rollouts(namespace) == [None, bad]


def test_a_move_while_the_operator_is_down(
    namespace: Namespace,
    registry: Registry,
    first: str,
    operator: OperatorProcess,
    start_operator: StartOperator,
) -> None:
    """B13."""
    operator.kill()
    second = registry.publish(REPOSITORY, TAG)

    start_operator()
    check(namespace)

    wait_recorded_by_one_rollout(namespace, second)


def test_a_stopped_operator_ends_soon(operator: OperatorProcess) -> None:
    """As a pod is stopped, well within its grace period."""
    assert operator.terminate(timeout=30) == 0
