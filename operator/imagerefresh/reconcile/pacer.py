"""When a policy runs next.

A quiet policy waits for the turn of one of its images. What is in flight is followed, ever more
slowly the longer it takes. A new request or spec is answered at once, and an API server in trouble
gets time.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from imagerefresh.api.policy import InvalidSpec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ConditionType, Status
from imagerefresh.cluster.errors import ClusterError, Throttled
from imagerefresh.plan.due import due_images, next_check
from imagerefresh.plan.summary import is_in_flight, is_inert, request_marks
from imagerefresh.reconcile.track import Track

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 60.0
"""Seconds. A pause runs on the monotonic clock, turns on the wall clock: a step of that is noticed
after at most this long.
"""
UNWELL_LOOK = 30.0
"""Seconds after which a target that a person has to mend is looked at again."""
FIRST_STEP = 1.0
LONGEST_STEP = 30.0
"""Seconds between the looks at a rollout under way."""
FOLLOW_SHARE = 0.1
"""A rollout is looked at again after this share of the time that it has taken so far."""
ABOUT_THE_TARGET = frozenset(
    {
        Reason.TargetNotFound,
        Reason.TargetDeleting,
        Reason.TargetPaused,
        Reason.Degraded,
        Reason.RolloutFailed,
        Reason.Rejected,
        Reason.ContainerNotFound,
        Reason.NoMatchingContainer,
        Reason.DigestInImage,
        Reason.PullPolicyNotAlways,
        Reason.ForeignValue,
        Reason.ValueFrom,
        Reason.DuplicateVariable,
        Reason.UnprovableStrategy,
        Reason.Forbidden,
    }
)
"""Reasons that can end without the registry and without the policy: a look at the target tells."""
LONGEST_API_PAUSE = 60.0
"""Seconds between tries while the API server can't be asked; the first comes after one second."""
TURN_SLACK = 0.005
"""Seconds after a turn at which to wake up, so that a coarse timer does not wake up before it."""


@dataclass(frozen=True, slots=True)
class _Followed:
    """What is followed: the requests that it answers, since when, and when it was last run."""

    requests: tuple[object, ...]
    since: float
    last_run: float


@dataclass(slots=True)
class Pacer:
    """The timing of one policy. Pauses are in seconds; 0 means at once."""

    track: Track = field(default_factory=Track)
    wall_clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _followed: _Followed | None = None
    _failures: int = 0
    _retry_at: float = 0.0

    def wake(self) -> None:
        """The policy has changed: the pause is to be thought over."""
        self._woken.set()

    async def rest(self, pause: float) -> None:
        """Returns after the pause, or when woken."""
        self._woken.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()

    def pause(self, policy: Mapping[str, Any]) -> float:
        """How long the policy may wait, at most `LONGEST_PAUSE`."""
        if self._failures:
            return max(self._retry_at - self.monotonic(), 0.0)
        status = self.track.status(policy)
        pause = self._until_turn(policy, status)
        if pause and is_in_flight(policy, status):
            pause = min(pause, self._until_followed(policy))
        return pause

    def has_run(self, policy: Mapping[str, Any]) -> None:
        """A run has come to its end."""
        if self._failures:
            logger.info("runs come to their end again")
        self._failures, self._retry_at = 0, 0.0
        if not is_in_flight(policy, self.track.status(policy)):
            self._followed = None
            return
        now, requests = self.monotonic(), request_marks(policy)
        is_same = self._followed is not None and self._followed.requests == requests
        since = self._followed.since if self._followed and is_same else now
        self._followed = _Followed(requests, since, now)

    def has_failed(self, error: ClusterError) -> None:
        """The API server could not be asked (B29): told once, and tried ever more slowly."""
        if not self._failures:
            logger.warning("a run was broken off, and is tried again: %s", error)
        pause = min(2.0 ** min(self._failures, 10), LONGEST_API_PAUSE)
        if isinstance(error, Throttled):
            pause = max(pause, error.retry_after)
        self._failures += 1
        self._retry_at = self.monotonic() + pause

    def _until_turn(self, policy: Mapping[str, Any], status: Status) -> float:
        try:
            spec = self.track.spec(policy)
        except InvalidSpec:
            return LONGEST_PAUSE if _is_told_invalid(status) else 0.0
        if is_inert(spec):
            return LONGEST_PAUSE
        now = self.wall_clock()
        self.track.meet(spec, status, now)
        if due_images(spec, self.track.looked, now):
            return 0.0
        turn = next_check(spec, now)
        pause = turn - now + TURN_SLACK if turn is not None else LONGEST_PAUSE
        if _is_unwell(status):
            seen = self.track.target_seen
            pause = min(pause, UNWELL_LOOK - (self.monotonic() - seen) if seen is not None else 0.0)
        return min(max(pause, 0.0), LONGEST_PAUSE)

    def _until_followed(self, policy: Mapping[str, Any]) -> float:
        followed, now = self._followed, self.monotonic()
        if followed is None or followed.requests != request_marks(policy):
            return 0.0
        step = min(max((now - followed.since) * FOLLOW_SHARE, FIRST_STEP), LONGEST_STEP)
        return max(followed.last_run + step - now, self.track.not_before - now, 0.0)


def _is_told_invalid(status: Status) -> bool:
    return any(each.reason is Reason.InvalidSpec for each in status.conditions)


def _is_unwell(status: Status) -> bool:
    return any(
        each.type is ConditionType.READY and each.reason in ABOUT_THE_TARGET
        for each in status.conditions
    )
