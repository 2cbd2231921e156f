"""Rows that ask, on the way to it and back from it."""

from dataclasses import replace
from typing import Final

from unit.plan.builders import (
    D1,
    D2,
    D3,
    IDLE,
    LATE,
    LATE_TIME,
    PROGRESSING,
    a_target,
    a_view,
    an_image,
    an_own,
)
from unit.plan.examples import (
    HELD,
    MOVING,
    NEW,
    OTHERS,
    PROVEN,
    RESTART,
    RETRY,
    ROLLED_BACK,
    SET_ENV,
    SET_IMAGE,
    THREE_TIMES,
    UNPROVEN,
    Example,
    asked,
    look,
)

BOTH = a_target(variable=D1)
BESIDE = a_view(
    BOTH,
    an_own(an_image(RESTART), BOTH, PROVEN, D2),
    an_own(an_image(SET_ENV), BOTH, UNPROVEN, D3),
)


ASKING: Final[tuple[Example, ...]] = (
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
    Example(
        "B13 a move waits for a record beside it, to be one patch with the next",
        "neighbour first",
        BESIDE,
    ),
    # Another policy's rollout.
    Example(
        "B23 a move waits for another policy's rollout",
        "wait",
        look(SET_ENV, PROVEN, D2, awaited=OTHERS),
    ),
    Example(
        "B23 a restart, too, and the field stays as it is",
        "wait",
        look(RESTART, MOVING, D3, health=PROGRESSING, awaited=OTHERS),
    ),
    Example(
        "B23 a first fill waits", "wait", look(SET_IMAGE, NEW, D1, carried=None, awaited=OTHERS)
    ),
    Example(
        "B23 a retry waits, and stays pending",
        "wait",
        look(SET_ENV, HELD, D2, health=LATE, retry_at=RETRY, awaited=OTHERS),
        is_retry_pending=True,
    ),
    Example(
        "B23 a hold does not end before what it is to make room for",
        "wait",
        look(RESTART, ROLLED_BACK, D1, carried=D1, awaited=OTHERS),
    ),
    Example(
        "B23 what is proven needs not wait to be recorded",
        "record before asking",
        look(SET_ENV, UNPROVEN, D2, awaited=OTHERS),
        {"recorded": D1},
    ),
    Example(
        "B23 nor what is found, to be taken over",
        "adopt",
        look(SET_ENV, NEW, D1, carried=D1, health=PROGRESSING, awaited=OTHERS),
        asked(D1, adopted=True),
    ),
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
        "B4 what somebody has just taken back is asked once more, in one rollout with the others",
        "retry",
        look(SET_ENV, MOVING, D2, carried=D1, retry_at=RETRY),
        asked(D2, handled_retry_at=RETRY),
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
    # A tag that goes back and forth.
    Example(
        "B13 not once more after three times within the hour",
        "unsteady",
        look(RESTART, PROVEN, D2, overasked=frozenset({D2})),
    ),
    Example(
        "B13 before it was proven, too",
        "unsteady",
        look(SET_ENV, MOVING, D1, overasked=frozenset({D1, D2}), health=PROGRESSING),
    ),
    Example(
        "B13 but what is new is asked",
        "move",
        look(SET_ENV, PROVEN, D3, overasked=frozenset({D1, D2})),
        asked(D3),
        D3,
    ),
    Example(
        "B4 and a person may ask for it",
        "retry",
        look(SET_ENV, PROVEN, D2, overasked=frozenset({D2}), retry_at=RETRY),
        asked(D2, handled_retry_at=RETRY),
        D2,
    ),
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
    Example(
        "B13 a newer move supersedes what waits for pods",
        "move",
        look(SET_ENV, MOVING, D3, health=IDLE),
        asked(D3),
        D3,
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
        "B12 the tag of a healthy target is confirmed first", "confirm", look(RESTART, NEW, D1)
    ),
    Example(
        "B12 latest is taken over without a restart, also of one that is not healthy",
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
        "B18 also without pods",
        "adopt",
        look(SET_ENV, NEW, D1, carried=D1, health=IDLE),
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
)
