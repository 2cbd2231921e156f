"""One image, one look, one step: what is to come of it. At least one example for each row of the
decision table, and its near misses. The rules that the examples stand for are in their names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from imagerefresh.api.policy import ActionType
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.health import Health
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import read
from imagerefresh.plan.view import Mutation, View
from unit.plan.builders import (
    D1,
    D2,
    D3,
    EARLIER,
    HEALTHY,
    LATE,
    LATE_TIME,
    NOW,
    PAUSED,
    PROGRESSING,
    UNPROVABLE,
    Json,
    a_memory,
    a_target,
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
TEN_MINUTES = timedelta(minutes=10)
RETRY = "2026-02-03T11:59:00Z"
THREE_TIMES = tuple(timestamp(NOW - timedelta(minutes=minutes)) for minutes in (50, 30, 10))
OVER_AN_HOUR = (timestamp(NOW - timedelta(minutes=80)), *THREE_TIMES[1:])
LONG_AGO: Final = replace(
    PROVEN,
    set_back_times=tuple(timestamp(NOW - timedelta(hours=hours)) for hours in (26, 25.8, 25.5)),
)
ADMISSION = Mutation("mark", "admission changed what was written")


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
    template: str | None | Carries = UNTOUCHED
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
    carried: str | None | Carries = UNTOUCHED,
    target: dict[str, Json] | None = None,
    pinned: bool = False,
    health: Health = HEALTHY,
    stalled_for: timedelta = timedelta(0),
    retry_at: str | None = None,
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
        **(spec or {}),
    )


def asked(digest: str, **more: Json) -> dict[str, Json]:
    """What an ask changes in the state."""
    known = {"asked": digest, "asked_time": timestamp(NOW), "failed": None, "set_back_times": ()}
    return {"adopted": False, "deadline_seen": None, **known, **more}


SUSPENDED = {"suspend": True}
ROLLBACK = {"rollout": {"onFailure": "Rollback"}}
BACK = {"asked": D1, "asked_time": timestamp(NOW), "failed": D2, "set_back_times": ()}
NEVER_PULLS = a_target()
NEVER_PULLS["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
SLOW_PODS = a_target(variable=D2, minReadySeconds=900)

BOTH = a_target(variable=D1)
BESIDE = a_view(
    BOTH,
    an_own(an_image(RESTART), BOTH, PROVEN, D2),
    an_own(an_image(SET_ENV), BOTH, UNPROVEN, D3),
)

EXAMPLES: Final[tuple[Example, ...]] = (
    # A pin, a suspension.
    Example("B2 a pinned tag moves", "inert", look(RESTART, PROVEN, D2, pinned=True)),
    Example(
        "B2 a pinned field is changed", "inert", look(SET_ENV, PROVEN, D1, carried=D3, pinned=True)
    ),
    Example("B2 a pinned image turns healthy", "inert", look(SET_ENV, UNPROVEN, D1, pinned=True)),
    Example(
        "B2 a pinned image fails",
        "inert",
        look(SET_ENV, MOVING, D2, pinned=True, health=LATE, spec=ROLLBACK),
    ),
    Example("B2 a pinned state is lost", "inert", look(RESTART, PROVEN, pinned=True, is_lost=True)),
    Example("B4 a suspended tag moves", "inert", look(SET_ENV, PROVEN, D2, spec=SUSPENDED)),
    Example("B4 a suspended image is new", "inert", look(RESTART, NEW, D1, spec=SUSPENDED)),
    # A paused target is never patched.
    Example("B19 a tag moves while paused", "paused", look(RESTART, PROVEN, D2, health=PAUSED)),
    Example(
        "B19 a field is changed while paused",
        "paused",
        look(SET_ENV, PROVEN, D1, carried=D3, health=PAUSED),
    ),
    Example(
        "B19 no time runs out while paused",
        "paused",
        look(SET_ENV, MOVING, D2, health=PAUSED, stalled_for=TEN_MINUTES),
    ),
    # Admission.
    Example(
        "B29 what admission changed is not set back",
        "mutated",
        look(SET_ENV, PROVEN, D1, carried=D3, mutation=ADMISSION),
    ),
    Example(
        "B29 what admission changed is not asked again",
        "mutated",
        look(SET_ENV, MOVING, D3, carried=D1, mutation=ADMISSION),
    ),
    # What a person has to change first.
    Example(
        "B18 a foreign value is left alone", "blocked", look(SET_ENV, PROVEN, D2, carried="v1.2")
    ),
    Example("B18 also when it is new", "blocked", look(SET_ENV, NEW, D2, carried="v1.2")),
    Example(
        "B11 a restart that would pull nothing",
        "blocked",
        look(RESTART, PROVEN, D2, target=NEVER_PULLS),
    ),
    # Record what is proven before a newer digest is asked.
    Example(
        "B14 a healthy variable is recorded before the move",
        "record before asking",
        look(SET_ENV, UNPROVEN, D2),
        {"recorded": D1},
    ),
    Example(
        "B14 a healthy image field is recorded before the move",
        "record before asking",
        look(SET_IMAGE, UNPROVEN, D2),
        {"recorded": D1},
    ),
    Example(
        "B14 a field is recorded on health alone, whatever the registry does",
        "record before asking",
        look(SET_ENV, UNPROVEN, None, is_reachable=False),
        {"recorded": D1},
    ),
    Example(
        "B21 a held field that turns healthy is recorded",
        "record before asking",
        look(SET_ENV, HELD, D2),
        {"recorded": D2, "failed": None},
    ),
    Example(
        "B14 nothing is recorded before it is healthy",
        "rest",
        look(SET_ENV, MOVING, D2, health=PROGRESSING),
    ),
    Example("B13 a move waits for a record beside it, to be one patch with the next", "neighbour first", BESIDE),
    # Retry.
    Example(
        "B4 a held digest is asked once more, though it equals asked",
        "retry",
        look(SET_ENV, HELD, D2, retry_at=RETRY, health=LATE),
        asked(D2, handled_retry_at=RETRY, deadline_seen=LATE_TIME),
        D2,
    ),
    Example(
        "B4 a held restart is asked once more",
        "retry",
        look(RESTART, HELD, D2, retry_at=RETRY, health=PROGRESSING),
        asked(D2, handled_retry_at=RETRY),
        None,
    ),
    Example(
        "B4 a rolled back digest is asked once more, without the pin",
        "retry",
        look(RESTART, ROLLED_BACK, D2, carried=D1, retry_at=RETRY),
        asked(D2, handled_retry_at=RETRY),
        None,
    ),
    Example(
        "B4 what is held is retried even where it turned healthy",
        "retry",
        look(SET_ENV, HELD, D2, retry_at=RETRY),
        asked(D2, handled_retry_at=RETRY),
        D2,
    ),
    Example(
        "B4 a failing ask is asked once more",
        "retry",
        look(SET_ENV, MOVING, D2, retry_at=RETRY, health=LATE),
        asked(D2, handled_retry_at=RETRY, deadline_seen=LATE_TIME),
        D2,
    ),
    Example(
        "B4 a contested field is asked once more",
        "retry",
        look(
            SET_ENV,
            replace(PROVEN, set_back_times=THREE_TIMES),
            D1,
            carried=D3,
            retry_at=RETRY,
        ),
        asked(D1, handled_retry_at=RETRY),
        D1,
    ),
    Example(
        "B4 a retry waits while the registry is unreachable",
        "rest",
        look(SET_ENV, HELD, None, retry_at=RETRY, health=LATE, is_reachable=False),
        is_retry_pending=True,
    ),
    Example(
        "B4 a retry is handled once",
        "rest",
        look(SET_ENV, replace(HELD, handled_retry_at=RETRY), D2, retry_at=RETRY, health=LATE),
    ),
    Example(
        "B4 with nothing held a retry asks nothing",
        "rest",
        look(SET_ENV, PROVEN, D1, retry_at=RETRY),
    ),
    # Moves.
    Example("B13 a moved tag is asked for", "move", look(RESTART, PROVEN, D2), asked(D2), None),
    Example("B16 into the variable", "move", look(SET_ENV, PROVEN, D2), asked(D2), D2),
    Example("B16 into the image field", "move", look(SET_IMAGE, PROVEN, D2), asked(D2), D2),
    Example(
        "B13 a newer move supersedes an unproven ask without a verdict",
        "move",
        look(SET_ENV, MOVING, D3, health=LATE),
        asked(D3, deadline_seen=LATE_TIME),
        D3,
    ),
    Example(
        "B14 a restart whose tag moved meanwhile is asked, not recorded",
        "move",
        look(RESTART, MOVING, D3, is_confirmed=True),
        asked(D3),
        None,
    ),
    Example(
        "B13 a tag that goes back is asked for again",
        "move",
        look(RESTART, MOVING, D1, health=PROGRESSING),
        asked(D1),
        None,
    ),
    Example(
        "B21 a hold ends when the tag moves on",
        "move",
        look(SET_ENV, HELD, D3, health=LATE),
        asked(D3, deadline_seen=LATE_TIME),
        D3,
    ),
    Example(
        "B21 the tag moves on from a rollback, and our pin goes",
        "move",
        look(RESTART, ROLLED_BACK, D3, carried=D1),
        asked(D3),
        None,
    ),
    Example(
        "B13 a move comes before a correction",
        "move",
        look(SET_ENV, PROVEN, D2, carried=D3),
        asked(D2),
        D2,
    ),
    Example(
        "B12 a move before the first record is acted on",
        "move",
        look(RESTART, replace(UNPROVEN, adopted=True), D2, is_confirmed=True),
        asked(D2),
        None,
    ),
    Example("B21 a held digest is not asked", "rest", look(SET_ENV, HELD, D2, health=LATE)),
    Example("B21 nor after a rollback", "rest", look(SET_ENV, ROLLED_BACK, D2)),
    Example(
        "B7 an unknown tag moves nothing", "rest", look(SET_ENV, PROVEN, None, is_reachable=False)
    ),
    # The end of a hold without an ask.
    Example(
        "B21 a hold ends when the tag goes back to what is asked",
        "release",
        look(SET_ENV, ROLLED_BACK, D1),
        {"failed": None},
    ),
    Example(
        "B21 and the patch un-pins",
        "release",
        look(RESTART, ROLLED_BACK, D1, carried=D1),
        {"failed": None},
        None,
        is_stamped=False,
    ),
    # First observations.
    Example("B18 an empty variable is filled", "fill", look(SET_ENV, NEW, D1), asked(D1), D1),
    Example(
        "B18 an image without a digest is filled", "fill", look(SET_IMAGE, NEW, D1), asked(D1), D1
    ),
    Example(
        "B12 latest is taken over without a restart",
        "adopt",
        look(RESTART, NEW, D1),
        asked(D1, adopted=True),
    ),
    Example(
        "B12 healthy or not",
        "adopt",
        look(RESTART, NEW, D1, health=LATE),
        asked(D1, adopted=True, deadline_seen=LATE_TIME),
    ),
    Example(
        "B12 and recorded if it is confirmed to be healthy",
        "adopt",
        look(RESTART, NEW, D1, is_confirmed=True),
        asked(D1, adopted=True, recorded=D1),
    ),
    Example(
        "B18 a digest in the variable is taken over untouched, and recorded if it is healthy",
        "adopt",
        look(SET_ENV, NEW, D2, carried=D1),
        asked(D1, adopted=True, recorded=D1),
    ),
    Example(
        "B18 one in the image field, too",
        "adopt",
        look(SET_IMAGE, NEW, D2, carried=D1),
        asked(D1, adopted=True, recorded=D1),
    ),
    Example(
        "B18 but not recorded before the target is healthy",
        "adopt",
        look(SET_ENV, NEW, D2, carried=D1, health=PROGRESSING),
        asked(D1, adopted=True),
    ),
    Example(
        "B7 nothing is taken over unseen", "rest", look(RESTART, NEW, None, is_reachable=False)
    ),
    Example("B7 nothing is filled unseen", "rest", look(SET_ENV, NEW, None, is_reachable=False)),
    # A template that no longer carries what is asked.
    Example(
        "B17 a proven digest is set back",
        "drift",
        look(SET_ENV, PROVEN, D1, carried=D3),
        {"set_back_times": (timestamp(NOW),)},
        D1,
    ),
    Example(
        "B17 without the registry",
        "drift",
        look(SET_IMAGE, PROVEN, None, carried=None, is_reachable=False),
        {"set_back_times": (timestamp(NOW),)},
        D1,
    ),
    Example(
        "B17 our pin is set back",
        "drift",
        look(RESTART, ROLLED_BACK, D2, carried=D3),
        {"set_back_times": (timestamp(NOW),)},
        D1,
    ),
    Example(
        "B17 a third time within an hour",
        "drift",
        look(SET_ENV, replace(PROVEN, set_back_times=THREE_TIMES[:2]), D1, carried=D3),
        {"set_back_times": (*THREE_TIMES[:2], timestamp(NOW))},
        D1,
    ),
    Example(
        "B17 a fourth time in more than an hour",
        "drift",
        look(SET_ENV, replace(PROVEN, set_back_times=OVER_AN_HOUR), D1, carried=D3),
        {"set_back_times": (*OVER_AN_HOUR[1:], timestamp(NOW))},
        D1,
    ),
    Example(
        "B17 but no fourth time within an hour",
        "contested",
        look(SET_ENV, replace(PROVEN, set_back_times=THREE_TIMES), D1, carried=D3),
    ),
    Example(
        "B17 a contest goes on for as long as it was one",
        "contested",
        look(SET_ENV, LONG_AGO, D1, carried=D3, was_contested=True),
    ),
    Example(
        "B17 an edit long after is none",
        "drift",
        look(SET_ENV, LONG_AGO, D1, carried=D3),
        {"set_back_times": (*LONG_AGO.set_back_times[1:], timestamp(NOW))},
        D1,
    ),
    Example(
        "B17 a move ends a contest",
        "move",
        look(SET_ENV, replace(PROVEN, set_back_times=THREE_TIMES), D2, carried=D3),
        asked(D2),
        D2,
    ),
    Example(
        "B17 an unproven digest that somebody took back is held",
        "rejected",
        look(SET_ENV, MOVING, D2, carried=D1),
        {"failed": D2},
    ),
    Example(
        "B17 whether it was failing or not, and it is not rolled back",
        "rejected",
        look(SET_ENV, MOVING, D2, carried=D3, health=LATE, spec=ROLLBACK),
        {"failed": D2},
    ),
    Example(
        "B17 what was taken over is rejected likewise",
        "rejected",
        look(SET_ENV, replace(UNPROVEN, adopted=True), None, carried=None, is_reachable=False),
        {"failed": D1},
    ),
    Example(
        "B17 a rejected digest leaves a person's value alone",
        "rest",
        look(SET_ENV, HELD, D2, carried=D3),
    ),
    Example(
        "B17 a floating restart carries what is asked after an undo",
        "rest",
        look(RESTART, PROVEN, D1),
    ),
    # A rollout that came to nothing.
    Example(
        "B21 a failed digest goes back to the recorded one",
        "roll back",
        look(SET_ENV, MOVING, D2, health=LATE, spec=ROLLBACK),
        BACK,
        D1,
    ),
    Example(
        "B21 an image field, too",
        "roll back",
        look(SET_IMAGE, MOVING, D2, health=PROGRESSING, stalled_for=TEN_MINUTES, spec=ROLLBACK),
        BACK,
        D1,
    ),
    Example(
        "B21 a restart is pinned to the recorded one",
        "roll back",
        look(RESTART, MOVING, D2, health=LATE, spec=ROLLBACK),
        BACK,
        D1,
    ),
    Example(
        "B21 once per failure",
        "rest",
        look(SET_ENV, HELD, D2, health=LATE, spec=ROLLBACK),
    ),
    Example(
        "B21 there is nothing to go back to",
        "fail",
        look(SET_ENV, UNPROVEN, D1, health=LATE, spec=ROLLBACK),
        {"failed": D1},
    ),
    Example(
        "B19 the deadline of the control plane",
        "fail",
        look(SET_ENV, MOVING, D2, health=LATE),
        {"failed": D2},
    ),
    Example(
        "B19 no progress for as long as the policy allows",
        "fail",
        look(RESTART, MOVING, D2, health=PROGRESSING, stalled_for=TEN_MINUTES),
        {"failed": D2},
    ),
    Example(
        "B19 a moment less is no failure",
        "rest",
        look(
            SET_ENV,
            MOVING,
            D2,
            health=PROGRESSING,
            stalled_for=TEN_MINUTES - timedelta(milliseconds=1),
        ),
    ),
    Example(
        "B19 pods get as long as they need to be ready, and half a minute",
        "rest",
        look(
            SET_ENV,
            MOVING,
            D2,
            target=SLOW_PODS,
            health=PROGRESSING,
            stalled_for=timedelta(seconds=929),
        ),
    ),
    Example(
        "B19 but not for ever",
        "fail",
        look(
            SET_ENV,
            MOVING,
            D2,
            target=SLOW_PODS,
            health=PROGRESSING,
            stalled_for=timedelta(seconds=930),
        ),
        {"failed": D2},
    ),
    Example(
        "B19 a deadline that was there when asking is none",
        "rest",
        look(SET_ENV, replace(MOVING, deadline_seen=LATE_TIME), D2, health=LATE),
    ),
    Example(
        "B19 an earlier deadline does not excuse a later one",
        "fail",
        look(SET_ENV, replace(MOVING, deadline_seen=EARLIER), D2, health=LATE),
        {"failed": D2},
    ),
    Example(
        "B19 what can't be proven can't fail either",
        "rest",
        look(SET_ENV, MOVING, D2, health=UNPROVABLE, stalled_for=TEN_MINUTES),
    ),
    Example(
        "B21 no deadline of a restart counts while its registry can't be reached",
        "rest",
        look(
            RESTART,
            MOVING,
            None,
            health=LATE,
            stalled_for=TEN_MINUTES,
            spec=ROLLBACK,
            is_reachable=False,
        ),
    ),
    Example(
        "B20 an unhealthy target is no verdict on a proven digest",
        "rest",
        look(SET_ENV, PROVEN, D1, health=LATE, stalled_for=TEN_MINUTES, spec=ROLLBACK),
    ),
    # Restart: proof.
    Example("B14 a healthy restart is confirmed first", "confirm", look(RESTART, MOVING, D2)),
    Example("B14 also where the tag is unknown", "confirm", look(RESTART, MOVING, None)),
    Example(
        "B14 a confirmed restart is recorded",
        "record",
        look(RESTART, MOVING, D2, is_confirmed=True),
        {"recorded": D2},
    ),
    Example(
        "B21 a held restart that turned healthy is recorded",
        "record",
        look(RESTART, HELD, D2, is_confirmed=True),
        {"recorded": D2, "failed": None},
    ),
    Example(
        "B12 what was taken over is recorded once it is healthy",
        "record",
        look(RESTART, replace(UNPROVEN, adopted=True), D1, is_confirmed=True),
        {"recorded": D1},
    ),
    Example(
        "B14 not before it is healthy",
        "rest",
        look(RESTART, MOVING, D2, is_confirmed=True, health=PROGRESSING),
    ),
    # Memory.
    Example(
        "B22 lost annotations come back", "restore", look(RESTART, PROVEN, D1, is_lost=True), {}
    ),
    Example(
        "B22 also without the registry, and a hold with them",
        "restore",
        look(SET_ENV, HELD, None, health=LATE, is_lost=True, is_reachable=False),
        {},
    ),
    Example("B27 all is well", "rest", look(SET_IMAGE, PROVEN, D1)),
)


def field_after(example: Example, target: dict[str, Json]) -> str | None:
    """The digest that a target carries for the example's image."""
    return read(example.view.images[0].image, target).digest
