"""When an image's turn comes (B6), and whether a policy has something in flight that should not
wait for it.

A turn is a moment that image reference and schedule give, not something that is remembered:
policies with one interval share the turns of one image, different images are spread evenly, and a
restart brings nothing forward. Moments are seconds since the epoch, as the wall clock tells them:
whoever asks passes it in.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from zoneinfo import ZoneInfo

from cronsim import CronSim

from imagerefresh.api.policy import Spec
from imagerefresh.api.status import ImageState, Status

SETTLED = frozenset({ImageState.PINNED, ImageState.CURRENT, ImageState.HELD, ImageState.BLOCKED})
CRON_SPREAD = 60.0
"""Seconds over which the turns of one cron moment are spread."""
_GAP_STEP = timedelta(minutes=1)


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


def due_images(spec: Spec, looked: Mapping[str, float], now: float) -> frozenset[str]:
    """Names of the unpinned images whose turn has come.

    `looked` has the turn of each image's last look. Another one than the present turn is due, an
    earlier or a later one: after the clock stepped back a policy has one extra turn rather than
    none for as long as the step was.
    """
    if spec.suspend:
        return frozenset()
    return frozenset(
        image.name
        for image in spec.images
        if not image.pinned
        and looked.get(image.name) != latest_turn(spec, str(image.reference), now)
    )


def next_check(spec: Spec, now: float) -> float | None:
    """The first turn of any image after now; None for a policy that polls nothing."""
    if spec.suspend:
        return None
    return min(
        (next_turn(spec, str(image.reference), now) for image in spec.images if not image.pinned),
        default=None,
    )


def until_due(spec: Spec, looked: Mapping[str, float], now: float) -> float | None:
    """Seconds until the next image is due, 0 if one is; None for a policy that polls nothing."""
    if due_images(spec, looked, now):
        return 0.0
    upcoming = next_check(spec, now)
    return upcoming - now if upcoming is not None else None


def is_inert(spec: Spec) -> bool:
    """Whether a policy polls and changes nothing: suspended, or every image pinned (B2, B4)."""
    return spec.suspend or all(image.pinned for image in spec.images)


def is_settled(status: Status) -> bool:
    """Whether every image was observed and nothing is under way.

    Such a policy may wait for its turn when the operator restarts.
    """
    return bool(status.images) and all(image.state in SETTLED for image in status.images)


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
