"""Whether a policy is Ready, and what is the matter with it: its conditions, as kstatus reads them
(B26).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Condition, ConditionType, ImageState, ImageStatus
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.due import is_inert
from imagerefresh.plan.findings import Findings, Trouble
from imagerefresh.plan.health import Verdict
from imagerefresh.plan.image_summary import ALSO, BROKEN_POD, TROUBLES, is_assumed, tell_image
from imagerefresh.plan.view import stuck_on

TROUBLE_TURNS = 3
"""Turns in a row that must fail before transient trouble makes the policy not Ready (B7)."""
UNDER_WAY = frozenset({ImageState.PROVING, ImageState.ROLLING_OUT, ImageState.WAITING})
SELF_HEALING = frozenset({Reason.PatchRefused})
"""Problems of a policy as a whole that are tried again by themselves; the others wait for a person.
"""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What Ready says, and which of the two abnormal conditions goes with it."""

    status: str
    reason: Reason
    message: str
    abnormal: ConditionType | None = None


def conditions(found: Findings, images: Sequence[ImageStatus]) -> list[Condition]:
    """Ready, and one of the two abnormal conditions if it holds; `images` as they are told."""
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
        unconfirmed = [image for image in waiting if image.name in found.troubles]
        if health.is_healthy and unconfirmed:  # nothing goes on but the wait for a registry (B14)
            told = f"healthy, but not recorded before its tag was seen: {_tell(unconfirmed)}"
            return _Verdict("Unknown", Reason.Checking, told)
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
    text = f"{current} {'image is' if current == 1 else 'images are'} up to date"
    assumed = sum(image.state is ImageState.CURRENT and is_assumed(image) for image in images)
    text += f", {assumed} by what was found, as pods were not seen" if assumed else " and proven"
    return f"{text}, {pinned} pinned" if pinned else text
