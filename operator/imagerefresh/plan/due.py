"""When an image's turn comes (B6), and whether a policy has something in flight that should not
wait for it.

A turn is a moment that image reference and schedule give, not something that is remembered:
policies with one interval share the turns of one image, different images are spread evenly, and a
restart brings nothing forward. Moments are seconds since the epoch, as the wall clock tells them:
whoever asks passes it in.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from zoneinfo import ZoneInfo

from cronsim import CronSim

from imagerefresh.api.policy import Image, Spec
from imagerefresh.api.status import ImageState, Status

SETTLED = frozenset({ImageState.PINNED, ImageState.CURRENT, ImageState.HELD, ImageState.BLOCKED})
CRON_SPREAD = 60.0
"""Seconds over which the turns of one cron moment are spread."""
SECOND_LOOK = 900.0
"""Seconds after a turn at which there is another look if the last one has failed by itself, again
and again until the next turn: a nightly one would else be lost to an outage of minutes.
"""
_GAP_STEP = timedelta(minutes=1)


@dataclass(slots=True)
class Looks:
    """The last looks at the tags of a policy's images, by image name."""

    moments: dict[str, float] = field(default_factory=dict)
    """The turn that each was for, or the second look; seconds since the epoch."""
    failed: set[str] = field(default_factory=set)
    """Those that failed by trouble that may pass by itself (B7)."""

    def note(self, spec: Spec, image: Image, now: float, *, has_failed: bool) -> None:
        """Remembers a look at an image."""
        if has_failed:
            self.failed.add(image.name)
        else:
            self.failed.discard(image.name)
        self.moments[image.name] = self.latest(spec, image, now)

    def latest(self, spec: Spec, image: Image, now: float) -> float:
        """The last moment not after now at which an image is to be looked at, or was.

        Like turns, second looks come from reference and schedule, so that policies share them.
        """
        turn = latest_turn(spec, str(image.reference), now)
        return turn + (now - turn) // SECOND_LOOK * SECOND_LOOK if self._is_open(image) else turn

    def following(self, spec: Spec, image: Image, now: float) -> float:
        """The first such moment after now."""
        turn = next_turn(spec, str(image.reference), now)
        if not self._is_open(image):
            return turn
        return min(turn, self.latest(spec, image, now) + SECOND_LOOK)

    def _is_open(self, image: Image) -> bool:
        return image.name in self.failed


def latest_turn(spec: Spec, reference: str, now: float) -> float:
    """The last turn of an image that is not after now."""
    if spec.schedule is None:
        interval = spec.effective_interval.total_seconds()
        phase = _spread(reference, interval)
        return (now - phase) // interval * interval + phase
    delay = _spread(reference, CRON_SPREAD)
    return _cron_moment(spec.schedule, spec.time_zone or "UTC", now - delay, is_next=False) + delay


def next_turn(spec: Spec, reference: str, now: float) -> float:
    """The first turn of an image after now."""
    if spec.schedule is None:
        return latest_turn(spec, reference, now) + spec.effective_interval.total_seconds()
    delay = _spread(reference, CRON_SPREAD)
    return _cron_moment(spec.schedule, spec.time_zone or "UTC", now - delay, is_next=True) + delay


def due_images(spec: Spec, looks: Looks, now: float) -> dict[str, float]:
    """The unpinned images whose turn has come, or their second look, by name: since when.

    Another moment than that of the last look is due, an earlier or a later one: after the clock
    stepped back a policy has one extra turn rather than none for as long as the step was.
    """
    if spec.suspend:
        return {}
    moments = {image.name: looks.latest(spec, image, now) for image in _polled(spec)}
    return {name: since for name, since in moments.items() if looks.moments.get(name) != since}


def next_check(spec: Spec, looks: Looks, now: float) -> float | None:
    """When any image is looked at next, after now; None for a policy that polls nothing."""
    if spec.suspend:
        return None
    return min((looks.following(spec, each, now) for each in _polled(spec)), default=None)


def until_due(spec: Spec, looks: Looks, now: float) -> float | None:
    """Seconds until the next image is due, 0 if one is; None for a policy that polls nothing."""
    if due_images(spec, looks, now):
        return 0.0
    upcoming = next_check(spec, looks, now)
    return upcoming - now if upcoming is not None else None


def is_inert(spec: Spec) -> bool:
    """Whether a policy polls and changes nothing: suspended, or every image pinned (B2, B4)."""
    return spec.suspend or all(image.pinned for image in spec.images)


def is_settled(status: Status) -> bool:
    """Whether every image was observed and nothing is under way.

    Such a policy may wait for its turn when the operator restarts.
    """
    return bool(status.images) and all(image.state in SETTLED for image in status.images)


def _polled(spec: Spec) -> list[Image]:
    return [image for image in spec.images if not image.pinned]


@lru_cache(maxsize=4096)
def _spread(reference: str, period: float) -> float:
    """A stable share of the period, in seconds, from the image reference."""
    digest = blake2b(reference.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64 * period


def _cron_moment(expression: str, zone_name: str, now: float, *, is_next: bool) -> float:
    """The cron moment before or after now.

    Expressions are of local time. One that does not exist stands for the next that does, one that
    exists twice for its first occurrence; so moments never run backwards, and the walk ends as soon
    as one lies on the asked side of now.
    """
    zone = ZoneInfo(zone_name)
    local = datetime.fromtimestamp(now, zone)
    first, second = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    start = local.replace(tzinfo=None, fold=0)
    if not is_next:
        start += timedelta(seconds=1)
        if local.fold and first and second:
            start += first - second  # of the hour that runs twice, all were in the first run
    for moment in CronSim(expression, start, reverse=not is_next):
        instant = _instant(moment, zone)
        if (instant > now) is is_next:
            return instant
    raise AssertionError(
        f"schedule {expression!r} has no moment"
    )  # the specification was validated


def _instant(moment: datetime, zone: ZoneInfo) -> float:
    aware = moment.replace(tzinfo=zone)
    while aware.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != aware.replace(tzinfo=None):
        aware += _GAP_STEP  # wall-clock arithmetic: to the end of the gap
    return aware.timestamp()
