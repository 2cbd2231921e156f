"""Where pods may be listed, what they run is not contradicted by what is recorded.

B12, B15. The simulated nodes leave imageID empty, so the tests write it: pods of a bad digest
can't run before that.
"""

import pytest

from cluster.conftest import StartOperator
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    message,
    ready,
    rollouts,
    told,
    wait_ready,
    wait_recorded,
    wait_stuck,
    web,
    web_policy,
    web_restart,
)
from testbed.audit import service_account_user
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import rolled_out

OTHER = f"sha256:{'0' * 64}"
"""What a stale mirror serves."""


@pytest.fixture
def operator(start_operator: StartOperator) -> OperatorProcess:
    """May list pods."""
    return start_operator(components=("pod-evidence",))


@pytest.fixture
def target(namespace: Namespace, registry: Registry) -> str:
    """Deployment `web`, with its pods running the digest that this returns."""
    digest = registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    eventually(lambda: rolled_out(namespace.deployment("web")), describe="rolled out")
    return digest


def configs(registry: Registry, digest: str) -> list[str]:
    """The digests of the configs of an index's images."""
    index = registry.read_manifest(REPOSITORY, digest)
    parts = [registry.read_manifest(REPOSITORY, each["digest"]) for each in index["manifests"]]
    return [part["config"]["digest"] for part in parts]


def test_what_is_taken_over_is_seen_in_the_pods(
    namespace: Namespace, registry: Registry, operator: OperatorProcess, target: str
) -> None:
    """B12, B15: no assumption; some runtimes name an image by its config."""
    namespace.run_pods("web", image_id=configs(registry, target)[0])
    namespace.create(web_policy(web_restart(registry)))

    found = wait_recorded(namespace, target)

    assert entry(found)["seenInPods"] == target
    assert "assumed" not in entry(found)["message"]
    assert rollouts(namespace) == [None]
    assert entry(check(namespace))["seenInPods"] == target


def test_what_is_taken_over_but_does_not_run_is_asked_once(
    namespace: Namespace, registry: Registry, operator: OperatorProcess, target: str
) -> None:
    """B15: the tag had moved before there was a policy."""
    namespace.run_pods("web", image_id=f"{registry.address}/{REPOSITORY}@{OTHER}")
    namespace.create(web_policy(web_restart(registry)))

    found = wait_recorded(namespace, target)

    assert rollouts(namespace) == [None, target]
    assert "seenInPods" not in entry(found)
    told(namespace, "Asked", 1)


def test_pods_that_run_something_else_are_held_and_prove_it_when_they_turn_to_it(
    namespace: Namespace, registry: Registry, operator: OperatorProcess, target: str
) -> None:
    """B15: a mirror on the nodes. The time of a rollout is half a minute at least."""
    rollback = {"timeout": "10s", "onFailure": "Rollback"}
    namespace.create(web_policy(web_restart(registry), rollout=rollback))
    wait_recorded(namespace, target)
    moved = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)
    namespace.run_pods("web", image_id=OTHER)

    found = wait_ready(namespace, status="Unknown", reason="DigestMismatch")
    assert entry(found)["recorded"] == target
    found = wait_ready(namespace, status="False", reason="DigestMismatch", timeout=60)

    assert (entry(found)["state"], entry(found)["failed"]) == ("Held", moved)
    assert "mirror" in message(found)
    assert rollouts(namespace) == [None, moved]
    told(namespace, "DigestMismatch", 1)
    namespace.run_pods("web", image_id=moved)
    check(namespace)
    found = wait_recorded(namespace, moved)
    assert ready(found) == ("True", "UpToDate")
    assert entry(found)["seenInPods"] == moved


def test_pods_are_listed_for_a_proof_only(
    namespace: Namespace, registry: Registry, operator: OperatorProcess, target: str
) -> None:
    """B15, B27."""
    namespace.create(web_policy(web_restart(registry)))
    wait_recorded(namespace, target)
    user = service_account_user(namespace.name, "imagerefresh")

    def lists() -> int:
        asked = namespace.control_plane.audit.requests(user)
        return sum(each.resource == "pods" for each in asked)

    before = lists()
    assert before >= 1

    check(namespace)
    check(namespace)

    assert lists() == before
