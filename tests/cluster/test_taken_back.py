"""What looks like an ask that was taken back, and what is one (B13, B14, B17)."""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    let_run,
    record,
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
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import workload

pytestmark = pytest.mark.usefixtures("operator")


def test_an_undone_restart_is_held_and_not_recorded_by_the_pods_of_before(
    namespace: Namespace, registry: Registry
) -> None:
    """B14, B17: the old pods never stopped, so the target is healthy, and proves nothing."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(workload("web", [web_container(registry)], replicas=2))
    namespace.create(web_policy(web_restart(registry)))
    wait_recorded(namespace, first)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)

    namespace.undo("web")
    found = wait_ready(namespace, status="False", reason="Rejected")

    assert (entry(found)["state"], entry(found)["failed"]) == ("Held", bad)
    assert record(namespace.deployment("web")) == first


def renamed(registry: Registry) -> Manifest:
    image = web_set_env(registry)
    image["action"]["setEnv"]["variable"] = "OTHER"
    return image


@pytest.mark.parametrize("action", ["renamed", "another"])
def test_an_action_that_changes_during_a_rollout_is_no_rejection(
    namespace: Namespace, registry: Registry, action: str
) -> None:
    """B4, B17: what the new action writes was never there to be taken back."""
    first = registry.publish(REPOSITORY, TAG)
    before, after, variable = {
        "renamed": (web_set_env(registry), renamed(registry), "OTHER"),
        "another": (web_restart(registry), renamed(registry), "OTHER"),
    }[action]
    namespace.create(workload("web", [web_container(registry)]))
    namespace.create(web_policy(before))
    wait_recorded(namespace, first)
    second = registry.publish(REPOSITORY, TAG, bad=True)
    namespace.annotate("ImageRefreshPolicy", "web", **{"imagerefresh.dev/requested-at": "now"})
    wait_asked(namespace, second)

    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"images": [after]}})

    eventually(lambda: value(namespace, variable) == second, describe="the new action's value")
    let_run(namespace)
    wait_recorded(namespace, second)
    assert value(namespace, variable) == second
