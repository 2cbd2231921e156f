"""Two policies on one target: the older one works, the younger says Conflict (B23)."""

import time

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    entry,
    record,
    rollouts,
    wait_ready,
    wait_recorded,
    web_container,
    web_policy,
    web_restart,
)
from imagerefresh.api.timestamps import parse_timestamp
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import restart, workload

pytestmark = pytest.mark.usefixtures("operator")


def test_a_younger_policy_with_the_same_image_name_does_nothing(
    namespace: Namespace, registry: Registry
) -> None:
    """Its annotations would be those of the older one."""
    first = registry.publish(REPOSITORY, TAG)
    registry.publish("example/side", TAG)
    side = web_container(registry) | {
        "name": "side",
        "image": f"{registry.address}/example/side:{TAG}",
    }
    namespace.create(workload("web", [web_container(registry), side]))
    namespace.create(web_policy(web_restart(registry)))
    wait_recorded(namespace, first)
    created = parse_timestamp(namespace.policy("web")["metadata"]["creationTimestamp"])
    assert created is not None
    # Ages are told to the second.
    eventually(lambda: time.time() > created.timestamp() + 1, describe="the next second")

    younger = web_policy(restart("web", registry.address, "example/side", TAG))
    younger["metadata"]["name"] = "younger"
    namespace.create(younger)
    found = wait_ready(namespace, name="younger", status="False", reason="Conflict")

    assert (entry(found)["state"], entry(found).get("recorded")) == ("Blocked", None)
    assert record(namespace.deployment("web")) == first
    assert rollouts(namespace) == [None]
