"""Small values of the plan's types for the tests; what a test does not name is unremarkable.

The world of these tests is one Deployment with a container for each kind of action: `web` is
restarted, `api` has a variable that takes a digest, `proxy` an image field that does.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from imagerefresh.api.names import pin_annotation, record_annotation, state_annotation
from imagerefresh.api.policy import ActionType, Image, Spec, parse_spec
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.health import Counts, Health, Verdict
from imagerefresh.plan.memory import Memory, state_text
from imagerefresh.plan.template import Pin, Problem, Stamp, read
from imagerefresh.plan.view import ImageView, Mutation, View

Json = Any
"""Any JSON value."""

D1, D2, D3, D4 = (f"sha256:{digit * 64}" for digit in "1234")
NOW = datetime(2026, 2, 3, 12, tzinfo=UTC)
EARLIER = timestamp(NOW - timedelta(minutes=3))
GROUP = "imagerefresh.dev"
REGISTRY = "registry.example.com"
WEB_TEXT = f"{REGISTRY}/example/web:prod"
VARIABLE = "INGESTOR_DIGEST"
UID = "00000000-0000-0000-0000-000000000001"

ACTIONS: Mapping[ActionType, Json] = {
    ActionType.RESTART: {"type": "Restart"},
    ActionType.SET_ENV: {"type": "SetEnv", "setEnv": {"container": "api", "variable": VARIABLE}},
    ActionType.SET_IMAGE: {"type": "SetImage", "setImage": {"container": "proxy"}},
}
NAMES: Mapping[ActionType, str] = {
    ActionType.RESTART: "web",
    ActionType.SET_ENV: "ingestor",
    ActionType.SET_IMAGE: "proxy",
}

HEALTHY = Health(Verdict.HEALTHY, "3 of 3 replicas updated and available", Counts(3, 3, 3, 0))
PROGRESSING = Health(Verdict.PROGRESSING, "1 of 3 replicas updated", Counts(1, 3, 3, 3))
WAITING = Health(
    Verdict.PROGRESSING, "2 of 3 pods ready", Counts(0, 0, 0, 3), broken_pod="pod web-2"
)
IDLE = Health(Verdict.IDLE, "scaled to zero", Counts())
PAUSED = Health(Verdict.PAUSED, "the Deployment is paused: resume it")
UNPROVABLE = Health(Verdict.UNPROVABLE, "update strategy OnDelete")
LATE_TIME = timestamp(NOW - timedelta(seconds=1))
LATE = Health(
    Verdict.DEADLINE_EXCEEDED, "the rollout exceeded its deadline", Counts(1, 3, 3, 3), LATE_TIME
)


def image_json(kind: ActionType, *, name: str = "", **fields: Json) -> dict[str, Json]:
    """A policy's image as stored."""
    name = name or NAMES[kind]
    return {
        "name": name,
        "registry": REGISTRY,
        "repository": f"example/{name}",
        "tag": "prod",
        "action": ACTIONS[kind],
        **fields,
    }


@cache
def _plain_image(kind: ActionType, *, pinned: bool) -> Image:
    return Image.model_validate(image_json(kind, pinned=pinned))


def an_image(kind: ActionType, *, pinned: bool = False, **fields: Json) -> Image:
    """A policy's image."""
    if not fields:
        return _plain_image(kind, pinned=pinned)
    return Image.model_validate(image_json(kind, pinned=pinned, **fields))


def a_spec(*images: Image, **fields: Json) -> Spec:
    """A policy's spec, with one Restart image unless others are given."""
    spec = _spec(json.dumps(fields))
    return spec.model_copy(update={"images": list(images)}) if images else spec


@cache
def _spec(fields: str) -> Spec:
    target = {"kind": "Deployment", "name": "web"}
    images = [image_json(ActionType.RESTART)]
    return parse_spec({"targetRef": target, "images": images, **json.loads(fields)})


def a_target(
    *,
    variable: str | None = None,
    proxy: str = "prod",
    pin: str | None = None,
    stamps: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    status: Json = None,
    **spec: Json,
) -> dict[str, Json]:
    """A Deployment. `variable` is a value, `proxy` a tag or digest, `pin` a digest that we pinned
    the container `web` to; `stamps` are annotations of the template.
    """
    web, ours = WEB_TEXT, {}
    if pin:
        web = f"{WEB_TEXT}@{pin}"
        ours = {pin_annotation("web"): str(Pin(pin, {"web": WEB_TEXT}))}
    mark = "@" if ":" in proxy else ":"
    api: dict[str, Json] = {"name": "api", "image": "registry.example.com/example/api:1"}
    if variable is not None:
        api["env"] = [{"name": "OTHER", "value": "kept"}, {"name": VARIABLE, "value": variable}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": UID,
            "generation": 7,
            "resourceVersion": "100",
            "annotations": dict(annotations or {}),
        },
        "spec": {
            "replicas": 3,
            "template": {
                "metadata": {"annotations": {**(stamps or {}), **ours}},
                "spec": {
                    "containers": [
                        {"name": "web", "image": web, "imagePullPolicy": "Always"},
                        api,
                        {"name": "proxy", "image": f"{REGISTRY}/example/proxy{mark}{proxy}"},
                    ]
                },
            },
            **spec,
        },
        "status": status or {},
    }


