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

from imagerefresh.api.policy import InvalidSpec, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ConditionType, Status
from imagerefresh.cluster.errors import ClusterError, Throttled
from imagerefresh.plan.due import is_inert, next_check, until_due
from imagerefresh.plan.summary import is_in_flight, request_marks
from imagerefresh.reconcile.track import QuietSpell, Track
from imagerefresh.telemetry.metrics import PolicyMetrics

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
        Reason.DigestMismatch,
        Reason.Conflict,
        Reason.ContainerNotFound,
        Reason.NoMatchingContainer,
        Reason.DigestInImage,
        Reason.PullPolicyNotAlways,
        Reason.ForeignValue,
        Reason.ValueFrom,
        Reason.DuplicateVariable,
        Reason.UnprovableStrategy,
        Reason.ScaledToZero,
        Reason.BrokenPod,
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

    policy: Mapping[str, Any] = field(default_factory=dict)
    """The policy as the watch brought it last."""
    track: Track = field(default_factory=Track)
    wall_clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _followed: _Followed | None = None
    _failures: int = 0
    _retry_at: float = 0.0

    def notice(self, policy: Mapping[str, Any]) -> None:
        """The policy has changed: unless by a write of ours, all is to be thought over."""
        self.policy = policy
        if self.track.quiet and not self._is_echo(self.track.quiet):
            self.track.quiet = None
        self._woken.set()

    async def rest(self, pause: float) -> None:
        """Returns after the pause, or when there is something to notice."""
        self._woken.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()

    def pause(self) -> float:
        """How long the policy may wait, at most `LONGEST_PAUSE`."""
        if self._failures:
            return max(self._retry_at - self.monotonic(), 0.0)
        quiet = self.track.quiet
        if quiet and (quiet.policy is self.policy or self._is_echo(quiet)):
            return self._until_due(quiet.spec)
        self.track.quiet = None  # a run that began before the policy changed has left it behind
        status = self.track.status(self.policy)
        pause = self._until_turn(status)
        if pause and is_in_flight(self.policy, status):
            pause = min(pause, self._until_followed())
        return pause

    def told(self) -> PolicyMetrics:
        """What the metrics tell of the policy now; exact where the status is quiet (B27)."""
        try:
            upcoming = next_check(self.track.spec(self.policy), self.track.looks, self.wall_clock())
        except InvalidSpec:
            upcoming = None
        states = {image.name: image.state for image in self.track.status(self.policy).images}
        return PolicyMetrics(self.track.last_check, upcoming, states)

    def has_run(self, policy: Mapping[str, Any]) -> None:
        """A run of the policy, as it was when the run began, has come to its end."""
        if self._failures:
            logger.info("runs come to their end again")
        self._failures, self._retry_at = 0, 0.0
        if not is_in_flight(self.policy, self.track.status(self.policy)):
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

    def _is_echo(self, quiet: QuietSpell) -> bool:
        """Whether the policy differs by our own status write alone: it may carry a new request."""
        is_own = self.track.is_own_write(self.policy)
        return is_own and request_marks(self.policy) == request_marks(quiet.policy)

    def _until_turn(self, status: Status) -> float:
        try:
            spec = self.track.spec(self.policy)
        except InvalidSpec:
            return LONGEST_PAUSE if _is_told_invalid(status) else 0.0
        if is_inert(spec):
            return LONGEST_PAUSE
        self.track.meet(spec, status, self.wall_clock())
        pause = self._until_due(spec)
        if _is_unwell(status):
            seen = self.track.target_seen
            age = self.monotonic() - seen if seen is not None else UNWELL_LOOK
            pause = min(pause, max(UNWELL_LOOK - age, 0.0))
        return pause

    def _until_due(self, spec: Spec) -> float:
        pause = until_due(spec, self.track.looks, self.wall_clock())
        if pause is None:
            return LONGEST_PAUSE
        return min(pause + TURN_SLACK, LONGEST_PAUSE) if pause else 0.0

    def _until_followed(self) -> float:
        followed, now = self._followed, self.monotonic()
        if followed is None or followed.requests != request_marks(self.policy):
            return 0.0
        taken = followed.last_run - followed.since
        step = min(max(taken * FOLLOW_SHARE, FIRST_STEP), LONGEST_STEP)
        return max(followed.last_run + step - now, self.track.not_before - now, 0.0)


def _is_told_invalid(status: Status) -> bool:
    return any(each.reason is Reason.InvalidSpec for each in status.conditions)


def _is_unwell(status: Status) -> bool:
    return any(
        each.type is ConditionType.READY and each.reason in ABOUT_THE_TARGET
        for each in status.conditions
    )
