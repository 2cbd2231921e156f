"""Views of every kind: anything that may be remembered, carried, served and seen at once.

Each part of a view is picked from a pool, the plainest first. Hypothesis picks for the properties
and shrinks towards the plain; anything else that picks will do as well.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import permutations, product
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from imagerefresh.api.names import pin_annotation, stamp_annotation
from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import Pin, Problem, read
from imagerefresh.plan.view import ImageView, Mutation, View
from unit.plan.builders import (
    D1,
    D2,
    D3,
    EARLIER,
    HEALTHY,
    IDLE,
    LATE,
    LATE_TIME,
    NOW,
    PAUSED,
    PROGRESSING,
    UNPROVABLE,
    WAITING,
    WEB_TEXT,
    Json,
    a_target,
    a_view,
    an_image,
    an_own,
)
from unit.plan.examples import OTHERS

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]

REFERENCE: Final = "r"
DIGESTS: Final = (D1, D2, D3)
MAYBE: Final = (None, *DIGESTS)
HEALTHS: Final = (HEALTHY, PROGRESSING, LATE, HEALTHY, PAUSED, UNPROVABLE, IDLE, WAITING)
STALLED: Final = tuple(timedelta(minutes=minutes) for minutes in (0, 9, 11))
AWAITED: Final = (None, None, None, OTHERS)
RETRIES: Final = (None, None, "r1", "r2")
KINDS: Final = tuple(kinds for count in (1, 2, 3) for kinds in permutations(ActionType, count))
SPECS: Final[tuple[dict[str, Json], ...]] = (
    {},
    {"rollout": {"onFailure": "Rollback"}},
    {},
    {"rollout": {"onFailure": "Rollback"}},
    {"suspend": True},
)
LOOKS: Final[tuple[dict[str, Json], ...]] = (
    {},
    {"is_confirmed": True},
    {},
    {"is_confirmed": True},
    {},
    {"is_confirmed": True},
    {"is_lost": True},
    {"evidence": Evidence.UNSOUGHT, "is_confirmed": True},
    {"evidence": Evidence.DIFFERS, "is_confirmed": True},
    {"evidence": Evidence.DIFFERS},
    {"evidence": Evidence.AGREES, "is_confirmed": True},
    {"was_mismatched": True, "is_confirmed": True},
    {"overasked": frozenset({D1, D2})},
    {"mutation": Mutation("mark", "changed")},
    {"conflict": Problem(Reason.Conflict, "an older policy")},
)
PINNED: Final = (False,) * 9 + (True,)
SET_BACKS: Final = tuple(
    tuple(timestamp(NOW - timedelta(minutes=ago)) for ago in times)
    for times in ((), (5,), (70, 30, 5), (50, 30, 5))
)


@cache
def memories() -> Sequence[Memory]:
    """What may be remembered of an image. What was asked once has a serial."""
    known = [
        Memory(
            reference=REFERENCE,
            serial=serial,
            asked=asked,
            asked_time=EARLIER,
            adopted=adopted,
            failed=failed,
            handled_retry_at=handled,
            set_back_times=times,
            deadline_seen=deadline,
            recorded=recorded,
        )
        for serial, times, handled, deadline, adopted, failed, recorded, asked in product(
            (4, 5), SET_BACKS, (None, "r1"), (None, LATE_TIME), (False, True), MAYBE, MAYBE, DIGESTS
        )
        if failed is None or failed != recorded  # what is proven is not held
    ]
    new = [Memory(reference=REFERENCE)] * (len(known) // 8)
    return tuple(new + known)


@cache
def targets() -> Sequence[dict[str, Json]]:
    """Targets whose fields hold anything, something foreign now and then; not to be changed."""
    stamps = {stamp_annotation(name): f"3 {D1}" for name in ("web", "ingestor", "proxy")}
    return tuple(
        _stained(a_target(variable=variable, proxy=proxy, pin=pin, stamps=stamped), pin, stain)
        for variable, proxy, stamped, pin, stain in product(
            (D1, D2, D3, None, "", "v1"),
            (D1, D2, "prod", "other"),
            ({}, stamps),
            MAYBE,
            (None, None, WEB_TEXT, f"{WEB_TEXT}@{D3}"),
        )
    )


def _stained(target: dict[str, Json], pin: str | None, image: str | None) -> dict[str, Json]:
    """A target at which somebody changed the image that we had pinned."""
    if pin and image:
        template = target["spec"]["template"]
        template["spec"]["containers"][0]["image"] = image
        ours = str(Pin(pin, {"web": WEB_TEXT}))
        template["metadata"]["annotations"][pin_annotation("web")] = ours
    return target


def make_view(pick: Pick[Any], *, is_known: bool = True) -> View:
    """A look at one to three images, one of each action; with `is_known` false no tag is known."""
    target = pick(targets())
    return a_view(
        target,
        *(_make_own(pick, kind, target, is_known=is_known) for kind in pick(KINDS)),
        health=pick(HEALTHS),
        stalled_for=pick(STALLED),
        retry_at=pick(RETRIES),
        awaited=pick(AWAITED),
        **pick(SPECS),
    )


def _make_own(
    pick: Pick[Any], kind: ActionType, target: dict[str, Json], *, is_known: bool
) -> ImageView:
    latest = pick((D1, D2, D3, None)) if is_known else None
    look = dict(pick(LOOKS))
    if latest is None:
        look |= {"is_confirmed": False, "is_reachable": pick((True, False))}
    image, memory = an_image(kind, pinned=pick(PINNED)), pick(memories())
    if memory.asked is None and (read(image, target).is_pinned or "is_lost" in look):
        memory = replace(memory, serial=3, asked=D1)  # what we pinned or lost is not new
    return an_own(image, target, memory, latest, **look)


@cache
def _choice(pool: int) -> st.SearchStrategy[int]:
    return st.integers(0, pool - 1)


@st.composite
def views(draw: st.DrawFn, *, is_known: bool = True) -> View:
    """The views that hypothesis makes."""
    return make_view(lambda pool: pool[draw(_choice(len(pool)))], is_known=is_known)
