"""What people are told: the policy's status after a run (B26), to be read as kstatus reads it.

The status is made anew from what the run found, and from the one before where it says since when.
It is worth a write only if `tells_something_new` (B27).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from imagerefresh.api.names import REQUESTED_AT, RETRY_AT
from imagerefresh.api.policy import Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Condition, ConditionType, ImageState, ImageStatus, Status
from imagerefresh.api.timestamps import parse_timestamp, timestamp
from imagerefresh.plan.findings import Findings, Trouble
from imagerefresh.plan.health import Verdict
from imagerefresh.plan.image_summary import (
    ALSO,
    BROKEN_POD,
    TROUBLES,
    describe_image,
    tell_image,
)
from imagerefresh.plan.progress import to_status
from imagerefresh.plan.view import stuck_on

REFRESH_AGE = timedelta(hours=1)
"""The check times alone are written at most this often (B27)."""
TROUBLE_TURNS = 3
"""Turns in a row that must fail before transient trouble makes the policy not Ready (B7)."""
MARK_LENGTH = 1024
"""Characters of a request annotation that are told apart; status keeps no more."""
UNDER_WAY = frozenset({ImageState.PROVING, ImageState.ROLLING_OUT, ImageState.WAITING})
RESTING = frozenset(
    {
        Reason.Suspended,
        Reason.InvalidSpec,
        Reason.Forbidden,
        Reason.TargetNotFound,
        Reason.TargetDeleting,
        Reason.TargetPaused,
        Reason.UnprovableStrategy,
        Reason.ScaledToZero,
        Reason.BrokenPod,
    }
)
"""Reasons for which a rollout is not followed though one may be under way."""
SELF_HEALING = frozenset({Reason.PatchRefused})
"""Problems of a policy as a whole that are tried again by themselves; the others wait for a person.
"""


def report(found: Findings) -> Status:
    """The status that tells what was found."""
    images = list(found.before.images)
    if found.spec:
        images = [describe_image(found, image) for image in found.spec.images]
    refreshed = [image.last_refresh_time for image in images if image.last_refresh_time]
    return found.before.model_copy(
        update={
            "observed_generation": found.generation,
            "conditions": _conditions(found, images),
            "images": images,
            "target_uid": _target_uid(found),
            "last_handled_requested_at": request_mark(found.annotations, REQUESTED_AT),
            "last_handled_retry_at": _handled_retry_at(found),
            "last_check_time": _moment(found.last_check) or found.before.last_check_time,
            "next_check_time": _moment(found.next_check),
            "last_refresh_time": max(refreshed, default=found.before.last_refresh_time),
            "rollout": to_status(found.progress) if found.progress else None,
        }
    )


def tells_something_new(before: Status, after: Status) -> bool:
    """Whether a status is worth a write: anything but the check times has changed, or those are old
    (B27).
    """
    silent = {"last_check_time": None, "next_check_time": None}
    if before.model_copy(update=silent) != after.model_copy(update=silent):
        return True
    written, checked = (
        parse_timestamp(before.last_check_time),
        parse_timestamp(after.last_check_time),
    )
    return checked is not None and (written is None or abs(checked - written) >= REFRESH_AGE)


def is_requested(policy: Mapping[str, Any], status: Status) -> bool:
    """Whether a person has asked for something that was not handled yet (B4)."""
    return request_marks(policy) != (
        status.observed_generation,
        status.last_handled_requested_at,
        status.last_handled_retry_at,
    )


def is_in_flight(policy: Mapping[str, Any], status: Status) -> bool:
    """Whether a policy has something to do that should not wait for a turn."""
    if is_requested(policy, status):
        return True
    if any(condition.type is ConditionType.RECONCILING for condition in status.conditions):
        return True
    is_resting = any(condition.reason in RESTING for condition in status.conditions)
    return not is_resting and any(image.state in UNDER_WAY for image in status.images)


def is_inert(spec: Spec) -> bool:
    """Whether a policy polls and changes nothing: suspended, or every image pinned (B2, B4)."""
    return spec.suspend or all(image.pinned for image in spec.images)


def is_ready(status: Status) -> bool:
    """Whether the condition Ready says True."""
    return any(
        each.type is ConditionType.READY and each.status == "True" for each in status.conditions
    )


def request_marks(policy: Mapping[str, Any]) -> tuple[object, ...]:
    """What a person may ask a policy by: its generation, requested-at and retry-at (B4)."""
    metadata = policy["metadata"]
    annotations = metadata.get("annotations") or {}
    return (
        metadata["generation"],
        request_mark(annotations, REQUESTED_AT),
        request_mark(annotations, RETRY_AT),
    )


def request_mark(annotations: Mapping[str, str], key: str) -> str | None:
    """What a request annotation is remembered by."""
    value = annotations.get(key)
    return value[:MARK_LENGTH] if value else None


def _target_uid(found: Findings) -> str | None:
    if found.view is None:
        return found.before.target_uid
    uid: str = found.view.target["metadata"]["uid"]
    return uid


def _handled_retry_at(found: Findings) -> str | None:
    if found.spec and found.plan is None and not is_inert(found.spec):
        return found.before.last_handled_retry_at
    if found.plan and any(outcome.is_retry_pending for outcome in found.plan.outcomes.values()):
        return found.before.last_handled_retry_at
    return request_mark(found.annotations, RETRY_AT)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What Ready says, and which of the two abnormal conditions goes with it."""

    status: str
    reason: Reason
    message: str
    abnormal: ConditionType | None = None


