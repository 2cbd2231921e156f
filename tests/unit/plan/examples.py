"""Examples for the decision table: one image, one look, one step."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from imagerefresh.api.policy import ActionType
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.health import Health
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import read
from imagerefresh.plan.view import View
from unit.plan.builders import (
    D1,
    D2,
    HEALTHY,
    NOW,
    Json,
    a_memory,
    a_view,
    an_image,
    an_own,
    carrying,
)

RESTART, SET_ENV, SET_IMAGE = ActionType.RESTART, ActionType.SET_ENV, ActionType.SET_IMAGE
PROVEN: Final = a_memory(D1, recorded=D1)
UNPROVEN: Final = a_memory(D1)
MOVING: Final = a_memory(D2, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
ROLLED_BACK: Final = a_memory(D1, recorded=D1, failed=D2)
NEW: Final = Memory()
OTHERS = "the rollout of side by policy other"
RETRY = "2026-02-03T11:59:00Z"
THREE_TIMES = tuple(timestamp(NOW - timedelta(minutes=minutes)) for minutes in (50, 30, 10))
LONG_AGO: Final = replace(
    PROVEN,
    set_back_times=tuple(timestamp(NOW - timedelta(hours=hours)) for hours in (26, 25.8, 25.5)),
)


TEN_MINUTES = timedelta(minutes=10)
SUSPENDED: Final[dict[str, Json]] = {"suspend": True}
ROLLBACK: Final[dict[str, Json]] = {"rollout": {"onFailure": "Rollback"}}


class Carries:
    """Stands for a template that is not to be changed."""


UNTOUCHED: Final = Carries()


@dataclass(frozen=True)
class Example:
    """A look, and what has to come of it.

    `after` has the members of the state that change; None where nothing is written. `template` is
    the digest that the template carries afterwards, None for an empty or floating field.
    """

    name: str
    row: str
    view: View
    after: Mapping[str, Json] | None = None
    template: str | Carries | None = UNTOUCHED
    is_stamped: bool = True
    is_retry_pending: bool = field(default=False, kw_only=True)

    @property
    def memory(self) -> Memory:
        """The state that has to be written."""
        before = self.view.images[0].memory
        if self.after is None:
            return before
        return replace(before, serial=before.serial + 1, **self.after)


def look(
    kind: ActionType,
    memory: Memory,
    latest: str | None = None,
    *,
    carried: str | Carries | None = UNTOUCHED,
    target: dict[str, Json] | None = None,
    pinned: bool = False,
    health: Health = HEALTHY,
    stalled_for: timedelta = timedelta(0),
    retry_at: str | None = None,
    awaited: str | None = None,
    spec: Mapping[str, Json] | None = None,
    **own: Json,
) -> View:
    """A view of one image. The template carries what is asked unless it is said otherwise."""
    if isinstance(carried, Carries):
        carried = None if kind is RESTART else memory.asked
    target = target or carrying(kind, carried)
    image = an_image(kind, pinned=pinned)
    return a_view(
        target,
        an_own(image, target, memory, latest, **own),
        health=health,
        stalled_for=stalled_for,
        retry_at=retry_at,
        awaited=awaited,
        **(spec or {}),
    )


def asked(digest: str, **more: Json) -> dict[str, Json]:
    """What an ask changes in the state."""
    known = {"asked": digest, "asked_time": timestamp(NOW), "failed": None, "set_back_times": ()}
    return {"adopted": False, "deadline_seen": None, **known, **more}


def field_after(example: Example, target: dict[str, Json]) -> str | None:
    """The digest that a target carries for the example's image."""
    return read(example.view.images[0].image, target).digest
