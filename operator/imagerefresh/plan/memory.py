"""The state of an image, and which of its two copies holds (B22).

A copy lives in an annotation on the target, written in the same patch as the change that it speaks
of, and one in the policy's status, which survives `kubectl rollout undo`. This module reads,
compares and writes them; deciding anything is not its business.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.api.status import ImageStatus
from imagerefresh.api.timestamps import parse_timestamp, timestamp
from imagerefresh.plan.template import MAX_SERIAL, RESTART, Carried, as_digest
from imagerefresh.reference import InvalidReference, parse

TEXT_LENGTH = 1024
"""Characters that status keeps of a text."""
SET_BACK_TIMES = 3
"""How many times status keeps."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of one image of a policy: its state, and the digest that was last proven.

    Times are RFC 3339 strings in UTC, digests `algorithm:hex`.
    """

    reference: str = ""
    """The normalised image reference that the rest speaks of."""
    claim: str = ""
    """What was written on the target: another claim was never written, so nobody took it back."""
    serial: int = 0
    """Raised by one in every patch; of two copies the one with the higher serial is the newer."""
    asked: str | None = None
    asked_time: str | None = None
    adopted: bool = False
    """Asked was found on the target at the first observation: nobody was made to run it (B12, B18).
    """
    failed: str | None = None
    """A digest that was asked and did not become healthy, or was rejected: held (B21)."""
    handled_retry_at: str | None = None
    set_back_times: tuple[str, ...] = ()
    """When asked was set back after somebody else had changed it, the latest three (B17)."""
    deadline_seen: str | None = None
    """Time of the ProgressDeadlineExceeded that was already there when asking, so no verdict on
    what was asked (B19).
    """
    recorded: str | None = None
    """The last digest that was proven; kept in an annotation of its own."""

    @property
    def is_first_observation(self) -> bool:
        """Nothing was ever asked or recorded (B12, B18)."""
        return self.asked is None and self.recorded is None

    @property
    def is_proven(self) -> bool:
        """What is asked was seen healthy."""
        return self.asked is not None and self.asked == self.recorded

    @property
    def is_held(self) -> bool:
        """A digest failed, and is not asked again for now (B21)."""
        return self.failed is not None


@dataclass(frozen=True, slots=True)
class Recollection:
    """The copy that holds, and whether the target lost it and must get it back (row 12 of the
    table).
    """

    memory: Memory
    is_missing_on_target: bool = False


def state_text(memory: Memory) -> str:
    """The value of the state annotation: one compact JSON object; absent members are left out."""
    document = {
        "reference": memory.reference,
        "claim": memory.claim,
        "serial": memory.serial,
        "asked": memory.asked,
        "askedTime": memory.asked_time,
        "adopted": memory.adopted,
        "failed": memory.failed,
        "handledRetryAt": memory.handled_retry_at,
        "setBackTimes": list(memory.set_back_times),
        "deadlineSeen": memory.deadline_seen,
    }
    return json.dumps(
        {key: value for key, value in document.items() if value}, separators=(",", ":")
    )


def parse_state(text: str | None) -> Memory | None:
    """The state that an annotation holds; None for one that is absent or garbled, which counts as
    missing.
    """
    try:
        document = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    serial, asked, times = (
        document.get("serial"),
        document.get("asked"),
        document.get("setBackTimes"),
    )
    if type(serial) is not int or not 0 < serial < MAX_SERIAL or as_digest(asked) is None:
        return None
    return Memory(
        reference=_text(document.get("reference")) or "",
        claim=_text(document.get("claim")) or "",
        serial=serial,
        asked=as_digest(asked),
        asked_time=_time(document.get("askedTime")),
        adopted=document.get("adopted") is True,
        failed=as_digest(document.get("failed")),
        handled_retry_at=_text(document.get("handledRetryAt")),
        set_back_times=_times(times),
        deadline_seen=_text(document.get("deadlineSeen")),
    )


def from_status(status: ImageStatus | None) -> Memory | None:
    """The copy in the policy's status; None where status knows nothing of the image yet, or has a
    serial that nobody can have counted to: adding one to it might end where numbers end.
    """
    if status is None or (status.asked is None and status.recorded is None):
        return None
    if status.serial >= MAX_SERIAL:
        return None
    return Memory(
        reference=status.reference or "",
        claim=status.claim or "",
        serial=status.serial,
        asked=as_digest(status.asked),
        asked_time=status.asked_time,
        adopted=status.adopted,
        failed=as_digest(status.failed),
        handled_retry_at=status.handled_retry_at,
        set_back_times=tuple(status.set_back_times),
        deadline_seen=status.deadline_seen,
        recorded=as_digest(status.recorded),
    )


def recollect(
    *,
    name: str,
    reference: str,
    prefix: str,
    annotations: Mapping[str, str],
    status: ImageStatus | None,
    carried: Carried,
    claim: str = "",
) -> Recollection:
    """Which copy of an image's state holds (B22).

    `annotations` are those of the target's own metadata, `status` the image's entry in the policy's
    status if that speaks of the same target (same UID), else None.
    """
    on_target = parse_state(annotations.get(state_annotation(name)))
    record = as_digest(annotations.get(record_annotation(prefix, name)))
    in_status = from_status(status)
    if on_target is not None and _is_elsewhere(on_target.reference, reference):
        record = None  # it was written together with the state, of an image of another repository

    if on_target is None and in_status is None:
        found = _without_either_copy(carried, record)
        found = replace(found, reference=reference, claim=claim)
        return Recollection(found, is_missing_on_target=found.asked is not None)
    if in_status is None or (on_target is not None and on_target.serial > in_status.serial):
        # A write of ours whose status write was lost, or a policy that was created anew.
        held = replace(on_target or Memory(), recorded=record)
        is_missing = False
    elif on_target is None or on_target.serial < in_status.serial:
        # Somebody took the target back, or stripped it: status remembers.
        held, is_missing = in_status, True
    else:
        # The same write on both sides: a person may have edited the record, or its annotation's
        # prefix has changed.
        held = replace(in_status, recorded=record or in_status.recorded)
        is_missing = record is None and in_status.recorded is not None
    if held.claim not in ("", claim):
        # The action writes something else now, so what it asked before is not there to be proven.
        held = replace(held, asked=held.recorded, failed=None, set_back_times=())
    held = replace(held, claim=claim)
    if held.asked is None and held.recorded is not None:
        stamped = carried.stamp.digest if carried.stamp else None
        held = replace(held, asked=carried.digest or stamped or held.recorded)
    if _is_elsewhere(held.reference, reference):
        # A digest means nothing in another repository, to be set back there or rolled back to: the
        # image is met anew. A field tells what it carries; a floating tag counts as a move (B1).
        floats = carried.digest is None and claim == RESTART
        asked = held.asked if floats else carried.digest
        asked_time = held.asked_time if asked == held.asked else None
        held = replace(held, asked=asked, asked_time=asked_time, adopted=True, recorded=None)
        is_missing = False
    if held.reference != reference:
        # Another image is followed now: what was held of the old one says nothing about it (B1).
        held = replace(held, reference=reference, failed=None, set_back_times=())
    if held.failed is not None and held.failed == held.recorded:
        held = replace(held, failed=None)  # a person has recorded it by hand: they know better
    return Recollection(held, is_missing)


def _is_elsewhere(known: str, reference: str) -> bool:
    """Whether what is known speaks of another repository. An unreadable text speaks of none."""
    try:
        return parse(known).name != parse(reference).name
    except InvalidReference:
        return False


def _without_either_copy(carried: Carried, record: str | None) -> Memory:
    """Both copies are gone, or another tool kept the record before us: the template knows best,
    then the record.
    """
    serial = carried.stamp.serial if carried.stamp else 0
    is_ours = carried.stamp is not None or carried.is_pinned
    if record is None and not is_ours:
        return Memory()  # a first observation
    asked = carried.digest or (carried.stamp.digest if carried.stamp else None) or record
    return Memory(
        serial=serial, asked=asked, adopted=not is_ours and asked != record, recorded=record
    )


def _text(value: object) -> str | None:
    return value[:TEXT_LENGTH] if isinstance(value, str) and value else None


def _time(value: object) -> str | None:
    moment = parse_timestamp(value) if isinstance(value, str) else None
    return timestamp(moment) if moment else None


def _times(value: object) -> tuple[str, ...]:
    times = value if isinstance(value, list) else []
    return tuple(text for each in times if (text := _time(each)))[-SET_BACK_TIMES:]
