"""One scenario with every fault at every write: the proof, and what it found."""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum

from proof.faults.attempt import Attempt
from proof.faults.kinds import Kind, Point
from proof.faults.lane import TOGETHER, Lane
from proof.faults.scenarios import Scenario
from proof.faults.writes import EVENT, STATUS
from testbed.api import Manifest

TRIES = 3
"""How often a write is waited for that does not come in every run: progress may go unseen."""


class Verdict(StrEnum):
    """Of one case."""

    HOLDS = "ok"
    """It ended as without the fault, by as many rollouts."""
    FAILS = "FAILS"
    NOT_MET = "not met"
    """The write did not come in any of the tries."""
    NO_CASE = "-"


@dataclass
class Report:
    """What a scenario's cases came to."""

    scenario: Scenario
    points: list[Point] = field(default_factory=list)
    verdicts: dict[tuple[Point, Kind], Verdict] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        met = (each in (Verdict.HOLDS, Verdict.NO_CASE) for each in self.verdicts.values())
        return not self.problems and all(met)


def prove(lane: Lane, kinds: Collection[Kind]) -> Report:
    """Play the lane's scenario undisturbed, then with each kind of fault at each of its writes."""
    report = Report(lane.scenario)
    try:
        expected = _play_undisturbed(report, lane)
    except (AssertionError, OSError) as error:
        report.problems.append(f"{lane.scenario.name}, undisturbed: {error}")
        return report
    for kind in kinds:
        left = [point for point in report.points if kind.concerns(point.kind)]
        for _ in range(TRIES):
            for group in _groups(kind, left):
                _attempt(report, lane, kind, group, expected)
            left = [point for point in left if report.verdicts[point, kind] is Verdict.NOT_MET]
        for point in left:
            if point.kind == STATUS and point.number > 1:  # of progress, which may all go unseen
                report.verdicts[point, kind] = Verdict.NO_CASE
    report.problems += lane.complaints()
    return report


def _play_undisturbed(report: Report, lane: Lane) -> Manifest:
    """Finds out what is written; returns the end that all others are compared with.

    Raises:
        AssertionError: it did not come to its end, or by another number of rollouts.
        OSError: the API server can't be reached.
    """
    [attempt] = lane.attempt(None, [None])
    assert not attempt.problem, attempt.problem
    played = attempt.points
    expected = _end(attempt)
    late = [point for point in attempt.points[len(played) :] if point.kind == EVENT]
    report.points = played + late
    rollouts = attempt.stage.revision() - attempt.first_revision
    assert rollouts == lane.scenario.rollouts, f"{rollouts} rollouts"
    lane.strike([attempt])
    return expected


def _groups(kind: Kind, points: Sequence[Point]) -> Iterator[list[Point]]:
    """Points that can be met at once: an operator writes one event after the other, so of those
    only one can be held.
    """
    events = [point for point in points if point.kind == EVENT]
    if not kind.kills:
        events = []
    together = [point for point in points if point not in events] + events[:1]
    for start in range(0, len(together), TOGETHER):
        yield together[start : start + TOGETHER]
    for event in events[1:]:
        yield [event]


def _attempt(
    report: Report, lane: Lane, kind: Kind, group: Sequence[Point], expected: Manifest
) -> None:
    attempts = lane.attempt(kind, group)
    with ThreadPoolExecutor(TOGETHER) as pool:
        problems = pool.map(lambda each: _compare(each, expected), attempts)
        for point, attempt, problem in zip(group, attempts, problems, strict=True):
            report.verdicts[point, kind] = _verdict(lane, attempt, problem)
            if problem:
                told = f"{lane.scenario.name}: {kind} at {point}: {problem}"
                written = "; ".join(f"{each} {write.status}" for each, write in attempt.writes)
                report.problems.append(f"{told}\n  writes: {written}")
    lane.strike(attempts)


def _verdict(lane: Lane, attempt: Attempt, problem: str) -> Verdict:
    if problem:
        return Verdict.FAILS
    if not attempt.has_past:
        return Verdict.NO_CASE
    is_met = attempt.is_met and not lane.has_unread_past(attempt)
    return Verdict.HOLDS if is_met else Verdict.NOT_MET


def _end(attempt: Attempt) -> Manifest:
    """Where it ended."""
    attempt.stage.check()
    attempt.stage.wait_for(lambda: _is_at_rest(attempt.stage.snapshot()), "it is at rest")
    return attempt.stage.snapshot()


def _is_at_rest(found: Manifest) -> bool:
    return all(each["type"] != "Reconciling" for each in found["conditions"])


def _compare(attempt: Attempt, expected: Manifest) -> str:
    """What is different from the undisturbed end; empty if nothing is. One more run must find
    nothing to do.
    """
    if attempt.problem:
        return attempt.problem
    try:
        found = _end(attempt)
    except (AssertionError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    differences = [
        f"{key} is {found.get(key)}, not {expected.get(key)}"
        for key in expected
        if found.get(key) != expected.get(key)
    ]
    return "; ".join(differences)