def _conditions(found: Findings, images: Sequence[ImageStatus]) -> list[Condition]:
    verdict = _verdict(found, images)
    ready = _condition(found, ConditionType.READY, verdict.status, verdict)
    if verdict.abnormal is None:
        return [ready]
    return [ready, _condition(found, verdict.abnormal, "True", verdict)]


def _condition(found: Findings, kind: ConditionType, status: str, verdict: _Verdict) -> Condition:
    earlier = next((each for each in found.before.conditions if each.type is kind), None)
    since = (
        earlier.last_transition_time
        if earlier and earlier.status == status
        else timestamp(found.now)
    )
    return Condition.model_validate(
        {
            "type": kind,
            "status": status,
            "reason": verdict.reason,
            "message": verdict.message,
            "observedGeneration": found.generation,
            "lastTransitionTime": since,
        }
    )


def _verdict(found: Findings, images: Sequence[ImageStatus]) -> _Verdict:
    """The first that speaks; what a person must mend comes before what passes by itself."""
    speakers = (_suspended, _problem, _pinned, _paused, _stopped, _troubled, _in_flight, _unwell)
    for speak in speakers:
        if verdict := speak(found, images):
            return verdict
    earlier = _earlier(found)
    if found.view is None and earlier:
        return _Verdict(earlier.status, earlier.reason, earlier.message)
    return _Verdict("True", Reason.UpToDate, _tell_current(images))


def _earlier(found: Findings) -> Condition | None:
    return next(
        (each for each in found.before.conditions if each.type is ConditionType.READY), None
    )


def _suspended(found: Findings, _: Sequence[ImageStatus]) -> _Verdict | None:
    if not (found.spec and found.spec.suspend):
        return None
    earlier = _earlier(found)
    status = earlier.status if earlier else "Unknown"
    return _Verdict(status, Reason.Suspended, "suspended: nothing is polled or changed")


def _problem(found: Findings, _: Sequence[ImageStatus]) -> _Verdict | None:
    if found.problem is None:
        return None
    heals = found.problem.reason in SELF_HEALING
    abnormal = ConditionType.RECONCILING if heals else ConditionType.STALLED
    return _Verdict("False", found.problem.reason, found.problem.message, abnormal)


def _pinned(found: Findings, _: Sequence[ImageStatus]) -> _Verdict | None:
    if not (found.spec and is_inert(found.spec)):
        return None
    return _Verdict("True", Reason.Pinned, "every image is pinned: nothing is polled or changed")


def _paused(found: Findings, _: Sequence[ImageStatus]) -> _Verdict | None:
    if found.view and found.view.health.verdict is Verdict.PAUSED:
        return _Verdict("False", Reason.TargetPaused, found.view.health.message)
    return None


def _stopped(found: Findings, images: Sequence[ImageStatus]) -> _Verdict | None:
    for state in (ImageState.BLOCKED, ImageState.HELD):
        if stopped := [image for image in images if image.state is state]:
            reason = stopped[0].reason or Reason.RolloutFailed
            told = _tell(stopped)
            if broken := stuck_on(found.view) if found.view else None:
                told += f"{ALSO}{BROKEN_POD.format(broken)}"
            return _Verdict("False", reason, told, ConditionType.STALLED)
    return None


