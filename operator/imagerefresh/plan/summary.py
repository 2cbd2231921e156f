"""What people are told: the policy's status after a run (B26), to be read as kstatus reads it.

The status is made anew from what the run found, and from the one before where it says since when.
It is worth a write only if `tells_something_new` (B27).
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from imagerefresh.api.names import REQUESTED_AT, RETRY_AT
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ConditionType, Status
from imagerefresh.api.timestamps import parse_timestamp, timestamp
from imagerefresh.plan.due import is_inert
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.image_summary import describe_image
from imagerefresh.plan.progress import to_status
from imagerefresh.plan.readiness import UNDER_WAY, conditions

REFRESH_AGE = timedelta(hours=1)
"""The check times alone are written at most this often (B27)."""
MARK_LENGTH = 1024
"""Characters of a request annotation that are told apart; status keeps no more."""
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


def report(found: Findings) -> Status:
    """The status that tells what was found."""
    images = list(found.before.images)
    if found.spec:
        images = [describe_image(found, image) for image in found.spec.images]
    refreshed = [image.last_refresh_time for image in images if image.last_refresh_time]
    return found.before.model_copy(
        update={
            "observed_generation": found.generation,
            "conditions": conditions(found, images),
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


def _moment(seconds: float | None) -> str | None:
    return timestamp(datetime.fromtimestamp(seconds, UTC)) if seconds is not None else None
