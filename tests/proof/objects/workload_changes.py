"""Changes of a workload's spec, one thing at a time, as people and other tools make them. Pure.

The workload is that of `subject`: containers app (restarted), env (its variable DIGEST is set) and
tool (its image is set).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from proof.objects.workload_edits import (
    Edit,
    WorkloadChange,
    annotate,
    in_container,
    in_containers,
    in_field,
    named,
    put,
)
from testbed.api import Manifest

OTHER: Final = "sha256:" + "0123456789abcdef" * 4
"""A digest that no tag serves."""
_NAMES: Final = ("app", "env", "tool")


def workload_changes() -> Iterator[WorkloadChange]:
    """All of them, in an order that is always the same."""
    yield from _scales()
    yield from _strategies()
    yield from _containers()
    yield from _images()
    yield from _variables()
    yield from _pods()


def _scales() -> Iterator[WorkloadChange]:
    scaled = ("Deployment", "StatefulSet")
    for count in (0, 1, 3):
        yield WorkloadChange("replicas", f"{count} replicas", put("replicas", count), scaled)
    for seconds in (0, 1):
        edit = put("minReadySeconds", seconds)
        yield WorkloadChange("replicas", f"minReadySeconds {seconds}", edit)
    edit = put("paused", value=True)
    yield WorkloadChange("paused", "paused", edit, ("Deployment",))


def _strategies() -> Iterator[WorkloadChange]:
    on_delete = {"type": "OnDelete"}
    strategies: Mapping[str, tuple[str, list[Manifest]]] = {
        "Deployment": ("strategy", [{"type": "Recreate"}, _rolling(maxUnavailable="100%")]),
        "StatefulSet": (
            "updateStrategy",
            [on_delete, _rolling(partition=1), _rolling(partition=0)],
        ),
        "DaemonSet": ("updateStrategy", [on_delete, _rolling(maxSurge=1, maxUnavailable=0)]),
    }
    for kind, (member, values) in strategies.items():
        for value in values:
            edit = put(member, value)
            yield WorkloadChange("strategy", json.dumps(value), edit, (kind,))


def _rolling(**details: object) -> Manifest:
    return {"type": "RollingUpdate", "rollingUpdate": details}


def _containers() -> Iterator[WorkloadChange]:
    for name in _NAMES:
        renamed = in_field(name, "name", "renamed")
        yield WorkloadChange("containers", f"{name} renamed", renamed)
        yield WorkloadChange("containers", f"{name} removed", _without(name))
        yield WorkloadChange("containers", f"{name} doubled", _doubled(name))
    yield WorkloadChange("containers", "in another order", in_containers(list.reverse))
    new = {"name": "new", "image": "registry.invalid/new:1"}
    yield WorkloadChange("containers", "one added", in_containers(lambda them: them.append(new)))

    def move(workload: Manifest) -> None:
        pod = workload["spec"]["template"]["spec"]
        pod["initContainers"] = [pod["containers"].pop(0)]

    yield WorkloadChange("containers", "app made an init container", move)


def _without(name: str) -> Edit:
    return in_containers(lambda them: them.remove(named(them, name)))


def _doubled(name: str) -> Edit:
    return in_containers(lambda them: them.append(named(them, name) | {"name": "twin"}))


def _images() -> Iterator[WorkloadChange]:
    texts: Mapping[str, Callable[[str], str]] = {
        "another tag": lambda text: f"{_repository(text)}:other",
        "no tag": _repository,
        "another digest": lambda text: f"{_repository(text)}:prod@{OTHER}",
        "another repository": lambda _: "registry.invalid/other:prod",
        "no reference": lambda _: "Not:An:Image",
        "in capitals": lambda text: text.upper(),
        "very long": lambda text: f"{_repository(text)}:{'v' * 5000}",
    }
    for name in ("app", "tool"):
        for what, text in texts.items():
            yield WorkloadChange("image", f"{name}: {what}", in_container(name, _imaged(text)))
        for policy in ("IfNotPresent", "Never", "Sometimes", None):
            edit = in_field(name, "imagePullPolicy", policy)
            yield WorkloadChange("pull policy", f"{name}: {policy}", edit)


def _imaged(text: Callable[[str], str]) -> Edit:
    return lambda it: it.update(image=text(it["image"]))


def _repository(image: str) -> str:
    """The image without tag and digest."""
    return image.partition("@")[0].rpartition(":")[0]


def _variables() -> Iterator[WorkloadChange]:
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    environments: Mapping[str, object] = {
        "no env": None,
        "env empty": [],
        "another variable only": [{"name": "OTHER", "value": "x"}],
        "empty": [{"name": "DIGEST", "value": ""}],
        "no value": [{"name": "DIGEST"}],
        "valueFrom": [{"name": "DIGEST", "valueFrom": field}],
        "both": [{"name": "DIGEST", "value": OTHER, "valueFrom": field}],
        "twice": [{"name": "DIGEST", "value": OTHER}, {"name": "DIGEST", "value": OTHER}],
        "in another case": [{"name": "digest", "value": OTHER}],
        **{
            f"value {text[:20]!r}": [{"name": "DIGEST", "value": text}]
            for text in (OTHER, OTHER.upper(), "latest", f"{OTHER}\n", "$(DIGEST)", " ")
        },
    }
    for name, value in environments.items():
        yield WorkloadChange("env", name, in_field("env", "env", value))


def _pods() -> Iterator[WorkloadChange]:
    edits: Mapping[str, Edit] = {
        "label on the pods": put("template.metadata.labels.new", "1"),
        "selector label gone": put("template.metadata.labels.app", None),
        "restarted by kubectl": annotate("kubectl.kubernetes.io/restartedAt", "now", pods=True),
        "pull secret that is missing": put("template.spec.imagePullSecrets", [{"name": "none"}]),
        "pull secret without a name": put("template.spec.imagePullSecrets", [{}]),
        "account that is missing": put("template.spec.serviceAccountName", "none"),
        "no history": put("revisionHistoryLimit", 0),
    }
    for name, edit in edits.items():
        yield WorkloadChange("pods", name, edit)
