"""How long a rollout has made no progress (B19).

Seconds are of a monotonic clock: a step of the wall clock neither fails a rollout nor saves one.
What was reached survives a restart of the operator in the policy's status.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b

from imagerefresh.api.status import RolloutProgress
from imagerefresh.api.timestamps import parse_timestamp, timestamp
from imagerefresh.plan.health import Counts
from imagerefresh.plan.memory import Memory

NO_TIME = timedelta(0)
UNWATCHED = 120.0
"""Seconds without a look after which other counts than the best tell of a rollout that began
meanwhile, somebody else's perhaps.
"""
NO_ASKS = "none"
"""Marks a rollout that brings nothing we ask: somebody else's, or one back to what is proven."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The best that a rollout has reached, since when, and when it was last looked at."""

    asks: str
    """Which asks the rollout is for; other ones start it anew."""
    best: Counts | None
    """None while the counts of the asked template are not known."""
    since: float
    seen: float
    since_time: datetime
    """The wall clock's word for `since`, for people and for the status."""

    is_running: bool = True
    """Whether its clock runs."""

    @property
    def stalled_for(self) -> timedelta:
        """How long nothing has improved."""
        return timedelta(seconds=self.seen - self.since)


def identify_asks(memories: Iterable[Memory]) -> str:
    """A mark of the rollout that brings what is asked and not proven; empty when there is none."""
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
    is_running: bool,
    seen: float,
    now: datetime,
) -> Progress:
    """The progress after a look at the target. Counts are None while those of the asked template
    are not known.

    While the clock does not run (the target is paused, or a restart's registry can't be reached) no
    time passes.
    """
    if previous is None or previous.asks != asks:
        return Progress(asks, counts, seen, seen, now)
    if is_running and counts != previous.best and seen - previous.seen >= UNWATCHED:
        return Progress(asks, counts, seen, seen, now)
    if counts and previous.best is None:
        return Progress(asks, counts, seen, seen, now)
    if counts and previous.best and counts.surpasses(previous.best):
        return Progress(asks, counts.best_of(previous.best), seen, seen, now)
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
    return replace(previous, seen=seen, is_running=True)


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
    return Progress(status.asks, best, seen - age, seen - age, since)
