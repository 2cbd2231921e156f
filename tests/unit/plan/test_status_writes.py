"""What else a status tells, and when it is worth a write (B26, B27)."""

from datetime import timedelta
from typing import Final

import pytest

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.health import Counts
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.progress import Progress
from imagerefresh.plan.summary import is_ready, report, tells_something_new
from imagerefresh.plan.template import Problem
from unit.plan.builders import D1, D2, LATE, NOW, PROGRESSING, UID, Json, a_memory, a_target
from unit.plan.telling import findings, one, told

PROVEN: Final = a_memory(D1, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")
UP: Final = told(one(PROVEN, D1))


class TestWhatIsWorthAWrite:
    """B27."""

    def test_nothing_new(self) -> None:
        assert not tells_something_new(UP, UP)

    @pytest.mark.parametrize(
        "change",
        [
            {"observed_generation": 4},
            {"target_uid": "other"},
            {"last_handled_retry_at": "r1"},
            {"images": []},
            {"conditions": []},
        ],
    )
    def test_anything_else_than_the_check_times(self, change: Json) -> None:
        assert tells_something_new(UP, UP.model_copy(update=change))

    @pytest.mark.parametrize(
        ("age", "expected"), [(0, False), (59, False), (60, True), (-59, False), (-60, True)]
    )
    def test_check_times_alone_at_most_hourly(self, age: int, expected: bool) -> None:
        written = UP.model_copy(update={"last_check_time": timestamp(NOW)})
        later = NOW + timedelta(minutes=age)
        checked = UP.model_copy(
            update={"last_check_time": timestamp(later), "next_check_time": timestamp(later)}
        )
        assert tells_something_new(written, checked) is expected

    def test_no_check_time_at_all(self) -> None:
        assert not tells_something_new(Status(), Status())
        assert not tells_something_new(UP, UP.model_copy(update={"next_check_time": None}))

    def test_the_first_check_time(self) -> None:
        checked = UP.model_copy(update={"last_check_time": timestamp(NOW)})
        assert tells_something_new(UP, checked)


def test_the_times_of_checks_are_told() -> None:
    """B26."""
    status = told(one(PROVEN, D1), last_check=NOW.timestamp(), next_check=NOW.timestamp() + 60)
    assert status.last_check_time == timestamp(NOW)
    assert status.next_check_time == timestamp(NOW + timedelta(minutes=1))


def test_a_check_that_was_not_made_keeps_the_time_of_the_last() -> None:
    before = told(one(PROVEN, D1), last_check=NOW.timestamp())
    assert told(one(PROVEN, D1), before).last_check_time == timestamp(NOW)


def test_the_uid_of_the_target_is_told() -> None:
    """B22: so that another object of its name is known as another."""
    status = told(one(PROVEN, D1), Status(target_uid="other"))
    assert status.target_uid == UID
    assert report(findings(None, status, problem=GONE)).target_uid == UID


def test_the_last_refresh_is_that_of_any_image() -> None:
    """B26: a baseline that was taken over is none."""
    baseline = told(one(Memory(), D1, target=a_target(variable=D1)))
    assert baseline.last_refresh_time is None
    refreshed = told(one(a_memory(D2, D1), D2), baseline)
    assert refreshed.last_refresh_time == timestamp(NOW)
    assert told(one(PROVEN, D1), refreshed).last_refresh_time == timestamp(NOW)


def test_a_rollout_is_told_while_there_is_one() -> None:
    progress = Progress("a", Counts(1, 1, 1, 2), 0.0, 0.0, NOW)
    rolling = told(one(a_memory(D2), D2, health=PROGRESSING), progress=progress)
    assert rolling.rollout is not None
    assert told(one(PROVEN, D1), rolling).rollout is None


@pytest.mark.parametrize("status", [UP, told(one(HELD, D2, health=LATE)), Status()])
def test_is_ready_reads_the_condition(status: Status) -> None:
    assert is_ready(status) is (status is UP)
