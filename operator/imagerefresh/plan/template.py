"""What a target's pod template carries for an image, and the change that makes it carry another
digest.

Targets are plain JSON objects of apps/v1. Changes are strategic merge patches of the template, in
which containers and variables are merged by name.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from imagerefresh.api.names import pin_annotation, stamp_annotation
from imagerefresh.api.policy import (
    Action,
    ActionType,
    Image,
    RestartAction,
    SetEnvAction,
    SetImageAction,
)
from imagerefresh.api.reasons import Reason
from imagerefresh.reference import InvalidReference, Reference, is_digest, parse

_SERIAL = re.compile("[0-9]{1,15}", re.ASCII)
MAX_SERIAL = 10**15
"""Far beyond what is ever reached, and far from where numbers end in JSON."""
RESTART = "restart"
"""What a Restart claims."""
CONTAINER_LISTS = ("containers", "initContainers")

Containers: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Containers of a template by name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an image or a policy can't be served, for people: the reason and what to do."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Stamp:
    """Our mark on the pod template: the serial and digest of the last ask."""

    serial: int
    digest: str

    def __str__(self) -> str:
        return f"{self.serial} {self.digest}"


@dataclass(frozen=True, slots=True)
class Carried:
    """What the template holds for one image.

    `digest` is that of the variable or image field, or of our own pin; None where it is empty or
    floating. `problem` says what keeps us from touching it (B11, B18).
    """

    digest: str | None = None
    stamp: Stamp | None = None
    is_pinned: bool = False
    containers: tuple[str, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """Our own pin of a Restart image (B21): the digest, and each container's image text as it was
    before.
    """

    digest: str
    images: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return json.dumps(
            {"digest": self.digest, "images": dict(self.images)},
            separators=(",", ":"),
            sort_keys=True,
        )


def read(image: Image, target: Mapping[str, Any]) -> Carried:
    """What the target's template carries for the image."""
    stamp = _parse_stamp(_annotations(target).get(stamp_annotation(image.name)))
    containers = containers_of(target)
    match image.action:
        case Action(restart=RestartAction() as action):
            carried = _read_restart(image, action, containers, read_pin(image, target))
        case Action(set_env=SetEnvAction() as action):
            carried = _read_variable(action, containers)
        case Action(set_image=SetImageAction() as action):
            carried = _read_image_field(image, action, containers)
        case _:
            raise AssertionError("an action has the member that its type names")
    return replace(carried, stamp=stamp)


def read_pin(image: Image, target: Mapping[str, Any]) -> Pin | None:
    """Our own pin, if the template says that there is one."""
    return _parse_pin(_annotations(target).get(pin_annotation(image.name)))


def claim_of(image: Image) -> str:
    """What the image's action writes on a target (B23)."""
    match image.action:
        case Action(set_env=SetEnvAction(container=container, variable=variable)):
            return f"variable {container}/{variable}"
        case Action(set_image=SetImageAction(container=container)):
            return f"image {container}"
        case _:
            return RESTART


def carries(image: Image, carried: Carried, digest: str | None) -> bool:
    """Whether the template carries the digest: its field has it; for Restart, when floating or
    pinned to it by us.
    """
    if digest is None:
        return False
    if image.action.type is ActionType.RESTART and not carried.is_pinned:
        return True
    return carried.digest == digest


def carries_ask(image: Image, carried: Carried, digest: str | None) -> bool:
    """Whether the template carries a digest that was asked and is not proven yet.

    A floating Restart does so only by its stamp: after a rollout undo the old pods may simply go
    on, which prove nothing about what was asked.
    """
    if image.action.type is ActionType.RESTART and not carried.is_pinned:
        return carried.stamp is not None and carried.stamp.digest == digest
    return carries(image, carried, digest)


def _read_restart(
    image: Image, action: RestartAction, containers: Containers, ours: Pin | None
) -> Carried:
    if missing := [name for name in action.containers if name not in containers]:
        return Carried(problem=_no_container(missing[0], containers))
    pinned = {
        name
        for name, text in (ours.images.items() if ours else ())
        if ours and name in containers and is_pinned_by(_image(containers[name]), text, ours.digest)
    }
    # Of a pinned one counts what it runs without the pin, which may be another tag by now.
    concerned = tuple(action.containers) or tuple(
        name
        for name, container in containers.items()
        if _without_digest(_image(container)) == str(image.reference)
    )
    if not concerned:
        return Carried(
            problem=Problem(
                Reason.NoMatchingContainer,
                f"no container of the target runs {image.reference}: correct the image, or name the"
                " containers in action.restart.containers",
            )
        )
    digest = ours.digest if ours and pinned else None
    for name in concerned:
        if name not in pinned and (problem := _what_makes_a_restart_vain(name, containers, action)):
            return Carried(digest, is_pinned=bool(pinned), containers=concerned, problem=problem)
    return Carried(digest, is_pinned=bool(pinned), containers=concerned)


