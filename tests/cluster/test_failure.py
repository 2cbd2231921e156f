"""Rollouts that come to nothing: the digest is held, the old pods serve, a fix heals.

B4, B19 to B21.
"""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    events,
    image,
    impatient,
    is_stalled,
    let_run,
    message,
    ours,
    ready,
    record,
    request,
    retry,
    rollouts,
    settle,
    stamp,
    state,
    told,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_rollouts,
    wait_stuck,
    web_container,
    web_policy,
    web_restart,
)
from imagerefresh.api.names import RETRY_AT
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import condition, container, restart, workload

pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, settled on the digest that this returns."""
    return settle(namespace, registry)


@pytest.fixture
def bad(namespace: Namespace, registry: Registry, first: str) -> str:
    """A digest that can't run, asked and failed."""
    digest = registry.publish(REPOSITORY, TAG, bad=True)
    with impatient(namespace):
        check(namespace)
        wait_ready(namespace, status="False", reason="RolloutFailed")
    return digest


def ready_pods(namespace: Namespace) -> list[str | None]:
    """The stamps of the pods that serve."""
    return [
        pod["metadata"].get("annotations", {}).get("imagerefresh.dev/asked-web")
        for pod in namespace.pods("web")
        if (condition(pod, "Ready") or {}).get("status") == "True"
    ]


# A digest that does not become healthy.


def test_a_bad_digest_is_held_while_the_old_pods_serve(
    namespace: Namespace, first: str, bad: str
) -> None:
    """B19, B21: nothing is recorded, and it is not asked again."""
    found = check(namespace)

    assert ready(found) == ("False", "RolloutFailed")
    assert is_stalled(found)
    assert (entry(found)["state"], entry(found)["failed"]) == ("Held", bad)
    assert entry(found)["recorded"] == first
    assert bad in message(found)
    deployment = namespace.deployment("web")
    assert record(deployment) == first
    assert state(deployment)["failed"] == bad
    assert rollouts(namespace) == [None, bad]
    assert ready_pods(namespace) == [None]
    told(namespace, "RolloutFailed", 1)
    told(namespace, "Asked", 1)


def test_a_published_fix_heals(namespace: Namespace, registry: Registry, bad: str) -> None:
    """B21: the tag has moved, so the hold ends."""
    fix = registry.publish(REPOSITORY, TAG)
    check(namespace)

    found = wait_recorded(namespace, fix)

    assert ready(found) == ("True", "UpToDate")
    assert "failed" not in entry(found)
    assert "failed" not in state(namespace.deployment("web"))
    assert rollouts(namespace) == [None, bad, fix]


def test_a_tag_that_goes_back_to_the_recorded_digest_heals(
    namespace: Namespace, registry: Registry, first: str, bad: str
) -> None:
    """B21: pods of the bad template are to go, so what was recorded is asked again."""
    registry.retag(REPOSITORY, TAG, first)
    check(namespace)

    found = wait_ready(namespace)

    assert "failed" not in entry(found)
    assert stamp(namespace.deployment("web")) == first
    wait_rollouts(namespace, [None, bad, first])


def test_retry_at_asks_a_held_digest_once_more(
    namespace: Namespace, registry: Registry, first: str, bad: str
) -> None:
    """B4."""
    found = retry(namespace)
    assert entry(found)["state"] == "RollingOut"
    assert stamp(namespace.deployment("web")) == bad

    with impatient(namespace):
        wait_ready(namespace, status="False", reason="RolloutFailed")
    found = check(namespace)

    assert entry(found)["failed"] == bad
    assert len(rollouts(namespace)) == 3
    told(namespace, "Asked", 2)
    told(namespace, "RolloutFailed", 2)
    assert record(namespace.deployment("web")) == first


