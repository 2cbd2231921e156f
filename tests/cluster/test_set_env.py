"""Action SetEnv: fill, adopt, move, and leave foreign values alone.

B14, B16, B18.
"""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    VARIABLE,
    check,
    deploy,
    entry,
    image,
    is_stalled,
    let_run,
    move,
    ready,
    record,
    rollouts,
    set_value,
    settle,
    value,
    wait_asked,
    wait_recorded,
    wait_stuck,
    web_container,
    web_policy,
    web_set_env,
)
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import container, rolled_out, set_env, workload

pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, the variable filled with the digest that this returns."""
    return settle(namespace, registry, web_set_env(registry))


@pytest.fixture
def second(namespace: Namespace, registry: Registry, first: str) -> str:
    """A move from the first digest, recorded."""
    return move(namespace, registry)


# The first observation.


def test_a_missing_and_an_empty_variable_are_filled_in_one_rollout(
    namespace: Namespace, registry: Registry
) -> None:
    """B18; also a variable of an init container."""
    digest = registry.publish(REPOSITORY, TAG)
    side = registry.publish("example/side", TAG)
    setup = container("setup", image(registry), env={"SIDE": ""})
    deploy(namespace, workload("web", [web_container(registry)], init_containers=[setup]))
    filled = set_env(
        "side", registry.address, "example/side", TAG, container="setup", variable="SIDE"
    )
    namespace.create(web_policy(web_set_env(registry), filled))

    wait_recorded(namespace, digest)

    found = wait_recorded(namespace, side, of="side")
    assert ready(found) == ("True", "UpToDate")
    assert value(namespace) == digest
    [init] = namespace.deployment("web")["spec"]["template"]["spec"]["initContainers"]
    assert init["env"] == [{"name": "SIDE", "value": side}]
    assert rollouts(namespace) == [None, digest]
    assert record(namespace.deployment("web")) == digest


def test_a_digest_in_the_variable_is_adopted_untouched(
    namespace: Namespace, registry: Registry
) -> None:
    """B18."""
    digest = registry.publish(REPOSITORY, TAG)
    namespace.create(workload("web", [web_container(registry, DIGEST=digest)]))
    namespace.create(web_policy(web_set_env(registry)))

    found = wait_recorded(namespace, digest)

    assert ready(found) == ("True", "UpToDate")
    assert rollouts(namespace) == [None]


def test_an_older_digest_in_the_variable_is_recorded_before_the_newer_is_asked(
    namespace: Namespace, registry: Registry
) -> None:
    """B14, B18: or what could be gone back to would be lost."""
    older = registry.publish(REPOSITORY, TAG)
    newer = registry.publish(REPOSITORY, TAG, bad=True)
    namespace.create(workload("web", [web_container(registry, DIGEST=older)]))
    eventually(lambda: rolled_out(namespace.deployment("web")), describe="rolled out")
    namespace.create(web_policy(web_set_env(registry)))

    wait_asked(namespace, newer)

    assert record(namespace.deployment("web")) == older
    assert value(namespace) == newer
    assert rollouts(namespace)[0] is None


# Moves.


def test_a_move_sets_the_variable_and_is_recorded_when_healthy(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B16."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    found = check(namespace)
    assert value(namespace) == second
    assert (entry(found)["asked"], entry(found)["recorded"]) == (second, first)

    let_run(namespace)

    wait_recorded(namespace, second)
    assert record(namespace.deployment("web")) == second
    assert rollouts(namespace) == [None, first, second]


# Foreign values.


def foreign(registry: Registry) -> Manifest:
    """A Deployment whose variables are nobody's to write, but for one."""
    app = web_container(registry, HAND_MADE="v1.2.3")
    app["env"] += [
        {"name": "FROM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "TWICE", "value": "one"},
        {"name": "TWICE", "value": "two"},
    ]
    return workload("web", [app])


FOREIGN = {
    "hand-made": ("web", "HAND_MADE", "ForeignValue"),
    "from": ("web", "FROM", "ValueFrom"),
    "twice": ("web", "TWICE", "DuplicateVariable"),
    "elsewhere": ("api", "DIGEST", "ContainerNotFound"),
}
"""By name of the image: container, variable, and why it is left alone."""


def test_foreign_values_are_reported_and_left_alone_while_others_continue(
    namespace: Namespace, registry: Registry
) -> None:
    """B18."""
    first = registry.publish(REPOSITORY, TAG)
    images = [
        set_env(name, registry.address, REPOSITORY, TAG, container=app, variable=variable)
        for name, (app, variable, _) in FOREIGN.items()
    ]
    namespace.create(foreign(registry))
    namespace.create(web_policy(*images, web_set_env(registry)))
    before = variables(namespace)
    wait_recorded(namespace, first)
    second = registry.publish(REPOSITORY, TAG)
    check(namespace)

    found = wait_recorded(namespace, second)

    assert ready(found)[0] == "False"
    assert is_stalled(found)
    for name, (_, _, reason) in FOREIGN.items():
        assert (entry(found, name)["state"], entry(found, name)["reason"]) == ("Blocked", reason)
    after = variables(namespace)
    assert [each for each in after if each["name"] != VARIABLE] == before
    assert {"name": VARIABLE, "value": second} in after


def variables(namespace: Namespace) -> list[Manifest]:
    [app] = namespace.deployment("web")["spec"]["template"]["spec"]["containers"]
    found: list[Manifest] = app["env"]
    return found


def test_a_variable_that_becomes_foreign_is_left_alone(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B18: at any time; it is followed again once it is emptied."""
    set_value(namespace, "v1.2.3")
    found = check(namespace)
    assert ready(found) == ("False", "ForeignValue")
    second = registry.publish(REPOSITORY, TAG)
    check(namespace)
    assert value(namespace) == "v1.2.3"

    set_value(namespace, "")
    check(namespace)

    wait_recorded(namespace, second)
    assert value(namespace) == second
