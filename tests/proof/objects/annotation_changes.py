"""Changes of a workload's annotations: ours gone, garbled or forged, and those of others. Pure."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Final

from imagerefresh.api.names import (
    GROUP,
    pin_annotation,
    record_annotation,
    stamp_annotation,
    state_annotation,
)
from proof.objects.workload_changes import OTHER
from proof.objects.workload_edits import Edit, WorkloadChange, annotate
from testbed.api import Manifest

HUGE: Final = "x" * 200_000
"""Leaves little of the 256 KiB that the annotations of an object may have."""
ODD_TEXTS: Final = (
    "",
    " ",
    "null",
    "{",
    "[]",
    '"text"',
    "\x00\x1b[31m\u202e\U0001f600",
    "\ufeff" + OTHER,
    OTHER.upper(),
    OTHER,
    "[" * 10_000,
    HUGE,
)
ODD_VALUES: Final[tuple[object, ...]] = (
    None,
    True,
    -1,
    0,
    1.5,
    2**64,
    "",
    "x",
    OTHER,
    "2026-02-03T12:00:00Z",
    [],
    [None, 1, "x"],
    {},
    {"a": {"b": []}},
)
STATE_MEMBERS: Final = (
    "reference",
    "claim",
    "serial",
    "asked",
    "askedTime",
    "adopted",
    "failed",
    "handledRetryAt",
    "setBackTimes",
    "deadlineSeen",
    "unknown",
)


def annotation_changes() -> Iterator[WorkloadChange]:
    """All of them, in an order that is always the same."""
    yield from _ours()
    yield from _foreign()
    yield from _states()


def _ours() -> Iterator[WorkloadChange]:
    ours = {
        "state": (state_annotation("env"), False),
        "record": (record_annotation(GROUP, "env"), False),
        "record of a restart": (record_annotation(GROUP, "app"), False),
        "stamp": (stamp_annotation("env"), True),
        "stamp of a restart": (stamp_annotation("app"), True),
        "pin": (pin_annotation("app"), True),
    }
    for what, (key, pods) in ours.items():
        removed = annotate(key, None, pods=pods)
        yield WorkloadChange("annotations", f"{what} removed", removed)
        for text in ODD_TEXTS:
            edit, name = annotate(key, text, pods=pods), f"{what} is {cut(text)}"
            yield WorkloadChange("annotations", name, edit, ("Deployment",))
    pin = json.dumps({"digest": OTHER, "images": {"app": "registry.invalid/app:prod", "no": ""}})
    forged = annotate(pin_annotation("app"), pin, pods=True)
    yield WorkloadChange("annotations", "a pin that was never made", forged)


def _foreign() -> Iterator[WorkloadChange]:
    edits: Mapping[str, Edit] = {
        "somebody else's": annotate("example.com/note", "x"),
        "huge, somebody else's": annotate("example.com/note", HUGE),
        "of no image": annotate(state_annotation("nobody"), "{}"),
        "ours, of no kind": annotate(f"{GROUP}/unknown", "x"),
        "all stripped": lambda workload: workload["metadata"].update(annotations={}),
        "a label": lambda workload: workload["metadata"].update(labels={"a": "b"}),
    }
    for name, edit in edits.items():
        yield WorkloadChange("annotations", name, edit)


def _states() -> Iterator[WorkloadChange]:
    """As if a later write of ours had left them."""
    for image, member, value in itertools.product(("app", "env"), STATE_MEMBERS, ODD_VALUES):
        name = f"{image}: {member} is {value!r}"
        yield WorkloadChange("state", name, _state(image, member, value), ("Deployment",))


def _state(image: str, member: str, value: object) -> Edit:
    key = state_annotation(image)

    def edit(workload: Manifest) -> None:
        annotations = workload["metadata"]["annotations"]
        state = json.loads(annotations[key])
        state["serial"] += 5
        annotations[key] = json.dumps(state | {member: value})

    return edit


def cut(text: str) -> str:
    """A text for people, who need not read all of it."""
    return repr(text) if len(text) <= 30 else f"{text[:20]!r}... ({len(text)} characters)"