def test_retry_at_waits_while_the_registry_is_unreachable(
    namespace: Namespace, registry: Registry, bad: str
) -> None:
    """B4: latest is asked, so it must be known."""
    registry.front.fail(503)
    value = request(namespace, annotation=RETRY_AT)
    found = check(namespace)
    assert found["status"].get("lastHandledRetryAt") != value
    assert len(rollouts(namespace)) == 2

    registry.front.heal()
    check(namespace)

    eventually(
        lambda: namespace.policy("web")["status"].get("lastHandledRetryAt") == value,
        describe="the retry is handled",
    )
    wait_rollouts(namespace, [None, bad, bad])


def test_a_held_digest_that_turns_healthy_after_all_is_recorded(
    namespace: Namespace, registry: Registry, bad: str
) -> None:
    """B21."""
    let_run(namespace)

    eventually(lambda: entry(check(namespace))["recorded"] == bad, describe="recorded")

    found = wait_ready(namespace)
    assert "failed" not in entry(found)
    assert rollouts(namespace) == [None, bad]


def test_digests_of_one_rollout_fail_together_and_are_released_together(
    namespace: Namespace, registry: Registry
) -> None:
    """B21."""
    registry.publish(REPOSITORY, TAG)
    registry.publish("example/side", TAG)
    side = container("side", image(registry, "example/side"))
    namespace.create(workload("web", [web_container(registry), side]))
    images = [web_restart(registry), restart("side", registry.address, "example/side", TAG)]
    namespace.create(web_policy(*images))
    wait_ready(namespace)

    good = registry.publish(REPOSITORY, TAG)
    registry.publish("example/side", TAG, bad=True)
    with impatient(namespace):
        check(namespace)
        found = wait_ready(namespace, status="False", reason="RolloutFailed")
    assert [entry(found, name)["state"] for name in ("web", "side")] == ["Held", "Held"]

    fix = registry.publish("example/side", TAG)
    check(namespace)

    wait_recorded(namespace, fix, of="side")
    found = wait_recorded(namespace, good)
    assert ready(found) == ("True", "UpToDate")
    assert len(rollouts(namespace)) == 3


# Targets in trouble of their own.


def test_a_stuck_target_that_is_up_to_date_is_degraded(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B20: no verdict on a digest, and over once somebody has mended it."""
    namespace.kubectl("set", "env", "deployment/web", "OTHER=sha256:bad")
    wait_stuck(namespace)
    with impatient(namespace):
        check(namespace)

        found = wait_ready(namespace, status="False", reason="Degraded")
        told(namespace, "Degraded", 1)  # the next change of the target would begin a new one

    assert (entry(found)["state"], entry(found)["recorded"]) == ("Current", first)
    assert "failed" not in entry(found)
    namespace.kubectl("set", "env", "deployment/web", "OTHER-")
    eventually(lambda: ready(check(namespace)) == ("True", "UpToDate"), describe="mended")


def test_an_old_deadline_is_no_verdict_on_a_new_digest(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B19: it was exceeded before the ask."""
    namespace.kubectl("set", "env", "deployment/web", "OTHER=sha256:bad")
    with impatient(namespace):
        eventually(
            lambda: (
                (condition(namespace.deployment("web"), "Progressing") or {}).get("reason")
                == "ProgressDeadlineExceeded"
            ),
            describe="the deadline has passed",
        )
    digest = registry.publish(REPOSITORY, TAG)
    found = check(namespace)
    assert (entry(found)["state"], entry(found)["asked"]) == ("RollingOut", digest)

    namespace.kubectl("set", "env", "deployment/web", "OTHER-")

    found = wait_recorded(namespace, digest)
    assert events(namespace, "RolloutFailed") == []


def test_a_paused_target_is_never_patched(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B19: and says so; what has moved meanwhile is asked once it is resumed."""
    namespace.kubectl("rollout", "pause", "deployment/web")
    digest = registry.publish(REPOSITORY, TAG)
    before = ours(namespace.deployment("web"))

    found = check(namespace)

    assert ready(found) == ("False", "TargetPaused")
    check(namespace)
    assert ours(namespace.deployment("web")) == before
    told(namespace, "TargetPaused", 1)
    namespace.kubectl("rollout", "resume", "deployment/web")
    check(namespace)
    wait_asked(namespace, digest)
    wait_recorded(namespace, digest)
