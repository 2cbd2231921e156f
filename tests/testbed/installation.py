"""Installs what deploy/ ships, but for the operator's Deployment: its process is run by tests."""

import json
import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from testbed.api import ApiError, Manifest
from testbed.controlplane import ControlPlane
from testbed.waiting import wait_until
from testbed.workloads import RESOURCES

_REPOSITORY = Path(__file__).parents[2]
_DEPLOY = _REPOSITORY / "deploy"
_ANY_NAMESPACE = "namespace-of-the-operator"


def install_cluster_part(control_plane: ControlPlane) -> None:
    """What exists once in a cluster: the CRD, and the roles for people. Waits for it."""
    control_plane.kubectl("apply", "--kustomize", str(_DEPLOY / "cluster"))
    wait_served(control_plane)


def wait_served(control_plane: ControlPlane) -> None:
    """Wait until policies can be stored. `kubectl wait` fails on a CRD without conditions yet."""
    wait_until(lambda: _is_served(control_plane), timeout=60)


def _is_served(control_plane: ControlPlane) -> bool:
    try:
        control_plane.api.items(RESOURCES["ImageRefreshPolicy"])
    except ApiError:
        return False
    return True


def install_operator_part(
    control_plane: ControlPlane,
    namespace: str,
    *,
    kustomization: str = "base",
    components: Iterable[str] = (),
) -> str:
    """The ServiceAccount and its rights, as shipped; returns the name of the ServiceAccount.

    `kustomization` is a folder of deploy/, such as "overlays/cluster-wide", and `components` are
    names of folders of deploy/components.
    """
    objects = [
        item
        for item in _rendered(control_plane, namespace, kustomization, tuple(components))
        if item["kind"] not in {"CustomResourceDefinition", "Deployment", "Namespace"}
    ]
    for item in objects:
        control_plane.api.apply(f"{item['apiVersion']}/{item['kind'].lower()}s", item)
    return next(
        str(item["metadata"]["name"]) for item in objects if item["kind"] == "ServiceAccount"
    )


def _rendered(
    control_plane: ControlPlane, namespace: str, kustomization: str, components: tuple[str, ...]
) -> list[Manifest]:
    text = _text(control_plane, kustomization, components).replace(_ANY_NAMESPACE, namespace)
    return [item for item in yaml.safe_load_all(text) if item]


@cache
def _text(control_plane: ControlPlane, kustomization: str, components: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:

        def relative(path: str) -> str:  # kustomize takes no absolute paths
            return os.path.relpath(_DEPLOY / path, Path(folder).resolve())

        overlay = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": _ANY_NAMESPACE,
            "resources": [relative(kustomization)],
            "components": [relative(f"components/{name}") for name in components],
        }
        (Path(folder) / "kustomization.yaml").write_text(json.dumps(overlay))
        return control_plane.kubectl("kustomize", folder)
