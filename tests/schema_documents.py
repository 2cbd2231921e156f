"""A spec and a status that have every field, and means to change them at one place. Pure.

A path names a place, such as `images.0.tag`; the empty path is the document itself.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

Json = Any
"""Any JSON value; a wrong one too."""

ABSENT: Final = object()
"""In place of a value: the member is not there."""


def spec() -> dict[str, Json]:
    """A spec that has every field, but schedule and timeZone."""
    return deepcopy(SPEC)


def changed(path: str, value: Json) -> dict[str, Json]:
    """The spec with another value at a path."""
    return replaced(SPEC, path, value)


def replaced(document: Mapping[str, Json], path: str, value: Json) -> dict[str, Json]:
    """A copy of a document with another value at a path."""
    if not path:
        return dict(value)
    result = deepcopy(dict(document))
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place: Json = result
    for part in parents:
        place = place[part]
    if value is ABSENT:
        del place[last]
    else:
        place[last] = value
    return result


def shown(path: str) -> str:
    """The path as API server and operator write it: `spec.images[0].tag`."""
    parts = path.split(".") if path else []
    return "spec" + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in parts)


def fields(schema: Mapping[str, Json], path: str = "") -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Every field below a schema of the CRD, as `images[].tag`, and its own schema."""
    for name, member in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, member
        yield from fields(member, here)
        yield from fields(member.get("items", {}), f"{here}[]")


def restart(**details: Json) -> dict[str, Json]:
    return {"type": "Restart", "restart": details} if details else {"type": "Restart"}


def set_env(container: str, variable: str) -> dict[str, Json]:
    return {"type": "SetEnv", "setEnv": {"container": container, "variable": variable}}


def set_image(container: str) -> dict[str, Json]:
    return {"type": "SetImage", "setImage": {"container": container}}


def image(name: str, action: Json, **more: Json) -> dict[str, Json]:
    return {
        "name": name,
        "registry": "docker.io",
        "repository": "example/app",
        "tag": "prod",
        "action": action,
        **more,
    }


SPEC: Final[dict[str, Json]] = {
    "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"},
    "interval": "15m",
    "suspend": False,
    "annotationPrefix": "example.com",
    "imagePullSecrets": [{"name": "regcred"}],
    "images": [
        image("restarted", restart(containers=["app"], assumeAlwaysPulls=True), pinned=True),
        image("env", set_env("app", "DIGEST")),
        image("image", set_image("app")),
    ],
    "rollout": {"timeout": "10m", "onFailure": "Rollback"},
}


NOON: Final = "2026-02-03T12:00:00Z"
STATUS: Final[dict[str, Json]] = {
    "observedGeneration": 3,
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "UpToDate",
            "message": "all is well",
            "observedGeneration": 3,
            "lastTransitionTime": NOON,
        }
    ],
    "images": [
        {
            "name": "web",
            "reference": "docker.io/example/web:prod",
            "state": "Held",
            "reason": "RolloutFailed",
            "message": "no progress for 10m",
            "latest": "sha256:1",
            "asked": "sha256:1",
            "askedTime": NOON,
            "adopted": True,
            "recorded": "sha256:0",
            "seenInPods": "sha256:0",
            "claim": "restart",
            "pullSecretProblem": 'secret "regcred" is missing',
            "failed": "sha256:1",
            "lastRefreshTime": NOON,
            "serial": 7,
            "handledRetryAt": "again",
            "setBackTimes": [NOON, NOON],
            "deadlineSeen": "yesterday",
            "mutation": "abc",
        }
    ],
    "targetUID": "1-2",
    "lastHandledRequestedAt": "now",
    "lastHandledRetryAt": "again",
    "lastCheckTime": NOON,
    "nextCheckTime": NOON,
    "lastRefreshTime": NOON,
    "rollout": {
        "asks": "7",
        "updated": 2,
        "ready": 1,
        "available": 1,
        "old": 1,
        "lastProgressTime": NOON,
    },
}
"""A status that has every field."""
