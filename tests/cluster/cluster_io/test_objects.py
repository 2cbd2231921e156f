from copy import deepcopy

import pytest

from cluster.cluster_io.writing import patch_latest
from imagerefresh.cluster import client
from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.errors import Conflict, NotFound
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.workloads import container, environment, workload


async def test_the_crd_is_seen_or_missed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await cluster.policy_is_served()
    monkeypatch.setattr(client, "VERSION", "v0")
    assert not await cluster.policy_is_served()


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
async def test_targets_of_each_kind_are_read_and_patched(
    cluster: Cluster, namespace: Namespace, kind: str
) -> None:
    namespace.create(workload("web", [container("app", "a")], kind=kind, replicas=0))
    found = await cluster.get_target(namespace.name, kind, "web")
    patch = {"metadata": {"annotations": {"a/b": "1"}}}
    patched = await patch_latest(cluster, namespace, patch, kind)
    assert found["kind"] == patched["kind"] == kind
    assert namespace.get(kind, "web")["metadata"]["annotations"]["a/b"] == "1"


@pytest.mark.usefixtures("web")
async def test_a_patch_merges_containers_and_variables_by_name_under_our_field_manager(
    cluster: Cluster, namespace: Namespace
) -> None:
    variable = {"name": "DIGEST", "value": "sha256:1"}
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "app", "env": [variable]}]}}}}
    sent = deepcopy(patch)
    patched = await patch_latest(cluster, namespace, patch)
    assert patch == sent
    assert environment(patched, "app") == {"A": "1", "DIGEST": "sha256:1"}
    assert [c["name"] for c in patched["spec"]["template"]["spec"]["containers"]] == ["app", "side"]
    assert "imagerefresh" in {entry["manager"] for entry in patched["metadata"]["managedFields"]}


async def test_somebody_elses_write_in_between_is_a_conflict(
    cluster: Cluster, namespace: Namespace, web: Manifest
) -> None:
    """B29: a decision is never written over what it did not see."""
    namespace.annotate("Deployment", "web", **{"some/body": "was here"})
    with pytest.raises(Conflict, match="modified"):
        await cluster.patch_target(
            namespace.name,
            "Deployment",
            "web",
            {"spec": {"paused": True}},
            web["metadata"]["resourceVersion"],
        )
    assert "paused" not in namespace.deployment("web")["spec"]


async def test_the_status_becomes_exactly_what_was_written(
    cluster: Cluster, namespace: Namespace, web_policy: Manifest
) -> None:
    """Keys that are gone from the new status don't stay behind; spec and generation do."""
    first = {
        "observedGeneration": 1,
        "lastCheckTime": "2026-01-01T00:00:00Z",
        "images": [{"name": "app", "serial": 1}, {"name": "old", "serial": 1}],
    }
    second = {"observedGeneration": 2, "images": [{"name": "app", "message": "none"}]}
    version = web_policy["metadata"]["resourceVersion"]
    written = await cluster.patch_status(namespace.name, "web", first, version)
    assert written["status"] == first
    written = await cluster.patch_status(
        namespace.name, "web", second, written["metadata"]["resourceVersion"]
    )
    assert written["status"] == second == namespace.policy("web")["status"]
    assert written["spec"] == web_policy["spec"]
    assert written["metadata"]["generation"] == web_policy["metadata"]["generation"]

    again = await cluster.patch_status(namespace.name, "web", second)
    assert again["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        await cluster.patch_status(namespace.name, "web", first, version)


async def test_what_is_not_there_is_not_found(cluster: Cluster, namespace: Namespace) -> None:
    """B24, B25."""
    for call in (
        cluster.get_target(namespace.name, "Deployment", "gone"),
        cluster.patch_target(namespace.name, "Deployment", "gone", {}, "1"),
        cluster.get_policy(namespace.name, "gone"),
        cluster.patch_status(namespace.name, "gone", {}),
    ):
        with pytest.raises(NotFound, match='"gone" not found'):
            await call
