"""What deploy/ installs, on a real API server: it comes, works and goes.

A control plane of its own, since the CRD is removed again and again.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from imagerefresh.api.names import GROUP, PLURAL
from imagerefresh.settings import Settings
from testbed.controlplane import CommandError, ControlPlane
from testbed.installation import wait_served
from testbed.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CLUSTER_WIDE = DEPLOY / "overlays" / "cluster-wide"
COMPONENTS = sorted(path.parent for path in DEPLOY.glob("components/*/kustomization.yaml"))
CRD = f"{PLURAL}.{GROUP}"
IN_TIME = "--timeout=120s"  # a namespace takes its time to end: half of its pods' grace period
READS = frozenset({"get", "list", "watch"})
WRITES = frozenset({"create", "update", "patch", "delete"})
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("deploy")) as plane:
        yield plane


@pytest.fixture
def namespace(plane: ControlPlane) -> str:
    """Where the "restricted" Pod Security level is enforced."""
    name = plane.create_namespace("deploy")
    plane.api.patch("v1/namespaces", "", name, {"metadata": {"labels": RESTRICTED}})
    return name


@pytest.fixture
def overlay(plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Path]:
    """deploy/ in a namespace of the test; whatever a test left of it goes afterwards."""
    folder = write_overlay(tmp_path / "overlay", DEPLOY, namespace)
    yield folder
    delete(plane, folder)


def write_overlay(
    folder: Path, base: Path, namespace: str | None = None, *components: Path
) -> Path:
    folder.mkdir()
    overlay: Manifest = {
        "resources": [os.path.relpath(base, folder)],
        "components": [os.path.relpath(component, folder) for component in components],
    }
    if namespace:
        overlay["namespace"] = namespace
    (folder / "kustomization.yaml").write_text(json.dumps(overlay))
    return folder


def delete(plane: ControlPlane, folder: Path) -> None:
    plane.kubectl("delete", "--ignore-not-found", IN_TIME, "-k", str(folder))


def render(plane: ControlPlane, folder: Path) -> list[Manifest]:
    return list(yaml.safe_load_all(plane.kubectl("kustomize", str(folder))))


def only(manifests: list[Manifest], kind: str, name: str = "imagerefresh") -> Manifest:
    [found] = [
        manifest
        for manifest in manifests
        if manifest["kind"] == kind and manifest["metadata"]["name"] == name
    ]
    return found


def environment(deployment: Manifest) -> dict[str, str]:
    """The container's environment as the kubelet would fill it in."""
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return {
        entry["name"]: entry["value"] if "value" in entry else deployment["metadata"]["namespace"]
        for entry in container["env"]
    }


def policy(namespace: str) -> Manifest:
    image = {"name": "web", "registry": "r.example", "repository": "team/web", "tag": "prod"}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ImageRefreshPolicy",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "targetRef": {"kind": "Deployment", "name": "web"},
            "images": [image | {"action": {"type": "Restart"}}],
        },
    }


def wait_available(plane: ControlPlane, namespace: str) -> None:
    plane.kubectl(
        "wait", IN_TIME, "-n", namespace, "--for=condition=Available", "deployment/imagerefresh"
    )


