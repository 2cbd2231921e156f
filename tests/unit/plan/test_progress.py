"""How long a rollout has made no progress (B19)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest

from imagerefresh.api.status import RolloutProgress, Status, parse_status
from imagerefresh.plan.health import Counts, judge
from imagerefresh.plan.progress import (
    Progress,
    advance,
    from_status,
    identify_asks,
    identify_rollout,
    to_status,
)
from unit.plan.builders import D1, D2, D3, EARLIER, NOW, Json, a_memory, a_workload

START: Final = Counts(updated=0, ready=0, available=0, old=3)


def after(
    counts: Counts | None,
    seconds: float,
    previous: Progress | None,
    *,
    asks: str = "a",
    is_healthy: bool = False,
    is_running: bool = True,
) -> Progress:
    """The progress after a look, so many seconds after the first."""
    return advance(
        previous,
        asks,
        counts,
        is_healthy=is_healthy,
        is_running=is_running,
        seen=1000.0 + seconds,
        now=NOW + timedelta(seconds=seconds),
    )


def stalled(progress: Progress) -> float:
    """Seconds without progress."""
    return progress.stalled_for.total_seconds()


@pytest.mark.parametrize(
    "counts",
    [
        replace(START, updated=1),
        replace(START, ready=1),
        replace(START, available=1),
        replace(START, old=2),
        Counts(3, 3, 3, 0),
    ],
)
def test_progress_is_a_rise_of_the_new_or_a_fall_of_the_old(counts: Counts) -> None:
    """B19."""
    assert stalled(after(counts, 60, after(START, 0, None))) == 0


@pytest.mark.parametrize("counts", [START, replace(START, old=4), None])
def test_all_else_is_none(counts: Counts | None) -> None:
    """B19."""
    assert stalled(after(counts, 60, after(START, 0, None))) == 60


def test_only_the_best_so_far_counts() -> None:
    """B19: a pod that comes up and goes down again and again is no progress."""
    best = after(Counts(1, 1, 1, 2), 30, after(START, 0, None))
    down = after(Counts(1, 0, 0, 2), 60, best)
    assert stalled(after(Counts(1, 1, 1, 2), 90, down)) == 60
    assert stalled(after(Counts(1, 1, 1, 1), 90, down)) == 0


def test_another_ask_begins_anew() -> None:
    stuck = after(START, 500, after(START, 0, None))
    assert stalled(after(START, 501, stuck, asks="b")) == 0


def test_the_first_counts_of_the_asked_template_are_progress() -> None:
    unseen = after(None, 0, None)
    assert stalled(after(None, 60, unseen)) == 60
    assert stalled(after(START, 90, unseen)) == 0
    assert stalled(after(START, 120, after(START, 90, unseen))) == 30


def test_time_stands_still_while_the_clock_does_not_run() -> None:
    """B19, B21: paused, or a restart's registry can't be reached; then it goes on."""
    begun = after(START, 60, after(START, 0, None))
    stopped = after(START, 3600, begun, is_running=False)
    assert stalled(stopped) == 60
    assert stalled(after(START, 3660, stopped)) == 120


def test_what_was_healthy_has_its_time_anew() -> None:
    """B19, B21: of hours in which all was well, but could not be recorded, none were a stall."""
    healthy = after(Counts(3, 3, 3, 0), 60, after(START, 0, None), is_healthy=True)
    later = after(Counts(3, 3, 3, 0), 7200, healthy, is_healthy=True)
    dip = after(Counts(3, 2, 2, 0), 7260, later)
    assert stalled(later) == 7140  # so long have its pods had to turn to what was asked (B15)
    assert stalled(dip) == 0
    assert stalled(after(Counts(3, 2, 2, 0), 7320, dip)) == 60


def test_progress_is_seen_while_the_clock_does_not_run() -> None:
    begun = after(START, 60, after(START, 0, None))
    assert stalled(after(replace(START, updated=1), 3600, begun, is_running=False)) == 0


class TestRestart:
    """What a rollout has reached survives a restart of the operator in status."""

    @staticmethod
    def restarted(progress: Progress, seconds: float, counts: Counts = START) -> Progress:
        """The progress after a first look of a new process, whose monotonic clock is another."""
        stored = parse_status(Status(rollout=to_status(progress)).to_json()).rollout
        now = NOW + timedelta(seconds=seconds)
        known = from_status(stored, seen=50.0, now=now)
        return advance(
            known, progress.asks, counts, is_healthy=False, is_running=True, seen=50.0, now=now
        )

    def test_time_goes_on(self) -> None:
        begun = after(START, 60, after(START, 0, None))
        assert stalled(self.restarted(begun, 300)) == 300

    def test_what_was_reached_is_no_progress_again(self) -> None:
        begun = after(Counts(1, 1, 1, 2), 60, after(START, 0, None))
        assert stalled(self.restarted(begun, 300, Counts(1, 1, 1, 2))) == 240
        assert stalled(self.restarted(begun, 300, Counts(2, 1, 1, 2))) == 0

    def test_a_clock_that_was_set_back_fails_nothing(self) -> None:
        begun = after(START, 60, after(START, 0, None))
        assert stalled(self.restarted(begun, -3600)) == 0

    def test_time_that_stood_still_is_not_made_up_for(self) -> None:
        """B19, B21: or a restart at the end of an outage would fail the rollout at once."""
        begun = after(START, 60, after(START, 0, None))
        stopped = begun
        for seconds in range(120, 7201, 60):
            stopped = after(START, seconds, stopped, is_running=False)
        assert stalled(self.restarted(stopped, 7201)) < 600

    def test_nor_after_the_clock_runs_again(self) -> None:
        begun = after(START, 60, after(START, 0, None))
        stopped = after(START, 7200, begun, is_running=False)
        resumed = after(START, 7260, stopped)
        assert stalled(resumed) == 120
        assert stalled(self.restarted(resumed, 7290)) == 150

    def test_a_rollout_that_nobody_saw_yet(self) -> None:
        unseen = after(None, 0, None)
        assert stalled(self.restarted(unseen, 60)) == 0

    @pytest.mark.parametrize(
        "status", [None, RolloutProgress(), RolloutProgress(asks="a", updated=1)]
    )
    def test_without_a_time_nothing_is_known(self, status: RolloutProgress | None) -> None:
        assert from_status(status, seen=0.0, now=NOW) is None


def test_nothing_new_is_told_while_nothing_moves() -> None:
    """B27: the copy in status changes with progress only."""
    begun = after(START, 0, None)
    assert to_status(after(START, 60, begun)) == to_status(begun)
    stopped = after(START, 90, begun, is_running=False)
    assert to_status(after(START, 7290, stopped, is_running=False)) == to_status(stopped)


def test_a_recreated_rollout_moves_with_every_pod() -> None:
    """B19: the old pods go first; then each new one that is available is progress."""
    seen = after(None, 0, None)
    longest = 0.0
    for seconds, status in enumerate(recreation(), start=1):
        seen = after(judge(a_workload("Deployment", status)).counts, seconds * 300, seen)
        longest = max(longest, stalled(seen))
    assert longest == 0


def recreation() -> list[Json]:
    """Three old pods; none; three new ones, one after the other ready and available."""
    return [
        {"observedGeneration": 7, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3},
        {"observedGeneration": 7},
        *(
            {
                "observedGeneration": 7,
                "replicas": 3,
                "updatedReplicas": 3,
                "readyReplicas": ready,
                "availableReplicas": ready,
            }
            for ready in range(4)
        ),
    ]


class TestWhichRollout:
    """A rollout is known by what it brings."""

    def test_none_without_anything_unproven(self) -> None:
        assert identify_asks([]) == ""
        assert identify_asks([a_memory(D1, recorded=D1), a_memory(None)]) == ""

    @pytest.mark.parametrize(
        "other",
        [
            a_memory(D3),
            a_memory(D2, asked_time="2026-02-03T11:58:00Z"),
        ],
        ids=["another digest", "the same once more"],
    )
    def test_another_ask_is_another_rollout(self, other: Json) -> None:
        assert identify_asks([other]) != identify_asks([a_memory(D2)])

    def test_other_images_that_are_proven_make_no_difference(self) -> None:
        proven = a_memory(D1, recorded=D1)
        assert identify_asks([proven, a_memory(D2)]) == identify_asks([a_memory(D2)])

    def test_another_template_is_another_rollout(self) -> None:
        """Somebody mends what a rollout has waited for: the new pods have their own time."""
        asks = identify_asks([a_memory(D2)])
        first = identify_rollout(asks, {"metadata": {"annotations": {"a": "1", "b": "2"}}})
        assert first == identify_rollout(asks, {"metadata": {"annotations": {"b": "2", "a": "1"}}})
        assert first != identify_rollout(asks, {"metadata": {"annotations": {"a": "1"}}})
        assert first != identify_rollout("", {"metadata": {"annotations": {"a": "1", "b": "2"}}})

    def test_the_mark_fits_into_status(self) -> None:
        asks = identify_asks([a_memory(D2, asked_time=EARLIER)] * 50)
        assert 0 < len(identify_rollout(asks, {"spec": {}})) <= 64


def test_progress_is_told_with_its_time() -> None:
    told = to_status(after(Counts(1, 2, 3, 4), 0, None))
    assert told == RolloutProgress(
        asks="a", updated=1, ready=2, available=3, old=4, last_progress_time=_text(NOW)
    )


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