def a_workload(
    kind: str, status: Json, spec: Json = (), *, generation: int | None = 7
) -> dict[str, Json]:
    """A target of a kind, with three replicas wanted unless it is said otherwise."""
    metadata = {"name": "web"} if generation is None else {"name": "web", "generation": generation}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {"replicas": 3, **dict(spec)},
        "status": status,
    }


def carrying(kind: ActionType, digest: str | None) -> dict[str, Json]:
    """A target whose template carries a digest for an image of a kind; None is an empty field."""
    match kind:
        case ActionType.RESTART:
            return a_target(pin=digest)
        case ActionType.SET_ENV:
            return a_target(variable=digest)
        case ActionType.SET_IMAGE:
            return a_target(proxy=digest or "prod")


def a_memory(
    asked: str | None = D1, recorded: str | None = None, failed: str | None = None, **fields: Json
) -> Memory:
    """What is remembered of an image: asked some minutes ago, in the fourth write."""
    known: dict[str, Json] = {
        "reference": "",
        "serial": 4,
        "asked_time": EARLIER if asked else None,
        **fields,
    }
    return Memory(asked=asked, recorded=recorded, failed=failed, **known)


def an_own(
    image: Image,
    target: Mapping[str, Json],
    memory: Memory,
    latest: str | None = None,
    *,
    is_lost: bool = False,
    is_confirmed: bool = False,
    is_reachable: bool = True,
    is_stamped: bool = True,
    conflict: Problem | None = None,
    overasked: frozenset[str] = frozenset(),
    was_contested: bool = False,
    evidence: Evidence = Evidence.UNKNOWN,
    was_mismatched: bool = False,
    mutation: Mutation | None = None,
) -> ImageView:
    """What is seen of one image; what the template carries is read from the target.

    A template without any stamp gets that of the last ask, as an ask leaves it.
    """
    carried = read(image, target)
    if is_stamped and carried.stamp is None and memory.asked and not memory.adopted:
        carried = replace(carried, stamp=Stamp(memory.serial, memory.asked))
    return ImageView(
        image=image,
        memory=memory,
        is_missing_on_target=is_lost,
        carried=carried,
        latest=latest,
        is_confirmed=is_confirmed,
        is_reachable=is_reachable,
        conflict=conflict,
        overasked=overasked,
        was_contested=was_contested,
        evidence=evidence,
        was_mismatched=was_mismatched,
        mutation=mutation,
    )


def a_view(
    target: Mapping[str, Json],
    *images: ImageView,
    health: Health = HEALTHY,
    stalled_for: timedelta = timedelta(0),
    retry_at: str | None = None,
    awaited: str | None = None,
    now: datetime = NOW,
    **spec: Json,
) -> View:
    """What a run saw."""
    return View(
        spec=a_spec(*(each.image for each in images), **spec),
        target=target,
        health=health,
        stalled_for=stalled_for,
        images=images,
        now=now,
        retry_at=retry_at,
        awaited=awaited,
    )


def annotated(name: str, memory: Memory, prefix: str = GROUP) -> dict[str, str]:
    """The annotations that hold an image's state and record."""
    annotations = {state_annotation(name): state_text(memory)}
    if memory.recorded:
        annotations[record_annotation(prefix, name)] = memory.recorded
    return annotations


def patched(target: Mapping[str, Json], patch: Mapping[str, Json] | None) -> dict[str, Json]:
    """The target after a strategic merge patch, in which every list is one of named objects."""
    return _merge(deepcopy(dict(target)), patch or {})


def _merge(document: dict[str, Json], patch: Mapping[str, Json]) -> dict[str, Json]:
    for key, value in patch.items():
        if value is None:
            document.pop(key, None)
        elif isinstance(value, Mapping):
            document[key] = _merge(document.get(key) or {}, value)
        elif isinstance(value, list):
            items = document.setdefault(key, [])
            for entry in value:
                present = next((item for item in items if item["name"] == entry["name"]), None)
                if present is None:
                    items.append(dict(entry))
                else:
                    _merge(present, entry)
        else:
            document[key] = value
    return document
