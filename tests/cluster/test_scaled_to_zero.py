"""A target without pods proves nothing of what was asked of it (B19)."""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    impatient,
    let_run,
    ready,
    record,
    rollouts,
    settle,
    state,
    value,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_stuck,
    web_container,
    web_policy,
    web_restart,
    web_set_env,
)
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import is_observed, workload

pytestmark = pytest.mark.usefixtures("operator")


def scale(namespace: Namespace, replicas: int) -> None:
    """Scale the Deployment, and wait until its pods are gone or created."""
    namespace.kubectl("scale", "deployment/web", f"--replicas={replicas}")

    def seen() -> bool:
        found = namespace.deployment("web")
        return is_observed(found) and found["status"].get("replicas", 0) == replicas

    eventually(seen, describe=f"{replicas} replicas")


def test_a_stuck_rollout_is_not_proven_by_scaling_it_to_zero(
    namespace: Namespace, registry: Registry
) -> None:
    """Nor does it fail then; the pods to come decide."""
    first = settle(namespace, registry)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)

    scale(namespace, 0)
    check(namespace)

    found = wait_ready(namespace, status="Unknown", reason="ScaledToZero")
    assert (entry(found)["asked"], entry(found)["recorded"]) == (bad, first)
    deployment = namespace.deployment("web")
    assert (record(deployment), state(deployment).get("failed")) == (first, None)
    scale(namespace, 1)
    wait_stuck(namespace)
    found = check(namespace)
    assert (ready(found), entry(found)["recorded"]) == (("Unknown", "RollingOut"), first)
    let_run(namespace)
    wait_recorded(namespace, bad)
    assert rollouts(namespace) == [None, bad]


def test_a_failed_digest_stays_failed_at_zero(namespace: Namespace, registry: Registry) -> None:
    """B21."""
    first = settle(namespace, registry)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    with impatient(namespace):
        check(namespace)
        wait_ready(namespace, status="False", reason="RolloutFailed")

    scale(namespace, 0)
    found = check(namespace)

    assert ready(found) == ("False", "RolloutFailed")
    assert (entry(found)["failed"], entry(found)["recorded"]) == (bad, first)


def test_a_target_that_sleeps_gets_each_digest_and_proves_it_with_its_first_work(
    namespace: Namespace, registry: Registry
) -> None:
    """B13, B16, B18: as an autoscaler to zero wants it."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(workload("web", [web_container(registry)], replicas=0))
    namespace.create(web_policy(web_set_env(registry)))
    wait_asked(namespace, first)
    wait_ready(namespace, status="Unknown", reason="ScaledToZero")
    second = registry.publish(REPOSITORY, TAG)
    check(namespace)
    found = wait_ready(namespace, status="Unknown", reason="ScaledToZero")
    assert value(namespace) == second
    assert "recorded" not in entry(found)

    scale(namespace, 1)
    eventually(lambda: ready(check(namespace)) == ("True", "UpToDate"), describe="proven")
    scale(namespace, 0)

    found = check(namespace)
    assert ready(found) == ("True", "UpToDate")
    assert entry(found)["recorded"] == second


def test_what_is_found_at_zero_is_taken_over(namespace: Namespace, registry: Registry) -> None:
    """B12: nobody was made to run it."""
    digest = registry.publish(REPOSITORY, TAG)
    namespace.create(workload("web", [web_container(registry)], replicas=0))
    namespace.create(web_policy(web_restart(registry)))

    found = wait_recorded(namespace, digest)

    assert ready(found) == ("True", "UpToDate")
    assert rollouts(namespace) == [None]
