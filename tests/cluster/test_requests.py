"""What a person asks of a policy: a look now, a changed spec, suspend and resume.

B4.
"""

import pytest

from cluster.story import (
    RARELY,
    REPOSITORY,
    TAG,
    check,
    entry,
    let_run,
    ours,
    ready,
    request,
    retry,
    rollouts,
    settle,
    wait_asked,
    wait_ready,
    wait_recorded,
    web,
    web_policy,
    web_restart,
)
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import policy, restart

pytestmark = pytest.mark.usefixtures("operator")


SOON = 25.0
"""Seconds from a request to the look that it asks for; nothing else lets a policy look before half
a minute has passed.
"""


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, settled on the digest that this returns, and quiet."""
    return settle(namespace, registry)


def test_a_request_starts_a_look_at_once(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B4: each new value does, and once."""
    for _ in range(3):
        registry.front.forget()
        request(namespace)
        eventually(registry.front.requests, timeout=SOON, describe="a look at the registry")
        assert len(registry.front.requests()) == 1
    found = check(namespace)
    assert len(registry.front.requests()) == 2
    assert ready(found) == ("True", "UpToDate")


def test_a_retry_with_nothing_held_is_a_look(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B4: handled by the write of status, without a rollout."""
    registry.front.forget()
    before = ours(namespace.deployment("web"))

    retry(namespace)

    assert len(registry.front.requests("HEAD")) == 1
    assert ours(namespace.deployment("web")) == before
    assert rollouts(namespace) == [None]


def test_a_changed_spec_starts_a_run_at_once(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B4, B1: another tag is a move."""
    digest = registry.publish(REPOSITORY, "next")
    images = [web_restart(registry) | {"tag": "next"}]
    action = {"type": "Restart", "restart": {"containers": ["web"]}}

    namespace.patch(
        "ImageRefreshPolicy", "web", {"spec": {"images": [images[0] | {"action": action}]}}
    )

    found = wait_recorded(namespace, digest)
    assert found["status"]["observedGeneration"] == 2
    assert rollouts(namespace) == [None, digest]


def test_a_suspended_policy_handles_requests_without_effect(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B4: status keeps what was known, and resuming runs at once."""
    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"suspend": True}})
    wait_ready(namespace, reason="Suspended")
    second = registry.publish(REPOSITORY, TAG)
    registry.front.forget()
    before = namespace.deployment("web")["metadata"]

    check(namespace)
    found = retry(namespace)

    assert ready(found) == ("True", "Suspended")
    assert (entry(found)["latest"], entry(found)["recorded"]) == (first, first)
    assert registry.front.requests() == []
    after = namespace.deployment("web")["metadata"]
    assert (after["annotations"], after["generation"]) == (
        before["annotations"],
        before["generation"],
    )
    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"suspend": False}})
    wait_recorded(namespace, second)


def test_suspending_in_the_middle_of_a_rollout_stops_recording(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B4: it is recorded after resuming."""
    second = registry.publish(REPOSITORY, TAG, bad=True)
    request(namespace)
    wait_asked(namespace, second)
    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"suspend": True}})
    wait_ready(namespace, status="Unknown", reason="Suspended")

    let_run(namespace)
    namespace.kubectl("rollout", "status", "deployment/web")
    found = check(namespace)

    assert entry(found)["recorded"] == first
    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"suspend": False}})
    found = wait_recorded(namespace, second)
    assert rollouts(namespace) == [None, second]


def test_a_pinned_policy_handles_requests_without_effect(
    namespace: Namespace, registry: Registry
) -> None:
    """B2, B4."""
    registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    namespace.create(web_policy(web_restart(registry, pinned=True)))
    wait_ready(namespace, reason="Pinned")

    check(namespace)
    found = retry(namespace)

    assert ready(found) == ("True", "Pinned")
    assert registry.front.requests() == []
    assert ours(namespace.deployment("web")) == {}


def test_a_request_of_one_policy_is_no_look_of_another(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B4, B5."""
    registry.publish("example/other", TAG)
    other = restart("other", registry.address, "example/other", TAG)
    namespace.create(policy("other", "elsewhere", [other], interval=RARELY))
    wait_ready(namespace, "other", status="False")
    registry.front.forget()

    check(namespace)

    assert [each.method for each in registry.front.requests()] == ["HEAD"]
    assert registry.front.requests(path="example/other") == []
