"""Pauses of a quiet policy, of an invalid one, and of an API server in trouble."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import pytest

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.cluster.errors import Throttled, Unavailable
from imagerefresh.plan.due import next_turn
from imagerefresh.plan.summary import report
from imagerefresh.plan.template import Problem
from imagerefresh.reconcile.pacer import Pacer
from imagerefresh.reconcile.quiet import quiet_spell
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.track import QuietSpell
from unit.plan.builders import (
    D1,
    Json,
    a_spec,
)
from unit.plan.telling import findings
from unit.reconcile.builders import Clocks, a_policy
from unit.reconcile.paces import (
    IMAGE,
    LONGEST,
    UP,
    looked,
    paced,
    paused,
    ran,
)


class TestQuiet:
    """B27: what may stay alone is not thought over at each turn."""

    @staticmethod
    def quiet(pacer: Pacer, clocks: Clocks) -> None:
        """As a run leaves a quiet policy, a second before its turn."""
        spec = a_spec(IMAGE)
        clocks.go(next_turn(spec, str(IMAGE.reference), clocks.wall) - clocks.wall - 1)
        looked(pacer, clocks)
        pacer.track.quiet = QuietSpell(spec, {"ingestor": D1}, clocks.monotonic + 300, pacer.policy)

    def test_it_waits_for_its_turn(self, pacer: Pacer, clocks: Clocks) -> None:
        ran(pacer, a_policy(status=UP))
        self.quiet(pacer, clocks)
        assert pacer.pause() == pytest.approx(1.005)
        clocks.go(1.005)
        assert pacer.pause() == 0

    @pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
    def test_a_step_of_the_wall_clock_is_a_turn(
        self, pacer: Pacer, clocks: Clocks, step: float
    ) -> None:
        """B6."""
        self.quiet(pacer, clocks)
        clocks.wall += step
        assert pacer.pause() == 0

    def test_it_ends_with_whatever_the_watch_brings(self, pacer: Pacer, clocks: Clocks) -> None:
        """B4."""
        self.quiet(pacer, clocks)
        assert paused(pacer, a_policy(status=UP, requested="q1")) == 0
        assert pacer.track.quiet is None

    @pytest.mark.parametrize(("requested", "is_quiet"), [(None, True), ("q1", False)])
    def test_the_echo_of_our_own_write_ends_it_if_it_carries_a_request(
        self, pacer: Pacer, clocks: Clocks, requested: str | None, *, is_quiet: bool
    ) -> None:
        """B4, B27: a person may have asked while the status was written."""
        ran(pacer, a_policy(status=UP))
        self.quiet(pacer, clocks)
        echo = a_policy(status=UP, requested=requested) if requested else a_policy(status=UP)
        echo["metadata"]["resourceVersion"] = "200"
        pacer.track.has_written(echo, UP)
        pacer.notice(echo)
        assert (pacer.track.quiet is not None) is is_quiet
        assert (pacer.pause() > 0) is is_quiet

    def test_a_spell_that_a_run_left_for_an_older_policy_is_dropped(
        self, pacer: Pacer, clocks: Clocks
    ) -> None:
        """B4: a turn passed in it would never end, and nothing else would run."""
        ran(pacer, a_policy(status=UP))
        self.quiet(pacer, clocks)
        left_behind = pacer.track.quiet
        pacer.notice(a_policy(status=UP, requested="q1"))
        pacer.track.quiet = left_behind
        assert pacer.pause() == 0
        assert pacer.track.quiet is None

    def test_a_request_that_came_during_the_run(self, pacer: Pacer, clocks: Clocks) -> None:
        """B4: at once; a run that knew nothing of it must not hide it."""
        policy = a_policy(status=with_times(UP, clocks))
        pacer.notice(policy)
        looked(pacer, clocks)
        track = pacer.track
        run = Run(policy, track.spec(policy), track, UP, clocks.wall, clocks.monotonic)
        pacer.notice({**policy, "metadata": a_policy(requested="q1")["metadata"]})
        track.quiet = quiet_spell(run, 300)
        pacer.has_run(policy)
        assert pacer.pause() == 0


def with_times(status: Status, clocks: Clocks) -> Status:
    """A status that was written just now."""
    now = timestamp(datetime.fromtimestamp(clocks.wall, UTC))
    return status.model_copy(update={"last_check_time": now})


class TestInvalid:
    """B3: one bad stored object is Stalled alone."""

    INVALID: Final[dict[str, Json]] = {"interval": "1s"}

    def test_it_is_told_once(self, pacer: Pacer) -> None:
        """Also where the rule is newer than the status, which knows nothing of it."""
        assert paused(pacer, a_policy(status=UP, **self.INVALID)) == 0
        stalled = findings(None, UP, problem=Problem(Reason.InvalidSpec, "interval"))
        policy = a_policy(status=report(stalled), **self.INVALID)
        assert paused(paced(Clocks()), policy) == LONGEST


class TestApiServerInTrouble:
    """B29."""

    @pytest.mark.parametrize("policy", [a_policy(), a_policy(status=UP, requested="q1")])
    def test_it_gets_ever_more_time(
        self, pacer: Pacer, clocks: Clocks, policy: Mapping[str, Json]
    ) -> None:
        pauses = []
        for _ in range(9):
            pacer.has_failed(Unavailable("connection refused"))
            pauses.append(paused(pacer, policy))
            clocks.go(pauses[-1])
            assert paused(pacer, policy) == 0
        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]

    def test_however_long_it_lasts(self, pacer: Pacer) -> None:
        for _ in range(3000):
            pacer.has_failed(Unavailable("connection refused"))
        assert paused(pacer, a_policy()) == 60

    @pytest.mark.parametrize(("retry_after", "pause"), [(0.5, 1), (17, 17), (300, 300)])
    def test_as_long_as_it_says(self, pacer: Pacer, retry_after: float, pause: float) -> None:
        pacer.has_failed(Throttled("slow down", retry_after=retry_after))
        assert paused(pacer, a_policy()) == pause

    def test_it_ends_with_the_first_run(self, pacer: Pacer) -> None:
        for _ in range(5):
            pacer.has_failed(Unavailable("connection refused"))
        ran(pacer, a_policy(status=UP))
        assert paused(pacer, a_policy(status=UP)) > 1
        pacer.has_failed(Unavailable("connection refused"))
        assert paused(pacer, a_policy(status=UP)) == 1

    def test_it_is_told_once(self, pacer: Pacer, caplog: pytest.LogCaptureFixture) -> None:
        """B27."""
        for _ in range(3):
            pacer.has_failed(Unavailable("connection refused"))
        assert len(caplog.records) == 1
        assert "connection refused" in caplog.text


class TestResting:
    async def test_ends_when_woken(self, pacer: Pacer) -> None:
        resting = asyncio.ensure_future(pacer.rest(3600))
        await asyncio.sleep(0)
        pacer.notice(a_policy())
        await asyncio.wait_for(resting, 30)

    async def test_ends_after_the_pause(self, pacer: Pacer) -> None:
        await asyncio.wait_for(pacer.rest(0.001), 30)

    async def test_begins_anew_each_time(self, pacer: Pacer) -> None:
        """What woke it before a run was answered by that run."""
        pacer.notice(a_policy())
        resting = asyncio.ensure_future(pacer.rest(3600))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not resting.done()
        pacer.notice(a_policy())
        await asyncio.wait_for(resting, 30)