def _troubled(found: Findings, images: Sequence[ImageStatus]) -> _Verdict | None:
    """Trouble that lasts by its nature at once (B8), transient trouble after some turns (B7)."""
    lasting = [image for image in images if _is_lasting(found.troubles.get(image.name))]
    if lasting:
        return _Verdict("False", found.troubles[lasting[0].name].problem.reason, _tell(lasting))
    repeated = [
        image
        for image in images
        if (trouble := found.troubles.get(image.name)) and trouble.turns >= TROUBLE_TURNS
    ]
    if repeated:
        return _Verdict("False", Reason.RegistryUnavailable, _tell(repeated))
    earlier = _earlier(found)
    if found.troubles and earlier and earlier.reason in TROUBLES:
        return _Verdict(earlier.status, earlier.reason, earlier.message)
    return None


def _is_lasting(trouble: Trouble | None) -> bool:
    return trouble is not None and not trouble.is_transient


def _in_flight(found: Findings, images: Sequence[ImageStatus]) -> _Verdict | None:
    waiting = [i for i in images if i.state in UNDER_WAY]
    if waiting and found.view:
        health = found.view.health
        if health.verdict is Verdict.UNPROVABLE:
            reason = Reason.UnprovableStrategy
            return _Verdict("False", reason, health.message, ConditionType.STALLED)
        if broken := stuck_on(found.view):
            told = f"{_names(waiting)}: {BROKEN_POD.format(broken)}"
            return _Verdict("False", Reason.BrokenPod, told, ConditionType.STALLED)
        if behind := [image for image in waiting if image.state is ImageState.WAITING]:
            reason = Reason.WaitingForPolicy
            return _Verdict("Unknown", reason, _tell(behind), ConditionType.RECONCILING)
        if unlike := [image for image in waiting if image.reason is Reason.DigestMismatch]:
            reason = Reason.DigestMismatch
            return _Verdict("Unknown", reason, _tell(unlike), ConditionType.RECONCILING)
        is_adopted = all(image.state is ImageState.PROVING for image in waiting)
        if health.is_idle:
            return _Verdict("Unknown", Reason.ScaledToZero, _tell(waiting))
        return _Verdict(
            "Unknown",
            Reason.Proving if is_adopted else Reason.RollingOut,
            f"{_names(waiting)}: {health.message}",
            ConditionType.RECONCILING,
        )
    if any(image.state is ImageState.PENDING for image in images):
        troubled = [image for image in images if image.name in found.troubles]
        told = _tell(troubled) if troubled else "not every image has been looked at yet"
        return _Verdict("Unknown", Reason.Checking, told)
    return None


def _unwell(found: Findings, _: Sequence[ImageStatus]) -> _Verdict | None:
    """In sync is checked for health, too: a stuck rollout must not be masked (B20)."""
    health = found.view.health if found.view else None
    if health is None or health.is_healthy or health.verdict is Verdict.UNPROVABLE:
        return None
    is_stuck = found.view is not None and found.view.stalled_for >= found.view.rollout_timeout
    if health.verdict is Verdict.PROGRESSING and not is_stuck:
        return _Verdict("Unknown", Reason.RollingOut, health.message, ConditionType.RECONCILING)
    told = f"nothing new was asked, but the target is not healthy: {health.message}"
    if broken := stuck_on(found.view) if found.view else None:
        told += f"; {BROKEN_POD.format(broken)}"
    return _Verdict("False", Reason.Degraded, told)


def _names(images: Sequence[ImageStatus]) -> str:
    return ", ".join(image.name for image in images)


def _tell(images: Sequence[ImageStatus]) -> str:
    return "; ".join(map(tell_image, images))


def _tell_current(images: Sequence[ImageStatus]) -> str:
    pinned = sum(image.state is ImageState.PINNED for image in images)
    current = len(images) - pinned
    text = f"{current} {'image is' if current == 1 else 'images are'} up to date and proven"
    return f"{text}, {pinned} pinned" if pinned else text


def _moment(seconds: float | None) -> str | None:
    return timestamp(datetime.fromtimestamp(seconds, UTC)) if seconds is not None else None
