"""Runs of a policy with one SetEnv image, and what they look at."""

from collections.abc import Mapping
from typing import Final

from imagerefresh.api.policy import ActionType
from imagerefresh.api.status import Status
from imagerefresh.plan.health import Health
from imagerefresh.plan.view import ImageView, View
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.seeing import Sight
from imagerefresh.reconcile.track import Answer, Track
from unit.plan.builders import D1, D2, HEALTHY, NOW, Json, a_memory, an_image
from unit.plan.telling import one, told, trouble
from unit.reconcile.builders import a_policy

SET_ENV, RESTART = ActionType.SET_ENV, ActionType.RESTART
REFERENCE: Final = str(an_image(SET_ENV).reference)
PROVEN: Final = a_memory(D1, recorded=D1, reference=REFERENCE)
MOVING: Final = a_memory(D2, recorded=D1, reference=REFERENCE)
UP: Final = told(one(PROVEN, D1))
SEEN: Final = 1000.0


def answer(latest: str | None = None, sent_at: float = SEEN, reference: str = REFERENCE) -> Answer:
    """The registry's last word; trouble if it knows no digest."""
    return Answer(reference, sent_at, latest, None if latest else trouble())


def a_run(
    status: Status | None = None,
    track: Track | None = None,
    *,
    policy: dict[str, Json] | None = None,
    began: float = SEEN,
    answers: Mapping[str, Answer] | None = None,
) -> Run:
    """A run of the policy."""
    track = track or Track()
    track.answers.update(answers or {})
    policy = policy or a_policy(status=status)
    wall = NOW.timestamp() + began - SEEN
    return Run(policy, track.spec(policy), track, track.status(policy), wall, began)


def a_sight(target: dict[str, Json], health: Health = HEALTHY, seen: float = SEEN) -> Sight:
    """A look at a target."""
    return Sight(target, health, seen)


def the_image(view: View) -> ImageView:
    """The one image of a view."""
    [own] = view.images
    return own
