"""Findings for the tests of what is told: a view, its plan, and the trouble that goes with it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from imagerefresh.api.names import RETRY_AT
from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Condition, ConditionType, ImageStatus, Status
from imagerefresh.plan.decide import decide
from imagerefresh.plan.findings import Findings, Trouble
from imagerefresh.plan.health import Health
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.summary import report
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View
from unit.plan.builders import HEALTHY, NOW, Json, a_memory, a_view, an_image, an_own, carrying

GENERATION: Final = 3
DOWN: Final = Problem(Reason.RegistryUnavailable, "registry.example.com: connection refused")
DENIED: Final = Problem(Reason.ImageNotFoundOrDenied, "registry.example.com/example/web: denied")


def trouble(turns: int = 1, problem: Problem = DOWN) -> Trouble:
    """A registry in trouble, for so many turns."""
    return Trouble(problem, problem.reason is Reason.RegistryUnavailable, turns)


def findings(
    view: View | None = None,
    before: Status | None = None,
    *,
    now: datetime | None = None,
    is_acted: bool = True,
    troubles: Mapping[str, Trouble] | None = None,
    generation: int = GENERATION,
    **found: Json,
) -> Findings:
    """What a run came to know that saw a view, and did what is to be done about it."""
    annotations = {RETRY_AT: view.retry_at} if view and view.retry_at else {}
    known: dict[str, Json] = {
        "spec": view.spec if view else None,
        "annotations": annotations,
        "latest": {
            own.image.name: own.latest for own in (view.images if view else ()) if own.latest
        },
    }
    return Findings(
        generation=generation,
        before=before or Status(),
        now=now or (view.now if view else NOW),
        view=view,
        plan=decide(view) if view and is_acted else None,
        troubles=troubles or {},
        **{**known, **found},
    )


def one(
    memory: Memory,
    latest: str | None = None,
    *,
    kind: ActionType = ActionType.SET_ENV,
    target: dict[str, Json] | None = None,
    health: Health = HEALTHY,
    stalled_for: timedelta = timedelta(0),
    retry_at: str | None = None,
    awaited: str | None = None,
    pinned: bool = False,
    spec: Mapping[str, Json] | None = None,
    **own: Json,
) -> View:
    """A view of one image, whose field carries what is asked."""
    image = an_image(kind, pinned=pinned)
    memory = replace(memory, reference=str(image.reference))
    restart = kind is ActionType.RESTART
    target = target or carrying(kind, None if restart else memory.asked)
    return a_view(
        target,
        an_own(image, target, memory, latest, **own),
        health=health,
        stalled_for=stalled_for,
        retry_at=retry_at,
        awaited=awaited,
        **(spec or {}),
    )


def told(view: View, before: Status | None = None, **found: Json) -> Status:
    """The status that is told of a view."""
    return report(findings(view, before, **found))


def condition(status: Status, kind: ConditionType = ConditionType.READY) -> Condition | None:
    """A condition of a status."""
    return next((each for each in status.conditions if each.type is kind), None)


def ready(status: Status) -> tuple[str, Reason]:
    """What Ready says."""
    found = condition(status)
    assert found is not None
    return found.status, found.reason


def abnormal(status: Status) -> ConditionType | None:
    """The abnormal condition that is there."""
    kinds = [each.type for each in status.conditions if each.type is not ConditionType.READY]
    return kinds[0] if kinds else None


def only_image(status: Status) -> ImageStatus:
    """The one image of a status."""
    [image] = status.images
    return image


def remembered(status: Status) -> Memory:
    """What the status of one image remembers."""
    image = only_image(status)
    return a_memory(
        image.asked,
        image.recorded,
        image.failed,
        serial=image.serial,
        asked_time=image.asked_time,
        adopted=image.adopted,
        set_back_times=tuple(image.set_back_times),
        deadline_seen=image.deadline_seen,
        handled_retry_at=image.handled_retry_at,
        reference=image.reference,
    )
