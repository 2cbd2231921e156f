"""Somebody takes back what was set: set back if it was proven, held if it was not.

B17, B22.
"""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    image,
    is_stalled,
    let_run,
    message,
    move,
    ready,
    record,
    set_value,
    settle,
    told,
    value,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_stuck,
    web_container,
    web_policy,
    web_set_env,
)
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.workloads import container, restart, workload

pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, the variable filled with the digest that this returns."""
    return settle(namespace, registry, web_set_env(registry))


@pytest.fixture
def second(namespace: Namespace, registry: Registry, first: str) -> str:
    """A move from the first digest, recorded."""
    return move(namespace, registry)


# Drift.


def test_a_rollout_that_was_undone_is_set_back(namespace: Namespace, second: str) -> None:
    """B17, B22: undo takes our annotations back as well, so status remembers."""
    namespace.undo("web")
    assert value(namespace) != second

    check(namespace)

    assert value(namespace) == second
    found = wait_ready(namespace)
    assert entry(found)["recorded"] == second
    assert record(namespace.deployment("web")) == second
    told(namespace, "DriftCorrected", 1)


def test_an_edited_variable_is_set_back(namespace: Namespace, first: str, second: str) -> None:
    """B17: one that was emptied, too."""
    for text in (first, ""):
        set_value(namespace, text)
        check(namespace)
        assert value(namespace) == second
        wait_ready(namespace)
    found = check(namespace)
    assert entry(found)["recorded"] == second


def test_drift_is_corrected_while_the_registry_is_down(
    namespace: Namespace, registry: Registry, first: str, second: str
) -> None:
    """B7, B17: what is proven needs no registry."""
    registry.front.fail(503)
    set_value(namespace, first)

    found = check(namespace)

    assert value(namespace) == second
    assert entry(found)["recorded"] == second
    assert entry(wait_ready(namespace))["reason"] == "RegistryUnavailable"


def test_what_is_set_back_three_times_in_an_hour_is_contested(
    namespace: Namespace, first: str, second: str
) -> None:
    """B17: nothing more is written, and the other field manager is named."""
    for _ in range(3):
        set_value(namespace, first)
        check(namespace)
        assert value(namespace) == second
    set_value(namespace, first)

    found = check(namespace)

    assert ready(found) == ("False", "Contested")
    assert is_stalled(found)
    assert "kubectl-set" in message(found)
    check(namespace)
    assert value(namespace) == first
    told(namespace, "DriftCorrected", 3)
    told(namespace, "Contested", 1)


def test_a_move_ends_a_contest(
    namespace: Namespace, registry: Registry, first: str, second: str
) -> None:
    """B17 speaks of the same value."""
    for _ in range(4):
        set_value(namespace, first)
        check(namespace)
    assert ready(namespace.policy("web")) == ("False", "Contested")

    third = registry.publish(REPOSITORY, TAG)
    check(namespace)

    assert value(namespace) == third
    wait_ready(namespace)


# Rejection.


def test_an_unproven_digest_that_somebody_takes_back_is_held(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B17: the person's value stays until the tag moves."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_asked(namespace, second)

    set_value(namespace, first)
    found = check(namespace)

    assert (entry(found)["state"], entry(found)["reason"]) == ("Held", "Rejected")
    assert (entry(found)["failed"], entry(found)["recorded"]) == (second, first)
    assert "kubectl-set" in message(found)
    check(namespace)
    assert value(namespace) == first
    third = registry.publish(REPOSITORY, TAG)
    check(namespace)
    found = wait_recorded(namespace, third)
    assert value(namespace) == third
    assert "failed" not in entry(found)
    told(namespace, "Rejected", 1)


def test_an_unproven_digest_that_is_undone_is_held(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B17, B22: undo takes the state on the target back to the ask before."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    found = check(namespace)
    assert entry(found)["asked"] == second
    wait_stuck(namespace)

    namespace.undo("web")
    found = check(namespace)

    assert (entry(found)["state"], entry(found)["failed"]) == ("Held", second)
    check(namespace)
    assert value(namespace) == first


def test_a_rejected_image_does_not_keep_others_from_being_recorded(
    namespace: Namespace, registry: Registry
) -> None:
    """B17."""
    first = registry.publish(REPOSITORY, TAG)
    registry.publish("example/side", TAG)
    side = container("side", image(registry, "example/side"))
    namespace.create(workload("web", [web_container(registry), side]))
    restarted = restart("side", registry.address, "example/side", TAG)
    namespace.create(web_policy(web_set_env(registry), restarted))
    wait_ready(namespace)
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_asked(namespace, second)
    set_value(namespace, first)
    check(namespace)

    digest = registry.publish("example/side", TAG)
    # The new template still has the stamp of what was rejected, which pods of the test bed shun.
    check(namespace)
    wait_stuck(namespace)
    let_run(namespace)

    found = wait_recorded(namespace, digest, of="side")
    assert (entry(found)["state"], entry(found)["failed"]) == ("Held", second)
    assert value(namespace) == first
