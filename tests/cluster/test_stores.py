"""Where the memory lives: on the target and in status, and either copy may be lost.

B22, B24, B25.
"""

import time

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    deploy,
    entry,
    events,
    impatient,
    is_stalled,
    message,
    move,
    ours,
    ready,
    record,
    rollouts,
    settle,
    state,
    told,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_rollouts,
    web,
    web_policy,
    web_restart,
)
from imagerefresh.api.names import GROUP, record_annotation, state_annotation
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")


FOREIGN_PREFIX = "refresher.example.com"
KEEP = "example.com/keep"
"""A finalizer of somebody else."""


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, settled on the digest that this returns."""
    return settle(namespace, registry)


@pytest.fixture
def second(namespace: Namespace, registry: Registry, first: str) -> str:
    """A move from the first digest, recorded."""
    return move(namespace, registry)


# The copy on the target.


def test_annotations_that_undo_took_back_are_restored(namespace: Namespace, second: str) -> None:
    """B22, B17: the tag floats, so the pods of the old template run the new image all the same."""
    before = state(namespace.deployment("web"))
    namespace.undo("web")
    assert record(namespace.deployment("web")) != second

    check(namespace)

    deployment = namespace.deployment("web")
    assert (record(deployment), state(deployment)["asked"]) == (second, second)
    assert state(deployment)["serial"] > before["serial"]
    found = wait_ready(namespace)
    assert entry(found)["recorded"] == second
    wait_rollouts(namespace, [second, None])
    assert events(namespace, "Rejected") == []
    told(namespace, "Asked", 1)


def test_a_move_after_an_undo_is_one_rollout(
    namespace: Namespace, registry: Registry, second: str
) -> None:
    """B22, B13: its stamp is a new one."""
    namespace.undo("web")
    wait_rollouts(namespace, [second, None])
    check(namespace)
    third = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, third)

    assert rollouts(namespace) == [second, None, third]


@pytest.mark.parametrize(
    ("state_text", "record_text"),
    [(None, None), ("{", "sha256:not-a-digest"), ('{"serial":"many"}', None)],
)
def test_stripped_and_garbled_annotations_are_restored(
    namespace: Namespace, first: str, state_text: str | None, record_text: str | None
) -> None:
    """B22: what can't be parsed counts as missing."""
    broken = {state_annotation("web"): state_text, record_annotation(GROUP, "web"): record_text}
    namespace.annotate("Deployment", "web", **broken)

    check(namespace)

    deployment = namespace.deployment("web")
    assert (record(deployment), state(deployment)["asked"]) == (first, first)
    assert rollouts(namespace) == [None]
    assert ready(wait_ready(namespace)) == ("True", "UpToDate")
    assert events(namespace, "Asked") == []


# The copy in status.


