"""The pacer of one policy, by clocks of a test's own."""

from collections.abc import Mapping
from typing import Final

from imagerefresh.api.policy import ActionType
from imagerefresh.plan.due import latest_turn
from imagerefresh.reconcile.pacer import Pacer
from unit.plan.builders import (
    D1,
    D2,
    PROGRESSING,
    Json,
    a_memory,
    a_spec,
    an_image,
)
from unit.plan.telling import one, told
from unit.reconcile.builders import Clocks

PROVEN: Final = a_memory(D1, recorded=D1)


MOVING: Final = a_memory(D2, recorded=D1)


HELD: Final = a_memory(D2, recorded=D1, failed=D2)


IMAGE: Final = an_image(ActionType.SET_ENV)


UP: Final = told(one(PROVEN, D1))


ROLLING: Final = told(one(MOVING, D2, health=PROGRESSING))


LONGEST: Final = 60.0


def paced(clocks: Clocks) -> Pacer:
    """The pacer of one policy."""
    return Pacer(wall_clock=lambda: clocks.wall, monotonic=lambda: clocks.monotonic)


def paused(pacer: Pacer, policy: Mapping[str, Json]) -> float:
    """The pause once the watch has brought the policy."""
    pacer.notice(policy)
    return pacer.pause()


def ran(pacer: Pacer, policy: Mapping[str, Json]) -> None:
    """A run of the policy has come to its end."""
    pacer.notice(policy)
    pacer.has_run(pacer.policy)


def looked(pacer: Pacer, clocks: Clocks, interval: str = "15m") -> Pacer:
    """As after a run: the tags were looked at, and the target."""
    turn = latest_turn(a_spec(IMAGE, interval=interval), str(IMAGE.reference), clocks.wall)
    pacer.track.looks.moments["ingestor"] = turn
    pacer.track.target_seen = clocks.monotonic
    return pacer
