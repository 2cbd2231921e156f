"""StatefulSets and DaemonSets: proven, told, and stuck as their controllers have it (B19)."""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    image,
    is_stalled,
    message,
    record,
    stamp,
    state,
    wait_ready,
    wait_recorded,
    web_policy,
    web_restart,
    web_set_env,
)
from imagerefresh.api.names import stamp_annotation
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import container, workload

pytestmark = pytest.mark.usefixtures("operator")

KINDS = ("StatefulSet", "DaemonSet")
SHORT = {"timeout": "10s"}
"""Time of a rollout; it becomes half a minute, which pods get at least to be ready."""


def settle(
    namespace: Namespace,
    registry: Registry,
    kind: str,
    *,
    replicas: int = 2,
    action: Manifest | None = None,
    **spec: object,
) -> str:
    """A target of the kind and its policy, settled on the digest that this returns."""
    digest = registry.publish(REPOSITORY, TAG)
    target = workload(
        "web",
        [container("web", image(registry), env={"DIGEST": digest})],
        kind=kind,
        replicas=replicas,
    )
    target["spec"] |= spec
    namespace.create(target)
    followed = web_policy(action or web_restart(registry), rollout=SHORT)
    followed["spec"]["targetRef"]["kind"] = kind
    namespace.create(followed)
    wait_recorded(namespace, digest)
    return digest


def stamp_of_pod(namespace: Namespace, name: str) -> str | None:
    """The digest of the stamp on a pod, if it is there."""
    pod = namespace.find("Pod", name)
    text = pod["metadata"].get("annotations", {}).get(stamp_annotation("web")) if pod else None
    return text.split()[1] if text else None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ["Restart", "SetEnv"])
def test_a_move_is_proven(namespace: Namespace, registry: Registry, kind: str, action: str) -> None:
    """B13, B14, B16."""
    followed = web_restart(registry) if action == "Restart" else web_set_env(registry)
    settle(namespace, registry, kind, action=followed)
    digest = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, digest)

    target = namespace.get(kind, "web")
    assert (record(target), stamp(target)) == (digest, digest)
    pods = namespace.pods("web")
    assert pods
    for pod in pods:
        assert stamp_of_pod(namespace, pod["metadata"]["name"]) == digest


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [
        ("StatefulSet", {"type": "OnDelete"}),
        ("StatefulSet", {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
        ("DaemonSet", {"type": "OnDelete"}),
    ],
    ids=["StatefulSet OnDelete", "StatefulSet partition", "DaemonSet OnDelete"],
)
def test_what_a_person_rolls_out_is_told_and_not_proven(
    namespace: Namespace, registry: Registry, kind: str, strategy: Manifest
) -> None:
    """B19: until the strategy lets it be."""
    first = settle(namespace, registry, kind)
    change = [{"op": "replace", "path": "/spec/updateStrategy", "value": strategy}]
    namespace.patch(kind, "web", change, how="json")
    digest = registry.publish(REPOSITORY, TAG)
    check(namespace)

    found = wait_ready(namespace, status="False", reason="UnprovableStrategy")

    assert is_stalled(found)
    assert (entry(found)["asked"], entry(found)["recorded"]) == (digest, first)
    rolling = [
        {"op": "replace", "path": "/spec/updateStrategy", "value": {"type": "RollingUpdate"}}
    ]
    namespace.patch(kind, "web", rolling, how="json")
    check(namespace)
    wait_recorded(namespace, digest)


@pytest.mark.slow
def test_a_stateful_set_that_waits_for_a_broken_pod_is_stalled_and_names_it(
    namespace: Namespace, registry: Registry
) -> None:
    """B19, B21: a failure by the policy's own timeout; the fix alone does not mend it."""
    first = settle(namespace, registry, "StatefulSet", replicas=3)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    found = wait_ready(namespace, status="False", reason="RolloutFailed", timeout=90)
    assert (entry(found)["failed"], entry(found)["recorded"]) == (bad, first)

    fix = registry.publish(REPOSITORY, TAG)
    check(namespace)
    found = wait_ready(namespace, status="False", reason="BrokenPod", timeout=90)

    assert is_stalled(found)
    assert "pod web-2" in message(found)
    assert entry(found)["asked"] == fix
    assert "failed" not in state(namespace.get("StatefulSet", "web"))
    namespace.delete("Pod", "web-2")
    eventually(lambda: stamp_of_pod(namespace, "web-2") == fix, describe="the pod is replaced")
    check(namespace)
    found = wait_recorded(namespace, fix)
    assert "failed" not in entry(found)


def test_a_daemon_set_that_makes_no_progress_has_failed(
    namespace: Namespace, registry: Registry
) -> None:
    """B19: no progress deadline but the policy's; a fix replaces the broken pods."""
    first = settle(namespace, registry, "DaemonSet")
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)

    found = wait_ready(namespace, status="False", reason="RolloutFailed", timeout=90)

    assert (entry(found)["failed"], entry(found)["recorded"]) == (bad, first)
    fix = registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, fix)
    eventually(lambda: len(namespace.pods("web")) == 1, describe="one pod a node")
