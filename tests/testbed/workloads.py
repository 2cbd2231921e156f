"""Objects for tests to create, as plain JSON. Pure."""

from collections.abc import Mapping, Sequence

from testbed.api import Manifest

RESOURCES = {
    "ConfigMap": "v1/configmaps",
    "ControllerRevision": "apps/v1/controllerrevisions",
    "DaemonSet": "apps/v1/daemonsets",
    "Deployment": "apps/v1/deployments",
    "Event": "events.k8s.io/v1/events",
    "ImageRefreshPolicy": "imagerefresh.dev/v1alpha1/imagerefreshpolicies",
    "Pod": "v1/pods",
    "ReplicaSet": "apps/v1/replicasets",
    "Secret": "v1/secrets",
    "ServiceAccount": "v1/serviceaccounts",
    "StatefulSet": "apps/v1/statefulsets",
}
"""The API's name of each kind that tests use."""


def container(
    name: str,
    image: str,
    *,
    env: Mapping[str, str] | None = None,
    pull_policy: str = "Always",
) -> Manifest:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": pull_policy,
        "env": [{"name": key, "value": value} for key, value in (env or {}).items()],
    }


def workload(
    name: str,
    containers: Sequence[Manifest],
    *,
    kind: str = "Deployment",
    replicas: int = 1,
    progress_deadline_seconds: int | None = None,
    min_ready_seconds: int = 0,
    annotations: Mapping[str, str] | None = None,
    pod_annotations: Mapping[str, str] | None = None,
    init_containers: Sequence[Manifest] = (),
) -> Manifest:
    """A Deployment, StatefulSet or DaemonSet whose pods the simulated kubelet can run.

    `progress_deadline_seconds` is for Deployments only; a DaemonSet has no replicas.
    """
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels, "annotations": dict(pod_annotations or {})},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "initContainers": list(init_containers),
            "containers": list(containers),
        },
    }
    spec: Manifest = {
        "selector": {"matchLabels": labels},
        "template": template,
        "minReadySeconds": min_ready_seconds,
    }
    if kind != "DaemonSet":
        spec["replicas"] = replicas
    if kind == "StatefulSet":
        spec["serviceName"] = name
    if progress_deadline_seconds is not None:
        spec["progressDeadlineSeconds"] = progress_deadline_seconds
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": spec,
    }


def policy(
    name: str, target: str, images: Sequence[Manifest], *, kind: str = "Deployment", **spec: object
) -> Manifest:
    """An ImageRefreshPolicy; `spec` holds further fields under their JSON names."""
    return {
        "apiVersion": "imagerefresh.dev/v1alpha1",
        "kind": "ImageRefreshPolicy",
        "metadata": {"name": name},
        "spec": {"targetRef": {"kind": kind, "name": target}, "images": list(images), **spec},
    }


def restart(name: str, registry: str, repository: str, tag: str, **more: object) -> Manifest:
    """An image of a policy, with action Restart; `more` holds further fields of the image."""
    return _image(name, registry, repository, tag, {"type": "Restart"}, more)


def set_env(
    name: str,
    registry: str,
    repository: str,
    tag: str,
    *,
    container: str,
    variable: str,
    **more: object,
) -> Manifest:
    """As restart, with action SetEnv."""
    action = {"type": "SetEnv", "setEnv": {"container": container, "variable": variable}}
    return _image(name, registry, repository, tag, action, more)


def set_image(
    name: str,
    registry: str,
    repository: str,
    tag: str,
    *,
    container: str,
    **more: object,
) -> Manifest:
    """As restart, with action SetImage."""
    action = {"type": "SetImage", "setImage": {"container": container}}
    return _image(name, registry, repository, tag, action, more)


def _image(
    name: str,
    registry: str,
    repository: str,
    tag: str,
    action: Manifest,
    more: Mapping[str, object],
) -> Manifest:
    return {
        "name": name,
        "registry": registry,
        "repository": repository,
        "tag": tag,
        "action": action,
        **more,
    }


def condition(resource: Manifest, kind: str) -> Manifest | None:
    """The condition of this type in an object's status; None if there is none."""
    found: Sequence[Manifest] = resource.get("status", {}).get("conditions", [])
    return next((item for item in found if item["type"] == kind), None)


def is_observed(workload: Manifest) -> bool:
    """Whether its controller has seen the latest change."""
    seen: int = workload.get("status", {}).get("observedGeneration", 0)
    return bool(seen >= workload["metadata"]["generation"])


def rolled_out(workload: Manifest) -> bool:
    """What `kubectl rollout status` calls successfully rolled out."""
    status = workload.get("status", {})
    wanted = workload["spec"].get("replicas", 1)
    counts = "updatedReplicas", "replicas", "availableReplicas"
    if workload["kind"] == "DaemonSet":
        wanted = status.get("desiredNumberScheduled", 0)
        counts = "updatedNumberScheduled", "currentNumberScheduled", "numberAvailable"
    return is_observed(workload) and all(status.get(count, 0) == wanted for count in counts)


def environment(resource: Manifest, container: str) -> dict[str, str]:
    """The plain variables of a container in a workload's pod template."""
    containers = resource["spec"]["template"]["spec"]["containers"]
    found = next(item for item in containers if item["name"] == container)
    return {item["name"]: item.get("value", "") for item in found.get("env", [])}
