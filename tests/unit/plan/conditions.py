"""What holds of every status that is told (B26): the kstatus rules, and that it can be stored."""

from datetime import datetime

from imagerefresh.api.status import MESSAGE_LENGTH, Condition, ConditionType, Status, parse_status
from imagerefresh.api.timestamps import timestamp

ABNORMAL = frozenset({ConditionType.RECONCILING, ConditionType.STALLED})


def check(before: Status, after: Status, *, generation: int, now: datetime) -> None:
    """Raises AssertionError where a status that was reported at `now` breaks a rule."""
    kinds = [each.type for each in after.conditions]
    assert len(set(kinds)) == len(kinds)
    assert ConditionType.READY in kinds, "Ready is always there"
    assert len(ABNORMAL.intersection(kinds)) <= 1, "Reconciling and Stalled are never there both"
    assert after.observed_generation == generation
    for each in after.conditions:
        assert each.observed_generation == generation
        assert each.message
        _check_transition(before, each, now)
        if each.type in ABNORMAL:
            assert each.status == "True", "an abnormal condition is there only while it holds"
            assert _status(after) != "True", "nothing abnormal is Ready"
    for image in after.images:
        assert image.reason is not None
    for message in messages(after):
        assert len(message) <= MESSAGE_LENGTH
    check_storable(after)


def messages(status: Status) -> list[str]:
    """All that a status says in sentences."""
    told = [each.message for each in status.conditions]
    return told + [image.message or "" for image in status.images]


def check_storable(status: Status) -> None:
    """The API server takes it, and what it gives back is what was told (B27)."""
    stored = status.to_json()
    assert Status.model_validate(stored) == status
    assert parse_status(stored) == status


def _check_transition(before: Status, condition: Condition, now: datetime) -> None:
    earlier = next((each for each in before.conditions if each.type is condition.type), None)
    is_same = earlier is not None and earlier.status == condition.status
    since = earlier.last_transition_time if earlier and is_same else timestamp(now)
    assert condition.last_transition_time == since, "the time moves with the status, and only then"


def _status(status: Status) -> str:
    return next(each.status for each in status.conditions if each.type is ConditionType.READY)
