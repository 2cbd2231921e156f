"""How long a rollout has made no progress (B19).

Seconds are of a monotonic clock: a step of the wall clock neither fails a rollout nor saves one.
What was reached survives a restart of the operator in the policy's status.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from imagerefresh.api.status import RolloutProgress
from imagerefresh.api.timestamps import parse_timestamp, timestamp
from imagerefresh.plan.health import Counts
from imagerefresh.plan.memory import Memory

NO_TIME = timedelta(0)
NO_ASKS = "none"
"""Marks a rollout that brings nothing we ask: somebody else's, or one back to what is proven."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The best that a rollout has reached, since when, and when it was last looked at."""

    asks: str
    """Which asks and which pod template the rollout is of; other ones start it anew."""
    best: Counts | None
    """None while the counts of the asked template are not known."""
    since: float
    seen: float
    since_time: datetime
    """The wall clock's word for `since`, for people and for the status."""

    is_running: bool = True
    """Whether its clock runs."""
    was_healthy: bool = False
    """It had come to its end, as far as this process knows: what comes next begins anew."""

    @property
    def stalled_for(self) -> timedelta:
        """How long nothing has improved."""
        return timedelta(seconds=self.seen - self.since)


def identify_rollout(asks: str, template: Mapping[str, Any]) -> str:
    """A mark of the rollout of a pod template that is to prove some asks, or none."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    return f"{asks or NO_ASKS}-{blake2b(text.encode(), digest_size=8).hexdigest()}"


def identify_asks(memories: Iterable[Memory]) -> str:
    """A mark of what is asked and not proven; empty when there is none."""
    asks = " ".join(
        f"{memory.asked}@{memory.asked_time}"
        for memory in memories
        if memory.asked is not None and not memory.is_proven
    )
    return blake2b(asks.encode(), digest_size=8).hexdigest() if asks else ""


def advance(
    previous: Progress | None,
    asks: str,
    counts: Counts | None,
    *,
    is_healthy: bool,
    is_running: bool,
    seen: float,
    now: datetime,
) -> Progress:
    """The progress after a look at the target. Counts are None while those of the asked template
    are not known.

    A target that was healthy, but could not prove what was asked, has its time anew when it is
    healthy no more. While the clock does not run (the target is paused, or a restart's registry
    can't be reached) no time passes.
    """
    begun = Progress(asks, counts, seen, seen, now, was_healthy=is_healthy)
    if previous is None or previous.asks != asks or (previous.was_healthy and not is_healthy):
        return begun
    if counts and previous.best is None:
        return begun
    if counts and previous.best and counts.surpasses(previous.best):
        return replace(begun, best=counts.best_of(previous.best))
    if not is_running:
        waited = seen - previous.seen
        since_time = previous.since_time + timedelta(seconds=waited)
        return replace(
            previous,
            since=previous.since + waited,
            seen=seen,
            since_time=since_time,
            is_running=False,
        )
    return replace(previous, seen=seen, is_running=True, was_healthy=is_healthy)


def to_status(progress: Progress) -> RolloutProgress | None:
    """The copy in status; none while there is nothing to count, or no time to keep.

    So a restart while the clock stands still lets it begin anew, rather than count that time.
    """
    best = progress.best
    if best is None or not progress.is_running:
        return None
    return RolloutProgress(
        asks=progress.asks,
        updated=best.updated,
        ready=best.ready,
        available=best.available,
        old=best.old,
        last_progress_time=timestamp(progress.since_time),
    )


def from_status(status: RolloutProgress | None, *, seen: float, now: datetime) -> Progress | None:
    """What an earlier process had seen. A time that lies ahead of the clock counts as now."""
    if status is None or (since := parse_timestamp(status.last_progress_time)) is None:
        return None
    age = max((now - since).total_seconds(), 0.0)
    best = Counts(status.updated, status.ready, status.available, status.old)
    return Progress(status.asks, best, seen - age, seen, since)
