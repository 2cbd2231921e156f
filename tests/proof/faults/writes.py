"""What an operator's write brings, in words: so that runs which differ in pace can be compared."""

import json
from typing import Any, cast

from cluster.story import entry, ready
from imagerefresh.api.names import GROUP, state_annotation
from proof.faults.images import WEB
from testbed.api import Manifest
from testbed.faults import Write

TARGET, STATUS, EVENT = "target", "status", "event"
_STATE = f"{GROUP}/state-"
_REMEMBERED = ("asked", "recorded", "failed")


def subject(write: Write) -> str:
    """Name of the policy that it is about, which is that of the target."""
    if write.resource != "events":
        return write.name
    if write.name:
        return write.name.rpartition(".")[0]
    body = cast("Manifest", write.body)
    name: str = body["regarding"]["name"]
    return name


def kind(write: Write) -> str:
    """TARGET, STATUS or EVENT."""
    return {"deployments": TARGET, "imagerefreshpolicies": STATUS, "events": EVENT}[write.resource]


def tell(write: Write) -> str:
    """In a few words; digests as they are."""
    body: Any = write.body
    match kind(write):
        case "target":
            return f"{TARGET} {_tell_target(body)}"
        case "status":
            return f"{STATUS} {_tell_status({'status': body[-1]['value']})}"
        case _:
            return f"{EVENT} {body.get('reason', 'counted') if body else 'read'}"


def serial(write: Write) -> int:
    """The serial of WEB's state in a target's write, which no other write has; else 0."""
    if kind(write) != TARGET:
        return 0
    text = _annotations(write.body).get(state_annotation(WEB), "{}")
    found: int = json.loads(text).get("serial", 0)
    return found


def _tell_target(body: Manifest) -> str:
    annotations = _annotations(body)
    told = []
    for key, text in annotations.items():
        if key.startswith(_STATE):
            image = key.removeprefix(_STATE)
            found = json.loads(text)
            record = next((annotations[k] for k in annotations if f"-{image}-digest" in k), None)
            told.append(_tell_image(image, found | {"recorded": record}))
    return "; ".join(told) + (", template" if "spec" in body else "")


def _tell_status(policy: Manifest) -> str:
    images = policy["status"].get("images", [])
    told = [_tell_image(each["name"], entry(policy, each["name"])) for each in images]
    return f"{ready(policy)[1]}, {'; '.join(told)}"


def _tell_image(name: str, found: Manifest) -> str:
    return " ".join([name, *(f"{key} {found[key]}" for key in _REMEMBERED if found.get(key))])


def _annotations(body: object) -> dict[str, str]:
    found: dict[str, str] = cast("Manifest", body)["metadata"]["annotations"]
    return found
