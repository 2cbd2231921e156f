"""Policies with an interval or a schedule, and their turns."""

from collections.abc import Iterator
from typing import Final

from imagerefresh.api.policy import Image, Spec
from imagerefresh.plan.due import next_turn
from unit.plan.builders import NOW, a_spec

REFERENCE: Final = "registry.example.com/example/web:prod"
START: Final = NOW.timestamp()


def every(interval: str, *images: Image) -> Spec:
    """A policy with an interval."""
    return a_spec(*images, interval=interval)


def on_schedule(schedule: str, zone: str | None = None) -> Spec:
    """A policy with a schedule."""
    return a_spec(schedule=schedule, **({"timeZone": zone} if zone else {}))


def turns(spec: Spec, start: float, end: float, reference: str = REFERENCE) -> Iterator[float]:
    """All turns of an image in a span of time."""
    turn = next_turn(spec, reference, start)
    while turn <= end:
        yield turn
        turn = next_turn(spec, reference, turn)