def may(
    plane: ControlPlane, user: str, namespace: str, verb: str, resource: str, name: str = ""
) -> bool:
    """What `kubectl auth can-i` asks: `resource` is resource[.group][/subresource]."""
    path, _, subresource = resource.partition("/")
    plural, _, group = path.partition(".")
    attributes = {"namespace": namespace, "verb": verb, "group": group, "resource": plural}
    attributes |= {"subresource": subresource, "name": name}
    review = {"metadata": {}, "spec": {"user": user, "resourceAttributes": attributes}}
    answer = plane.api.create("authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


def wait_may(plane: ControlPlane, *asked: str) -> None:
    """The API server takes a moment to know of new rights."""
    wait_until(lambda: may(plane, *asked), timeout=30)


def operator_user(namespace: str) -> str:
    return f"system:serviceaccount:{namespace}:imagerefresh"


def test_deploys_under_restricted_pod_security(
    plane: ControlPlane, namespace: str, overlay: Path
) -> None:
    """B28, and that the level is enforced in this namespace at all."""
    plane.kubectl("apply", "-k", str(overlay))
    wait_available(plane, namespace)
    with pytest.raises(CommandError, match="violates PodSecurity"):
        plane.kubectl("run", "careless", "-n", namespace, "--image=r.example/careless")


def test_applying_again_changes_nothing(plane: ControlPlane, overlay: Path) -> None:
    plane.kubectl("apply", "-k", str(overlay))
    again = plane.kubectl("apply", "-k", str(overlay)).splitlines()
    assert again
    assert [line for line in again if not line.endswith(" unchanged")] == []


def test_watches_the_namespace_it_is_in(plane: ControlPlane, namespace: str, overlay: Path) -> None:
    deployment = only(render(plane, overlay), "Deployment")
    assert Settings.from_environment(environment(deployment)).namespaces == (namespace,)


def test_deleting_everything_ends_with_policies_there(
    plane: ControlPlane, namespace: str, overlay: Path
) -> None:
    """B24: nobody is there to remove a finalizer, and nobody has to."""
    plane.kubectl("apply", "-k", str(overlay))
    wait_served(plane)
    plane.apply(policy(namespace))
    delete(plane, overlay)
    assert plane.api.find("apiextensions.k8s.io/v1/customresourcedefinitions", "", CRD) is None
    assert plane.api.find("apps/v1/deployments", namespace, "imagerefresh") is None


@pytest.mark.parametrize(
    "first",
    [("crd", CRD), ("deployment", "imagerefresh"), (PLURAL, "web"), ("role", "imagerefresh")],
    ids=lambda first: first[0],
)
def test_deleting_ends_in_any_order(
    plane: ControlPlane, namespace: str, overlay: Path, first: tuple[str, str]
) -> None:
    """B24."""
    plane.kubectl("apply", "-k", str(overlay))
    wait_served(plane)
    plane.apply(policy(namespace))
    plane.kubectl("delete", IN_TIME, "-n", namespace, *first)
    delete(plane, overlay)
    delete(plane, overlay)


def test_deleting_the_namespace_ends_with_policies_there(
    plane: ControlPlane, namespace: str, overlay: Path
) -> None:
    """B24."""
    plane.kubectl("apply", "-k", str(overlay))
    wait_served(plane)
    plane.apply(policy(namespace))
    plane.kubectl("delete", IN_TIME, "namespace", namespace)


def test_applying_completes_what_is_there_in_part(
    plane: ControlPlane, namespace: str, overlay: Path
) -> None:
    plane.kubectl("apply", "-k", str(overlay))
    plane.kubectl("delete", IN_TIME, "-n", namespace, "crd/" + CRD, "role/imagerefresh")
    plane.kubectl("apply", "-k", str(overlay))
    wait_served(plane)
    wait_available(plane, namespace)
    assert may(plane, operator_user(namespace), namespace, "list", CRD)


def test_cluster_wide_overlay_comes_and_goes(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """It watches all namespaces, with the same rights as in one."""
    manifests = render(plane, CLUSTER_WIDE)
    system = only(manifests, "Namespace", "imagerefresh-system")["metadata"]["name"]
    deployment = only(manifests, "Deployment")
    confined = render(plane, write_overlay(tmp_path / "confined", DEPLOY, namespace))
    assert only(manifests, "ClusterRole")["rules"] == only(confined, "Role")["rules"]
    assert Settings.from_environment(environment(deployment)).namespaces == ()
    try:
        plane.kubectl("apply", "-k", str(CLUSTER_WIDE))
        wait_available(plane, system)
        assert may(plane, operator_user(system), namespace, "patch", "deployments.apps")
    finally:
        delete(plane, CLUSTER_WIDE)
    assert plane.api.find("v1/namespaces", "", system) is None


def test_operator_reads_no_secret_and_no_pod(
    plane: ControlPlane, namespace: str, overlay: Path
) -> None:
    """B28: least privilege."""
    plane.kubectl("apply", "-k", str(overlay))
    operator = operator_user(namespace)
    wait_may(plane, operator, namespace, "get", "deployments.apps")
    assert not may(plane, operator, namespace, "get", "secrets", "regcred")
    assert not may(plane, operator, namespace, "get", "serviceaccounts")
    assert not may(plane, operator, namespace, "list", "pods")
    assert not may(plane, operator, "default", "get", "deployments.apps")


@pytest.mark.parametrize("base", [DEPLOY, CLUSTER_WIDE], ids=lambda base: base.name)
def test_components_grant_what_they_say(plane: ControlPlane, tmp_path: Path, base: Path) -> None:
    """B28: the optional rights, on top of either installation."""
    folder = write_overlay(tmp_path / "generous", base, None, *COMPONENTS)
    try:
        plane.kubectl("apply", "-k", str(folder))
        namespace: str = only(render(plane, folder), "Deployment")["metadata"]["namespace"]
        operator = operator_user(namespace)
        wait_may(plane, operator, namespace, "get", "secrets", "regcred")
        assert not may(plane, operator, namespace, "get", "secrets", "another")
        assert not may(plane, operator, namespace, "list", "secrets")
        wait_may(plane, operator, namespace, "get", "serviceaccounts")
        wait_may(plane, operator, namespace, "list", "pods")
    finally:
        delete(plane, folder)


@pytest.mark.parametrize(
    ("role", "verbs"), [("view", READS), ("edit", READS | WRITES), ("admin", READS | WRITES)]
)
def test_roles_for_people(
    plane: ControlPlane, namespace: str, overlay: Path, role: str, verbs: frozenset[str]
) -> None:
    """Whoever may view or edit the workloads of a namespace may view or edit its policies."""
    plane.kubectl("apply", "-k", str(overlay))
    wait_served(plane)
    plane.kubectl(
        "create", "rolebinding", role, f"--clusterrole={role}", "--user=jo", "-n", namespace
    )

    def granted() -> set[str]:
        return {verb for verb in READS | WRITES if may(plane, "jo", namespace, verb, CRD)}

    # A controller adds the rights to these roles.
    wait_until(lambda: granted() == verbs, timeout=60)
    assert not may(plane, "jo", namespace, "patch", f"{CRD}/status")
    assert not may(plane, "jo", "default", "get", CRD)
