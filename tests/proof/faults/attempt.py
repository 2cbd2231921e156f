"""One attempt at a scenario: its writes as they come in, and the fault of one of them."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from proof.faults import writes
from proof.faults.kinds import Kind, Point
from proof.faults.scenarios import Scenario
from proof.faults.stage import Stage
from testbed.faults import Fault, Hold, Write


@dataclass
class Attempt:
    """Without a `point` nothing goes wrong. The writes count from `play` on."""

    stage: Stage
    kind: Kind | None = None
    point: Point | None = None
    writes: list[tuple[Point, Write]] = field(default_factory=list)
    """As they came in."""
    first_revision: int = 0
    """Of the target, when the writes began to count."""
    first_serial: int = 0
    """Of the state on the target, at that time."""
    problem: str = ""
    """Why the scenario did not come to its end."""
    has_past: bool = True
    """False if an older object was to be shown, and there is none."""
    _ended: float | None = None
    _is_armed: bool = False
    _met: Write | None = None
    _hold: Hold | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def points(self) -> list[Point]:
        """What was written, in the order in which it came in."""
        return [point for point, write in self.writes if _is_done(write)]

    @property
    def is_met(self) -> bool:
        """The write has come, and what was to happen to it has happened."""
        if self._hold:
            return self._hold.reached.is_set()
        if self.kind is Kind.ADMISSION:  # one that comes too late is not asked about, and repeated
            tries = [write for point, write in list(self.writes) if self._is_at(point)]
            return any(write.status == HTTPStatus.FORBIDDEN for write in tries)
        return self._met is not None

    def is_overdue(self, grace: float) -> bool:
        """The scenario ended so many seconds ago."""
        return self._ended is not None and time.monotonic() - self._ended > grace

    def prepare(self, scenario: Scenario) -> None:
        """Brings the stage to where the story begins."""
        if self._goes_well(scenario.prepare):
            self.first_revision = self.stage.revision()
            self.first_serial = self.stage.serial()
            with self._lock:
                self._is_armed = True

    def play(self, scenario: Scenario) -> None:
        """Plays the story, unless the stage could not be prepared."""
        if not self.problem:
            self._goes_well(scenario.play)
        self._ended = time.monotonic()

    def plan(self, write: Write) -> Fault | None:
        """Follows a write about the stage; see fault_proxy.Plan."""
        with self._lock:
            if not self._is_armed:
                return None
            point = self._point(write)
            self.writes.append((point, write))
            if self.kind is None or self._met or not self._is_at(point):
                return None
            self._met = write
            fault = self.kind.fault()
            self._hold = fault if isinstance(fault, Hold) else None
            return fault

    def _goes_well(self, part: Callable[[Stage], None]) -> bool:
        try:
            part(self.stage)
        except (AssertionError, RuntimeError, OSError) as error:
            self.problem = f"{type(error).__name__}: {error}"
        return not self.problem

    def _is_at(self, point: Point) -> bool:
        if self.point is None:
            return False
        return (point.told, point.number) == (self.point.told, self.point.number)

    def _point(self, write: Write) -> Point:
        told = self.stage.readable(writes.tell(write))
        earlier = sum(point.told == told and _is_done(each) for point, each in self.writes)
        serial = writes.serial(write) - self.first_serial
        return Point(writes.kind(write), told, earlier + 1, serial)


def _is_done(write: Write) -> bool:
    return write.status is not None and write.status < HTTPStatus.MULTIPLE_CHOICES
