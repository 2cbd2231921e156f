"""When a fault counts as met."""

from typing import Any, Final

import pytest

from proof.faults.attempt import Attempt
from proof.faults.kinds import Kind, Point
from testbed.faults import Write

NO_STAGE: Final[Any] = None
POINT: Final = Point("target", "web asked second", 1, serial=1)


@pytest.mark.parametrize(
    ("statuses", "is_met"), [([409, 403, 200], True), ([409, 200], False), ([None], False)]
)
def test_admission_refuses_what_comes_again_after_a_conflict(
    statuses: list[int | None], is_met: bool
) -> None:
    """A write with an old resource version never gets as far as admission."""
    attempt = Attempt(NO_STAGE, Kind.ADMISSION, POINT)
    attempt.writes = [(POINT, _write(status)) for status in statuses]
    assert attempt.is_met is is_met


def test_another_write_that_is_refused_is_not_the_one() -> None:
    attempt = Attempt(NO_STAGE, Kind.ADMISSION, POINT)
    attempt.writes = [(Point("target", "web asked first", 1, serial=1), _write(403))]
    assert not attempt.is_met


def _write(status: int | None) -> Write:
    return Write(1, "PATCH", "/apis/apps", "t", "deployments", "web", "", {}, status)
