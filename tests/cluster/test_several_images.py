"""Several images of one target: one rollout for what moves together, none for what is pinned.

B2, B6, B13.
"""

import time

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    image,
    ours,
    ready,
    stamp,
    wait_ready,
    wait_recorded,
    web,
    web_container,
    web_policy,
    web_restart,
)
from imagerefresh.api.policy import parse_spec
from imagerefresh.plan.due import Looks, next_check
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import container, restart, workload

pytestmark = pytest.mark.usefixtures("operator")


def two_images(registry: Registry, other: Registry) -> list[Manifest]:
    return [web_restart(registry), restart("side", other.address, "example/side", TAG)]


def two_containers(registry: Registry, other: Registry) -> Manifest:
    side = container("side", image(other, "example/side"))
    return workload("web", [web_container(registry), side])


def test_two_moved_images_are_one_rollout(
    namespace: Namespace,
    registry: Registry,
    second_registry: Registry,
) -> None:
    """B6, B13: when the turn of one comes, the other is looked at, too."""
    registry.publish(REPOSITORY, TAG)
    second_registry.publish("example/side", TAG)
    namespace.create(two_containers(registry, second_registry))
    manifest = web_policy(*two_images(registry, second_registry), interval="10s")
    namespace.create(manifest)
    wait_ready(namespace)
    web_digest = registry.publish(REPOSITORY, "next")
    side_digest = second_registry.publish("example/side", "next")

    spec = parse_spec(manifest["spec"])
    eventually(
        lambda: (next_check(spec, Looks(), time.time()) or 0) - time.time() > 4,
        describe="no turn is near",
    )
    registry.retag(REPOSITORY, TAG, web_digest)
    second_registry.retag("example/side", TAG, side_digest)

    wait_recorded(namespace, web_digest)
    wait_recorded(namespace, side_digest, of="side")
    sets = namespace.replica_sets("web")
    assert [(stamp(each), stamp(each, "side")) for each in sets] == [
        (None, None),
        (web_digest, side_digest),
    ]


def test_an_image_that_cannot_be_resolved_does_not_hold_up_the_other(
    namespace: Namespace,
    registry: Registry,
    second_registry: Registry,
) -> None:
    """B6, B7."""
    registry.publish(REPOSITORY, TAG)
    second_registry.publish("example/side", TAG)
    namespace.create(two_containers(registry, second_registry))
    namespace.create(web_policy(*two_images(registry, second_registry)))
    wait_ready(namespace)

    second_registry.front.fail(503)
    digest = registry.publish(REPOSITORY, TAG)
    check(namespace)

    found = wait_recorded(namespace, digest)
    assert entry(found, "side")["reason"] == "RegistryUnavailable"
    assert ready(found)[0] == "True"


def test_a_pinned_image_is_untouched_and_never_requested(
    namespace: Namespace,
    registry: Registry,
    second_registry: Registry,
) -> None:
    """B2."""
    registry.publish(REPOSITORY, TAG)
    second_registry.publish("example/side", TAG)
    namespace.create(two_containers(registry, second_registry))
    images = two_images(registry, second_registry)
    namespace.create(web_policy(images[0], images[1] | {"pinned": True}))
    wait_ready(namespace)

    digest = registry.publish(REPOSITORY, TAG)
    second_registry.publish("example/side", TAG)
    check(namespace)

    found = wait_recorded(namespace, digest)
    assert ready(found) == ("True", "UpToDate")
    assert (entry(found, "side")["state"], entry(found, "side")["reason"]) == ("Pinned", "Pinned")
    deployment = namespace.deployment("web")
    assert [key for key in ours(deployment) if "side" in key] == []
    assert second_registry.front.requests() == []


def test_a_policy_with_only_pinned_images_is_inert_and_ready(
    namespace: Namespace, registry: Registry
) -> None:
    """B2: no registry request, and no request about its target."""
    registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    namespace.create(web_policy(web_restart(registry, pinned=True)))
    wait_ready(namespace, reason="Pinned")

    registry.publish(REPOSITORY, TAG)
    check(namespace)

    asked = namespace.control_plane.audit.requests  # only the operator's requests are audited
    seen = eventually(
        lambda: [each for each in asked() if each.namespace == namespace.name],
        describe="the requests about this namespace",
    )
    assert [each for each in seen if each.group == "apps"] == []
    assert registry.front.requests() == []
    assert ours(namespace.deployment("web")) == {}
