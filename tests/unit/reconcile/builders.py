"""Policies as the API server returns them, and the clocks that go with them."""

from dataclasses import dataclass
from typing import Any

from imagerefresh.api.names import REQUESTED_AT, RETRY_AT
from imagerefresh.api.policy import ActionType
from imagerefresh.api.status import Status
from unit.plan.builders import NOW, Json, image_json

GENERATION = 3


def a_policy(
    *images: Json,
    status: Status | None = None,
    requested: str | None = None,
    retry: str | None = None,
    generation: int = GENERATION,
    version: str = "100",
    uid: str = "p1",
    **spec: Json,
) -> dict[str, Any]:
    """A policy with one SetEnv image, unless others are given."""
    annotations = {REQUESTED_AT: requested, RETRY_AT: retry}
    return {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": uid,
            "generation": generation,
            "resourceVersion": version,
            "annotations": {key: value for key, value in annotations.items() if value},
        },
        "spec": {
            "targetRef": {"kind": "Deployment", "name": "web"},
            "images": list(images) or [image_json(ActionType.SET_ENV)],
            **spec,
        },
        "status": status.to_json() if status else None,
    }


@dataclass
class Clocks:
    """Both clocks of a process; time goes by when a test says so."""

    wall: float = NOW.timestamp()
    monotonic: float = 1000.0

    def go(self, seconds: float) -> None:
        """Lets time go by."""
        self.wall += seconds
        self.monotonic += seconds