def _what_makes_a_restart_vain(
    name: str, containers: Containers, action: RestartAction
) -> Problem | None:
    if _parse(_image(containers[name])) is None:
        return Problem(
            Reason.ForeignValue,
            f"the image of container {name} is not an image reference: correct it in the target",
        )
    if "@" in _image(containers[name]):
        return Problem(
            Reason.DigestInImage,
            f"container {name} names its image by digest, so a restart would change nothing: remove"
            " the digest, or use the action SetImage",
        )
    pulls = containers[name].get("imagePullPolicy")
    if pulls != "Always" and not action.assume_always_pulls:
        return Problem(
            Reason.PullPolicyNotAlways,
            f"container {name} has imagePullPolicy {pulls}, so a restart may keep the old image:"
            " set it to Always, or set action.restart.assumeAlwaysPulls if the nodes pull anyway",
        )
    return None


def _read_variable(action: SetEnvAction, containers: Containers) -> Carried:
    if action.container not in containers:
        return Carried(problem=_no_container(action.container, containers))
    where = f"variable {action.variable} of container {action.container}"
    entries = [
        entry
        for entry in containers[action.container].get("env") or []
        if entry.get("name") == action.variable
    ]
    if len(entries) > 1:
        return Carried(
            problem=Problem(
                Reason.DuplicateVariable, f"{where} is listed {len(entries)} times: leave only one"
            )
        )
    entry = entries[0] if entries else {}
    if entry.get("valueFrom"):
        return Carried(
            problem=Problem(
                Reason.ValueFrom,
                f"{where} is set by valueFrom: give it a plain value, or remove it",
            )
        )
    value = entry.get("value") or None
    if value is not None and as_digest(value) is None:
        return Carried(
            problem=Problem(
                Reason.ForeignValue,
                f"{where} holds something that is not a digest: empty it to let the policy fill it,"
                " or name another variable",
            )
        )
    return Carried(value, containers=(action.container,))


def _read_image_field(image: Image, action: SetImageAction, containers: Containers) -> Carried:
    if action.container not in containers:
        return Carried(problem=_no_container(action.container, containers))
    text = _image(containers[action.container])
    present = _parse(text)
    if present is None or present.name != image.reference.name:
        return Carried(
            problem=Problem(
                Reason.ForeignValue,
                f"container {action.container} runs {text}, which is not of"
                f" {image.reference.name}: correct the policy, or set the container's image to that"
                " repository once",
            )
        )
    return Carried(present.digest, containers=(action.container,))


def containers_of(target: Mapping[str, Any]) -> Containers:
    """The containers of the target's template by name, init containers too."""
    spec = target["spec"]["template"].get("spec", {})
    return {
        container["name"]: container
        for part in CONTAINER_LISTS
        for container in spec.get(part) or []
    }


def is_pinned_by(text: str, before: str, digest: str) -> bool:
    """Whether an image text is what our pin made of the one before."""
    present, original = _parse(text), _parse(before)
    return present is not None and original is not None and present == original.with_digest(digest)


def _annotations(target: Mapping[str, Any]) -> Mapping[str, str]:
    return target["spec"]["template"].get("metadata", {}).get("annotations") or {}


def _image(container: Mapping[str, Any]) -> str:
    return container.get("image") or ""


def _no_container(name: str, containers: Containers) -> Problem:
    return Problem(
        Reason.ContainerNotFound,
        f"the target has no container {name}, but {', '.join(containers) or 'none at all'}: correct"
        " the name in the policy or in the target",
    )


def _without_digest(text: str) -> str | None:
    present = _parse(text)
    return str(present.without_digest()) if present else None


def _parse(text: str) -> Reference | None:
    try:
        return parse(text)
    except InvalidReference:
        return None


def as_digest(value: object) -> str | None:
    """The value if it is a digest."""
    return value if isinstance(value, str) and is_digest(value) else None


def _parse_stamp(text: str | None) -> Stamp | None:
    serial, _, digest = (text or "").partition(" ")
    return Stamp(int(serial), digest) if _SERIAL.fullmatch(serial) and is_digest(digest) else None


def _parse_pin(text: str | None) -> Pin | None:
    try:
        document = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or as_digest(document.get("digest")) is None:
        return None
    images = document.get("images")
    if (
        not isinstance(images, dict)
        or not images
        or not all(isinstance(text, str) for text in images.values())
    ):
        return None
    return Pin(document["digest"], images)
