"""Rows that find out what became of what was asked."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.evidence import Evidence
from unit.plan.builders import (
    D1,
    D2,
    D3,
    EARLIER,
    IDLE,
    LATE,
    LATE_TIME,
    NOW,
    PROGRESSING,
    UNPROVABLE,
    WAITING,
    a_memory,
    a_target,
)
from unit.plan.examples import (
    HELD,
    LONG_AGO,
    MOVING,
    NEW,
    OTHERS,
    PROVEN,
    RESTART,
    ROLLBACK,
    ROLLED_BACK,
    SET_ENV,
    SET_IMAGE,
    TEN_MINUTES,
    THREE_TIMES,
    UNPROVEN,
    Example,
    asked,
    look,
)

QUIETER = tuple(timestamp(NOW - timedelta(minutes=minutes)) for minutes in (75, 65, 40))
OVER_AN_HOUR = (timestamp(NOW - timedelta(minutes=80)), *THREE_TIMES[1:])
BACK = {"asked": D1, "asked_time": timestamp(NOW), "failed": D2, "set_back_times": ()}
SLOW_PODS = a_target(variable=D2, minReadySeconds=900)
JUDGING: Final[tuple[Example, ...]] = (
    # A template that no longer carries what is asked.
    Example(
        "B17 a proven digest is set back",
        "drift",
        look(SET_ENV, PROVEN, D1, carried=D3),
        {"set_back_times": (timestamp(NOW),)},
        D1,
    ),
    Example(
        "B21 a rollback that was undone would pull just the failed digest: the pin is set back",
        "drift",
        look(RESTART, ROLLED_BACK, D2, carried=None),
        {"set_back_times": (timestamp(NOW),)},
        D1,
    ),
    Example(
        "B17 an unproven restart whose stamp is gone was taken back: its old pods prove nothing",
        "rejected",
        look(RESTART, MOVING, D2, is_confirmed=True, is_stamped=False),
        {"failed": D2},
    ),
    Example(
        "B17 a proven restart floats on without its stamp",
        "rest",
        look(RESTART, PROVEN, D1, is_confirmed=True, is_stamped=False),
    ),
    Example(
        "B23 a correction brings nothing new, so it waits for nobody",
        "drift",
        look(SET_ENV, PROVEN, D1, carried=D3, awaited=OTHERS),
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
        "B17 an undo to what we had pinned, whose hold is over: the tag serves what is proven",
        "drift",
        look(RESTART, PROVEN, D1, carried=D3),
        {"set_back_times": (timestamp(NOW),)},
        None,
    ),
    Example(
        "B17 without the registry, nobody knows what it serves",
        "drift",
        look(RESTART, PROVEN, None, carried=D3, is_reachable=False),
        {"set_back_times": (timestamp(NOW),)},
        D1,
    ),
    Example(
        "B17 but no fourth time, either",
        "contested",
        look(RESTART, replace(PROVEN, set_back_times=THREE_TIMES), D1, carried=D3),
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
        "B17 within an hour of the last",
        "contested",
        look(SET_ENV, replace(PROVEN, set_back_times=QUIETER), D1, carried=D3),
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
        "B19 nor what no pod has run yet, since the rollout waits for a broken one",
        "rest",
        look(SET_ENV, MOVING, D2, health=WAITING, stalled_for=TEN_MINUTES, spec=ROLLBACK),
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
    # No pods are wanted.
    Example(
        "B19 nothing that was asked is proven without pods",
        "rest",
        look(SET_ENV, MOVING, D2, health=IDLE),
    ),
    Example(
        "B19 nor a restart",
        "rest",
        look(RESTART, MOVING, D2, is_confirmed=True, health=IDLE),
    ),
    Example(
        "B19 and none fails for want of pods",
        "rest",
        look(SET_ENV, MOVING, D2, health=IDLE, stalled_for=TEN_MINUTES, spec=ROLLBACK),
    ),
    Example(
        "B21 a failed one is not proven by scaling it to zero",
        "rest",
        look(SET_ENV, HELD, D2, health=IDLE),
    ),
    Example(
        "B12 what was found on the target is taken over all the same",
        "record",
        look(RESTART, replace(UNPROVEN, adopted=True), D1, is_confirmed=True, health=IDLE),
        {"recorded": D1},
    ),
    Example(
        "B17 a proven digest is set back, for the pods to come",
        "drift",
        look(SET_ENV, PROVEN, D1, carried=D3, health=IDLE),
        {"set_back_times": (timestamp(NOW),)},
        D1,
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
    # Restart and SetImage: what the pods run.
    Example(
        "B15 before a restart is recorded its pods are looked at",
        "examine",
        look(RESTART, MOVING, D2, evidence=Evidence.UNSOUGHT),
    ),
    Example(
        "B15 and those of an image field",
        "examine",
        look(SET_IMAGE, UNPROVEN, D2, evidence=Evidence.UNSOUGHT),
    ),
    Example(
        "B15 and of what is to be taken over",
        "examine",
        look(RESTART, NEW, D1, evidence=Evidence.UNSOUGHT),
    ),
    Example(
        "B15 a variable is no image of the pod",
        "record before asking",
        look(SET_ENV, UNPROVEN, D1, evidence=Evidence.UNSOUGHT),
        {"recorded": D1},
    ),
    Example(
        "B15 nobody looks where nothing is to be recorded",
        "rest",
        look(RESTART, MOVING, D2, health=PROGRESSING, evidence=Evidence.UNSOUGHT),
    ),
    Example(
        "B15 nor at a tag that has moved on",
        "move",
        look(RESTART, MOVING, D3, evidence=Evidence.UNSOUGHT),
        asked(D3),
        None,
    ),
    Example(
        "B15 nor before that is known",
        "confirm",
        look(RESTART, MOVING, None, evidence=Evidence.UNSOUGHT),
    ),
    Example(
        "B15 pods that run it prove it",
        "record",
        look(RESTART, MOVING, D2, is_confirmed=True, evidence=Evidence.AGREES),
        {"recorded": D2},
    ),
    Example(
        "B15 what clearly runs is something else: not recorded",
        "rest",
        look(RESTART, MOVING, D2, is_confirmed=True, evidence=Evidence.DIFFERS),
    ),
    Example(
        "B15 nor an image field",
        "rest",
        look(SET_IMAGE, MOVING, D2, evidence=Evidence.DIFFERS),
    ),
    Example(
        "B15 and the registry is not asked about it all the time",
        "rest",
        look(RESTART, MOVING, D2, evidence=Evidence.DIFFERS),
    ),
    Example(
        "B15 for good after the time of a rollout, and there is no going back",
        "mismatch",
        look(
            RESTART,
            MOVING,
            D2,
            evidence=Evidence.DIFFERS,
            stalled_for=TEN_MINUTES,
            spec=ROLLBACK,
        ),
        {"failed": D2},
    ),
    Example(
        "B15 once",
        "rest",
        look(RESTART, HELD, D2, evidence=Evidence.DIFFERS, stalled_for=TEN_MINUTES),
    ),
    Example(
        "B15 pods that turn to it later prove it",
        "record",
        look(RESTART, HELD, D2, is_confirmed=True, evidence=Evidence.AGREES, was_mismatched=True),
        {"recorded": D2, "failed": None},
    ),
    Example(
        "B15 pods that can't be seen any more do not",
        "rest",
        look(RESTART, HELD, D2, is_confirmed=True, was_mismatched=True),
    ),
    Example(
        "B15 what was only taken over is asked",
        "unlike",
        look(RESTART, replace(UNPROVEN, adopted=True), D1, evidence=Evidence.DIFFERS),
        asked(D1),
        None,
    ),
    Example(
        "B15 an image field, too",
        "unlike",
        look(SET_IMAGE, replace(UNPROVEN, adopted=True), D1, evidence=Evidence.DIFFERS),
        asked(D1),
        D1,
    ),
    Example(
        "B15 but not without the registry",
        "rest",
        look(SET_IMAGE, replace(UNPROVEN, adopted=True), None, evidence=Evidence.DIFFERS),
    ),
    Example(
        "B21 nor where it is held",
        "rest",
        look(RESTART, replace(UNPROVEN, adopted=True, failed=D1), D1, evidence=Evidence.DIFFERS),
    ),
    Example(
        "B23 nor beside another policy's rollout",
        "wait",
        look(
            RESTART,
            replace(UNPROVEN, adopted=True),
            D1,
            evidence=Evidence.DIFFERS,
            awaited=OTHERS,
        ),
    ),
    Example(
        "B15 at first sight it is taken over, but not recorded",
        "adopt",
        look(RESTART, NEW, D1, evidence=Evidence.DIFFERS),
        asked(D1, adopted=True),
    ),
    Example(
        "B14 not while its tag serves another digest, though that is held",
        "rest",
        look(RESTART, a_memory(D1, recorded=D3, failed=D2), D2, is_confirmed=True),
    ),
    Example(
        "B14 not before it is healthy",
        "rest",
        look(RESTART, MOVING, D2, is_confirmed=True, health=PROGRESSING),
    ),
)