def test_a_policy_that_is_created_again_goes_on_from_the_record(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B24: deleting one leaves the target and its annotations as they are."""
    before = namespace.deployment("web")
    namespace.delete("ImageRefreshPolicy", "web")
    assert namespace.find("ImageRefreshPolicy", "web") is None
    namespace.create(web_policy(web_restart(registry)))

    found = wait_recorded(namespace, first)

    assert ours(namespace.deployment("web")) == ours(before)
    assert ready(found) == ("True", "UpToDate")
    assert rollouts(namespace) == [None]


def test_a_move_while_there_is_no_policy_is_acted_on_by_the_next(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B24: no baseline is taken anew."""
    namespace.delete("ImageRefreshPolicy", "web")
    second = registry.publish(REPOSITORY, TAG)
    looked = registry.front.requests("HEAD")[-1].time
    # The age of a policy is known in whole seconds, and it may share a look that is no older.
    eventually(lambda: time.monotonic() - looked > 1, describe="the last look is older")
    namespace.create(web_policy(web_restart(registry)))

    wait_recorded(namespace, second)

    assert rollouts(namespace) == [None, second]


def test_a_failed_digest_stays_held_under_the_next_policy(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B21, B24: the hold is part of the state on the target."""
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    with impatient(namespace):
        check(namespace)
        wait_ready(namespace, status="False", reason="RolloutFailed")

    namespace.delete("ImageRefreshPolicy", "web")
    namespace.create(web_policy(web_restart(registry)))

    found = wait_ready(namespace, status="False", reason="RolloutFailed")
    assert (entry(found)["failed"], entry(found)["recorded"]) == (bad, first)
    assert rollouts(namespace) == [None, bad]


# Another target of the same name.


def test_a_target_that_is_created_again_is_met_anew(
    namespace: Namespace, registry: Registry, second: str
) -> None:
    """B25, B22: another UID without annotations is a first observation."""
    namespace.delete("Deployment", "web")
    eventually(lambda: namespace.find("Deployment", "web") is None, describe="gone")
    found = check(namespace)
    assert ready(found) == ("False", "TargetNotFound")
    assert is_stalled(found)
    third = registry.publish(REPOSITORY, TAG)

    namespace.create(web(registry))
    check(namespace)

    wait_recorded(namespace, third)
    assert rollouts(namespace) == [None]
    told(namespace, "TargetNotFound", 1)


def test_a_target_that_is_created_again_with_its_annotations_goes_on_from_them(
    namespace: Namespace, registry: Registry, first: str, second: str
) -> None:
    """B22: as a backup does, perhaps an older one."""
    annotations = ours(namespace.deployment("web"))
    annotations[record_annotation(GROUP, "web")] = first
    annotations[state_annotation("web")] = f'{{"serial":1,"asked":"{first}"}}'
    namespace.delete("Deployment", "web")
    manifest = web(registry)
    manifest["metadata"]["annotations"] = annotations
    eventually(lambda: namespace.find("Deployment", "web") is None, describe="gone")
    deploy(namespace, manifest)

    check(namespace)

    wait_asked(namespace, second)
    wait_recorded(namespace, second)
    assert rollouts(namespace) == [None, second]


def test_a_target_that_appears_later_is_picked_up(namespace: Namespace, registry: Registry) -> None:
    """B25."""
    digest = registry.publish(REPOSITORY, TAG)
    namespace.create(web_policy(web_restart(registry), interval="10s"))
    wait_ready(namespace, status="False", reason="TargetNotFound")

    namespace.create(web(registry))

    wait_recorded(namespace, digest)


def test_a_target_that_is_being_deleted_is_left_alone(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B25."""
    namespace.patch("Deployment", "web", {"metadata": {"finalizers": [KEEP]}})
    namespace.delete("Deployment", "web")
    before = namespace.deployment("web")
    registry.publish(REPOSITORY, TAG)

    found = check(namespace)

    assert ready(found) == ("False", "TargetDeleting")
    assert "being deleted" in message(found)
    assert ours(namespace.deployment("web")) == ours(before)
    namespace.patch("Deployment", "web", {"metadata": {"finalizers": None}})


# What another tool recorded before.


def test_a_target_of_another_tool_is_taken_over_without_a_restart(
    namespace: Namespace, registry: Registry
) -> None:
    """B22: its record is under a prefix of its own, and is kept up to date there."""
    first = registry.publish(REPOSITORY, TAG)
    manifest = web(registry)
    manifest["metadata"]["annotations"] = {record_annotation(FOREIGN_PREFIX, "web"): first}
    namespace.create(manifest)
    namespace.create(web_policy(web_restart(registry), annotationPrefix=FOREIGN_PREFIX))
    wait_recorded(namespace, first)
    assert rollouts(namespace) == [None]

    second = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, second)
    assert record(namespace.deployment("web"), prefix=FOREIGN_PREFIX) == second
    assert record(namespace.deployment("web")) is None
    assert rollouts(namespace) == [None, second]


def test_a_move_since_the_record_of_another_tool_is_acted_on(
    namespace: Namespace, registry: Registry
) -> None:
    """B22."""
    first = registry.publish(REPOSITORY, TAG)
    second = registry.publish(REPOSITORY, TAG)
    manifest = web(registry)
    manifest["metadata"]["annotations"] = {record_annotation(FOREIGN_PREFIX, "web"): first}
    deploy(namespace, manifest)
    namespace.create(web_policy(web_restart(registry), annotationPrefix=FOREIGN_PREFIX))

    wait_recorded(namespace, second)

    assert rollouts(namespace) == [None, second]
