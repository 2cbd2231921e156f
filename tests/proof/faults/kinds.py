"""The kinds of faults, and to which writes each can happen."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from proof.faults.writes import EVENT, STATUS, TARGET
from testbed.faults import CONFLICT, FAILURE, FORBIDDEN, THROTTLE, Cut, Fault, Hold


class Kind(StrEnum):
    """Each is a column of the table."""

    KILLED_BEFORE = "killed before"
    KILLED_AFTER = "killed after"
    OLD_TARGET = "killed after, old target"
    """The next process meets the target as it was before its latest write."""
    OLD_POLICY = "killed after, old policy"
    FORBIDDEN = "403"
    ADMISSION = "403 by admission"
    """By a ValidatingAdmissionPolicy, where that can single out the write."""
    CONFLICT = "409"
    FAILURE = "500"
    THROTTLE = "429"
    CUT_BEFORE = "cut before"
    CUT_AFTER = "cut after"

    @property
    def kills(self) -> bool:
        return self in (Kind.KILLED_BEFORE, Kind.KILLED_AFTER, Kind.OLD_TARGET, Kind.OLD_POLICY)

    def concerns(self, kind: str) -> bool:
        """Whether it can happen to a write of this kind."""
        match self:
            case Kind.OLD_TARGET | Kind.OLD_POLICY:
                return kind in (TARGET, STATUS)
            case Kind.ADMISSION:
                return kind == TARGET
            case _:
                return kind in (TARGET, STATUS, EVENT)

    def fault(self) -> Fault | None:
        """What the proxy is to do; None if it only passes on what the API server says."""
        return _FAULTS[self]()


_FAULTS: dict[Kind, Callable[[], Fault | None]] = {
    Kind.KILLED_BEFORE: lambda: Hold(is_done=False),
    Kind.KILLED_AFTER: lambda: Hold(is_done=True),
    Kind.OLD_TARGET: lambda: Hold(is_done=True),
    Kind.OLD_POLICY: lambda: Hold(is_done=True),
    Kind.FORBIDDEN: lambda: FORBIDDEN,
    Kind.ADMISSION: lambda: None,
    Kind.CONFLICT: lambda: CONFLICT,
    Kind.FAILURE: lambda: FAILURE,
    Kind.THROTTLE: lambda: THROTTLE,
    Kind.CUT_BEFORE: lambda: Cut(is_done=False),
    Kind.CUT_AFTER: lambda: Cut(is_done=True),
}


@dataclass(frozen=True)
class Point:
    """A write of a scenario: `told` says what it brings, `number` counts those that say the same.

    `serial` is that of the state in a target's write, counted from where the scenario began.
    """

    kind: str
    told: str
    number: int
    serial: int

    def __str__(self) -> str:
        return self.told if self.number == 1 else f"{self.told} ({self.number})"
