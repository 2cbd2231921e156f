"""Action Restart: a baseline without a restart, one rollout a move, recorded when proven.

B2, B6, B11 to B14.
"""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    events,
    let_run,
    ready,
    record,
    rollouts,
    settle,
    stamp,
    state,
    told,
    wait_ready,
    wait_recorded,
    wait_rollouts,
    wait_stuck,
    web_container,
    web_policy,
    web_restart,
)
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import rolled_out, workload

pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, settled on the digest that this returns."""
    return settle(namespace, registry)


# The baseline.


def test_a_baseline_is_recorded_without_a_restart(namespace: Namespace, first: str) -> None:
    """B12: taken over as found, which is an assumption where pods can't be read."""
    found = wait_ready(namespace)
    assert "assumed" in entry(found)["message"]
    assert "lastRefreshTime" not in entry(found)
    deployment = namespace.deployment("web")
    assert record(deployment) == first
    assert state(deployment)["asked"] == first
    assert rollouts(namespace) == [None]
    told(namespace, "Recorded", 1)
    assert events(namespace, "Asked") == []


def test_a_baseline_is_recorded_only_when_healthy_and_given_up_when_the_tag_moves(
    namespace: Namespace, registry: Registry
) -> None:
    """B12: a tag that moves before is acted on."""
    first = registry.publish(REPOSITORY, TAG)
    broken = workload("web", [web_container(registry)], pod_annotations={"x": "sha256:bad"})
    namespace.create(broken)
    namespace.create(web_policy(web_restart(registry)))
    wait_stuck(namespace)
    found = wait_ready(namespace, status="Unknown", reason="Proving")
    assert entry(found)["asked"] == first
    assert "recorded" not in entry(found)

    second = registry.publish(REPOSITORY, TAG)
    check(namespace)

    assert stamp(namespace.deployment("web")) == second
    mended = {"spec": {"template": {"metadata": {"annotations": {"x": None}}}}}
    namespace.patch("Deployment", "web", mended)
    wait_recorded(namespace, second)
    [note] = told(namespace, "Recorded", 1)
    assert second in note


# Moves.


def test_a_move_is_one_rollout_and_recorded_only_when_healthy(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B13, B14: the new pods can't run at first, so there is time to look."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    found = check(namespace)
    assert ready(found) == ("Unknown", "RollingOut")
    wait_stuck(namespace)

    found = check(namespace)

    assert (entry(found)["asked"], entry(found)["recorded"]) == (second, first)
    deployment = namespace.deployment("web")
    assert (state(deployment)["asked"], record(deployment)) == (second, first)
    assert not rolled_out(deployment)
    let_run(namespace)
    found = wait_recorded(namespace, second)
    assert ready(found) == ("True", "UpToDate")
    assert "lastRefreshTime" in entry(found)
    deployment = namespace.deployment("web")
    assert record(deployment) == second
    assert rollouts(namespace) == [None, second]
    told(namespace, "Moved", 1)
    told(namespace, "Asked", 1)


def test_a_recorded_move_is_not_repeated(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B13: nor by any later look, with nothing new at the registry."""
    second = registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, second)
    before = namespace.deployment("web")["metadata"]["generation"]

    check(namespace)
    check(namespace)

    assert namespace.deployment("web")["metadata"]["generation"] == before
    assert rollouts(namespace) == [None, second]


def test_a_newer_move_supersedes_an_unproven_one_without_a_verdict(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B13."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    third = registry.publish(REPOSITORY, TAG)
    check(namespace)

    found = wait_recorded(namespace, third)

    assert "failed" not in entry(found)
    assert rollouts(namespace) == [None, second, third]


def test_a_tag_that_goes_back_during_a_rollout_ends_on_the_first_digest_proven(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B13: D1, D2, D1 is three templates, since a stamp carries a serial."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)

    registry.retag(REPOSITORY, TAG, first)
    check(namespace)

    wait_rollouts(namespace, [None, second, first])
    found = wait_ready(namespace)
    assert (entry(found)["asked"], entry(found)["recorded"]) == (first, first)
    eventually(lambda: rolled_out(namespace.deployment("web")), describe="rolled out")
    deployment = namespace.deployment("web")
    assert (record(deployment), stamp(deployment)) == (first, first)


def test_a_tag_that_moves_between_rollout_and_record_is_not_recorded(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B14: new pods pull the tag, so nobody knows whether they run what was asked."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    third = registry.publish(REPOSITORY, TAG)

    let_run(namespace)

    wait_recorded(namespace, third)
    notes = " ".join(told(namespace, "Recorded", 2))
    assert first in notes
    assert second not in notes
    assert rollouts(namespace) == [None, second, third]
