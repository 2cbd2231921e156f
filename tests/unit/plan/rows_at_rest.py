"""Rows that leave an image alone, or restore what is remembered of it."""

from typing import Final

from imagerefresh.api.reasons import Reason
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import Mutation
from unit.plan.builders import D1, D2, D3, LATE, PAUSED, a_target
from unit.plan.examples import (
    HELD,
    MOVING,
    NEW,
    PROVEN,
    RESTART,
    ROLLBACK,
    SET_ENV,
    SET_IMAGE,
    SUSPENDED,
    TEN_MINUTES,
    UNPROVEN,
    Example,
    look,
)

CLASH = Problem(Reason.Conflict, "an older policy has the claim")
ADMISSION = Mutation("mark", "admission changed what was written")
NEVER_PULLS = a_target()
NEVER_PULLS["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"


AT_REST: Final[tuple[Example, ...]] = (
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
        "B23 an older policy has the claim: no move is acted on",
        "conflict",
        look(SET_ENV, PROVEN, D2, carried=D1, conflict=CLASH),
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
