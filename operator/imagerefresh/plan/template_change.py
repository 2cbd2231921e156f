"""The changes that make a target's pod template carry another digest for an image.

Changes are strategic merge patches of the template, in which containers and variables are merged by
name. What a template carries is read in `template`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from imagerefresh.api.names import pin_annotation, stamp_annotation
from imagerefresh.api.policy import Action, Image, RestartAction, SetEnvAction, SetImageAction
from imagerefresh.plan.template import (
    CONTAINER_LISTS,
    Pin,
    Stamp,
    containers_of,
    is_pinned_by,
    read,
    read_pin,
)
from imagerefresh.reference import parse


def set_digest(image: Image, target: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    """The change that brings the target to the stamped digest: its field, and the stamp itself
    (B13).
    """
    change = _annotated({stamp_annotation(image.name): str(stamp)})
    match image.action:
        case Action(restart=RestartAction()):
            return _merged(change, unpin(image, target))
        case Action(set_env=SetEnvAction(container=container, variable=variable)):
            entry = {"name": variable, "value": stamp.digest}
            return _merged(change, _container_change(target, container, {"env": [entry]}))
        case Action(set_image=SetImageAction(container=container)):
            text = str(image.reference.with_digest(stamp.digest))
            return _merged(change, _container_change(target, container, {"image": text}))
        case _:
            raise AssertionError("an action has the member that its type names")


def pin(image: Image, target: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    """The change that pins a Restart image's containers to the stamped digest.

    What was there before is noted beside it, so that `unpin` can put it back after any crash (B21).
    """
    carried, ours = read(image, target), read_pin(image, target)
    containers = containers_of(target)
    before = dict(ours.images) if ours and carried.is_pinned else {}
    images: dict[str, str] = {
        name: before.get(name) or containers[name]["image"] for name in carried.containers
    }
    notes = {
        stamp_annotation(image.name): str(stamp),
        pin_annotation(image.name): str(Pin(stamp.digest, images)),
    }
    return merge_patches(
        [
            _annotated(notes),
            *(
                _container_change(
                    target, name, {"image": str(parse(text).with_digest(stamp.digest))}
                )
                for name, text in images.items()
            ),
        ]
    )


def unpin(image: Image, target: Mapping[str, Any]) -> dict[str, Any]:
    """The change that takes our own pin away and puts the image texts back; empty without one."""
    ours = read_pin(image, target)
    if ours is None:
        return {}
    containers = containers_of(target)
    return merge_patches(
        [
            _annotated({pin_annotation(image.name): None}),
            *(
                _container_change(target, name, {"image": text})
                for name, text in ours.images.items()
                if name in containers
                and is_pinned_by(containers[name].get("image", ""), text, ours.digest)
            ),
        ]
    )


def merge_patches(patches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One patch out of several."""
    merged: dict[str, Any] = {}
    for patch in patches:
        merged = _merged(merged, patch)
    return merged


def _annotated(annotations: Mapping[str, str | None]) -> dict[str, Any]:
    return {"metadata": {"annotations": dict(annotations)}}


def _container_change(
    target: Mapping[str, Any], name: str, change: Mapping[str, Any]
) -> dict[str, Any]:
    spec = target["spec"]["template"]["spec"]
    part = next(
        part
        for part in CONTAINER_LISTS
        if any(each["name"] == name for each in spec.get(part) or [])
    )
    return {"spec": {part: [{"name": name, **change}]}}


def _merged(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Two strategic merge patches in one: objects are merged by key, lists of named objects by
    name.
    """
    merged = dict(left)
    for key, value in right.items():
        present = merged.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            merged[key] = _merged(present, value)
        elif isinstance(present, list) and isinstance(value, list):
            by_name = {entry["name"]: entry for entry in present}
            for entry in value:
                by_name[entry["name"]] = _merged(by_name.get(entry["name"], {}), entry)
            merged[key] = list(by_name.values())
        else:
            merged[key] = value
    return merged
