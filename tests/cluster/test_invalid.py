"""Policies that were stored before a rule which they break: each is Stalled, alone.

B3.
"""

import pytest

from cluster.conftest import StartOperator
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    events,
    is_stalled,
    message,
    ours,
    ready,
    rollouts,
    told,
    wait_ready,
    wait_recorded,
    web,
    web_policy,
    web_restart,
)
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.ruleless import no_rules
from testbed.waiting import eventually


def named(name: str, manifest: Manifest) -> Manifest:
    return manifest | {"metadata": {"name": name}}


@pytest.fixture
def broken(namespace: Namespace, registry: Registry) -> dict[str, str]:
    """Stored policies that break a rule, by name, with the field that their message names."""
    image = web_restart(registry)
    specs = {
        "latest": (web_policy(image | {"tag": "latest"}), "spec.images[0].tag"),
        "quick": (web_policy(image, interval="1s"), "spec.interval"),
        "empty": (web_policy(), "spec.images"),
        "twice": (web_policy(image, image), "spec.images"),
        "two": (web_policy(image, schedule="* * * * *"), "spec"),
        "lost": (web_policy(image, targetRef=None), "spec.targetRef"),
    }
    with no_rules(namespace):
        for name, (manifest, _) in specs.items():
            namespace.create(named(name, manifest))
    return {name: field for name, (_, field) in specs.items()}


def test_a_stored_bad_policy_is_stalled_alone(
    namespace: Namespace, registry: Registry, start_operator: StartOperator, broken: dict[str, str]
) -> None:
    """B3: its message says what is wrong, the others go on, and a repaired one runs."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    start_operator()
    for name, field in broken.items():
        found = wait_ready(namespace, name, status="False", reason="InvalidSpec")
        assert is_stalled(found)
        assert field in message(found)
    assert ours(namespace.deployment("web")) == {}
    namespace.create(web_policy(web_restart(registry)))
    wait_recorded(namespace, first)
    second = registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, second)
    for name in broken:
        told(namespace, "InvalidSpec", 1, about=name)

    namespace.delete("ImageRefreshPolicy", "web")
    repaired = [web_restart(registry)]
    namespace.patch("ImageRefreshPolicy", "latest", {"spec": {"images": repaired}})

    found = wait_recorded(namespace, second, "latest")
    assert ready(found) == ("True", "UpToDate")
    assert not is_stalled(found)


def test_a_policy_whose_status_is_refused_is_told_once(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B3, B27: a number for a tag is so bad that the API server takes no status for it."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    number = named("number", web_policy(web_restart(registry) | {"tag": 0.3}))
    with no_rules(namespace):
        namespace.create(number)
    operator = start_operator()
    eventually(lambda: events(namespace, "InvalidSpec", "number"), describe="it is told")

    namespace.create(web_policy(web_restart(registry), interval="10s"))
    wait_recorded(namespace, first)
    before = len(registry.front.requests("HEAD"))
    eventually(lambda: len(registry.front.requests("HEAD")) > before, describe="a turn later")

    told(namespace, "InvalidSpec", 1, about="number")
    assert operator.logs().count("InvalidSpec") == 1


def test_requests_to_a_bad_policy_are_handled(
    namespace: Namespace, start_operator: StartOperator, broken: dict[str, str]
) -> None:
    """B3, B4: without effect."""
    start_operator()
    for name in broken:
        assert ready(check(namespace, name)) == ("False", "InvalidSpec")


def test_explicit_nulls_and_unknown_fields_are_as_if_absent(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B3: as a client wrote them before the CRD refused or pruned them."""
    first = registry.publish(REPOSITORY, TAG)
    nulls = {
        "schedule": None,
        "timeZone": None,
        "suspend": None,
        "annotationPrefix": None,
        "imagePullSecrets": None,
        "rollout": None,
        "colour": "blue",
    }
    image = web_restart(registry, pinned=None, colour="blue")
    image["action"]["setEnv"] = None
    namespace.create(web(registry))
    with no_rules(namespace):
        manifest = web_policy(image)
        manifest["spec"] |= nulls
        namespace.create(manifest)
        start_operator()
        wait_recorded(namespace, first)
        assert namespace.policy("web")["spec"]["colour"] == "blue"
    second = registry.publish(REPOSITORY, TAG)
    check(namespace)

    found = wait_recorded(namespace, second)

    assert entry(found)["state"] == "Current"
    assert rollouts(namespace) == [None, second]
