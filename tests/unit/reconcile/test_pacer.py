"""When a policy runs next, to the second, by clocks of the test's own."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.cluster.errors import Throttled, Unavailable
from imagerefresh.plan.due import latest_turn, next_turn
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.summary import report
from imagerefresh.plan.template import Problem
from imagerefresh.reconcile.pacer import Pacer
from imagerefresh.reconcile.quiet import quiet_spell
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.track import QuietSpell
from unit.plan.builders import (
    D1,
    D2,
    LATE,
    PAUSED,
    PROGRESSING,
    Json,
    a_memory,
    a_spec,
    a_target,
    an_image,
    image_json,
)
from unit.plan.telling import DENIED, findings, one, told, trouble
from unit.reconcile.builders import GENERATION, Clocks, a_policy

PROVEN: Final = a_memory(D1, recorded=D1)
MOVING: Final = a_memory(D2, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
IMAGE: Final = an_image(ActionType.SET_ENV)
UP: Final = told(one(PROVEN, D1))
ROLLING: Final = told(one(MOVING, D2, health=PROGRESSING))
LONGEST: Final = 60.0


def paced(clocks: Clocks) -> Pacer:
    """The pacer of one policy."""
    return Pacer(wall_clock=lambda: clocks.wall, monotonic=lambda: clocks.monotonic)


def paused(pacer: Pacer, policy: Mapping[str, Json]) -> float:
    """The pause once the watch has brought the policy."""
    pacer.notice(policy)
    return pacer.pause()


def ran(pacer: Pacer, policy: Mapping[str, Json]) -> None:
    """A run of the policy has come to its end."""
    pacer.notice(policy)
    pacer.has_run(pacer.policy)


def looked(pacer: Pacer, clocks: Clocks, interval: str = "15m") -> Pacer:
    """As after a run: the tags were looked at, and the target."""
    turn = latest_turn(a_spec(IMAGE, interval=interval), str(IMAGE.reference), clocks.wall)
    pacer.track.looked["ingestor"] = turn
    pacer.track.target_seen = clocks.monotonic
    return pacer


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def pacer(clocks: Clocks) -> Pacer:
    return looked(paced(clocks), clocks)


class TestTurns:
    def test_a_new_policy_runs_at_once(self, clocks: Clocks) -> None:
        """B6."""
        assert paused(paced(clocks), a_policy()) == 0

    def test_what_was_observed_before_a_restart_waits_for_its_turn(self, clocks: Clocks) -> None:
        """B6: no burst."""
        assert paused(paced(clocks), a_policy(status=UP)) > 0

    def test_what_was_under_way_does_not(self, clocks: Clocks) -> None:
        assert paused(paced(clocks), a_policy(status=ROLLING)) == 0

    def test_a_quiet_policy_waits_for_its_turn_and_a_moment_more(
        self, pacer: Pacer, clocks: Clocks
    ) -> None:
        turn = next_turn(a_spec(IMAGE), str(IMAGE.reference), clocks.wall)
        clocks.go(turn - clocks.wall - 42)
        looked(pacer, clocks)
        assert paused(pacer, a_policy(status=UP)) == pytest.approx(42.005)
        clocks.go(42.005)
        assert paused(pacer, a_policy(status=UP)) == 0

    def test_but_never_for_long(self, pacer: Pacer, clocks: Clocks) -> None:
        """B6: so that a step of the clock is noticed."""
        turn = next_turn(a_spec(IMAGE), str(IMAGE.reference), clocks.wall)
        clocks.go(turn - clocks.wall + 1)
        looked(pacer, clocks)
        assert paused(pacer, a_policy(status=UP)) == LONGEST

    @pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
    def test_a_step_of_the_wall_clock_is_a_turn(
        self, pacer: Pacer, clocks: Clocks, step: float
    ) -> None:
        """B6: at most one extra turn, at once."""
        clocks.wall += step
        assert paused(pacer, a_policy(status=UP)) == 0
        looked(pacer, clocks)
        assert paused(pacer, a_policy(status=UP)) > 0

    @pytest.mark.parametrize(
        "policy",
        [
            a_policy(status=told(one(PROVEN, D1, spec={"suspend": True})), suspend=True),
            a_policy(
                image_json(ActionType.SET_ENV, pinned=True),
                status=told(one(PROVEN, D1, pinned=True)),
            ),
        ],
        ids=["suspended", "pinned"],
    )
    def test_an_inert_policy_has_no_turn(self, pacer: Pacer, policy: Mapping[str, Json]) -> None:
        """B2, B4."""
        assert paused(pacer, policy) == LONGEST


class TestRequests:
    """B4: at once."""

    @pytest.mark.parametrize(
        "policy",
        [
            a_policy(status=UP, requested="q1"),
            a_policy(status=UP, retry="r1"),
            a_policy(status=UP, generation=GENERATION + 1),
            a_policy(status=UP, generation=GENERATION + 1, suspend=True),
            a_policy(status=ROLLING, requested="q1"),
        ],
        ids=["look", "retry", "changed", "suspended", "while it is followed"],
    )
    def test_run_at_once(self, pacer: Pacer, clocks: Clocks, policy: Mapping[str, Json]) -> None:
        ran(pacer, a_policy(status=ROLLING))
        clocks.go(0.1)
        assert paused(pacer, policy) == 0

    def test_one_that_stays_open_does_not_run_all_the_time(
        self, pacer: Pacer, clocks: Clocks
    ) -> None:
        waiting = a_policy(status=told(one(HELD, None)), retry="r1")
        ran(pacer, waiting)
        assert paused(pacer, waiting) == 1
        clocks.go(1000)
        looked(pacer, clocks)
        ran(pacer, waiting)
        assert paused(pacer, waiting) == 30

    def test_another_one_does_not_wait_for_it(self, pacer: Pacer, clocks: Clocks) -> None:
        ran(pacer, a_policy(status=told(one(HELD, None)), retry="r1"))
        clocks.go(0.1)
        assert paused(pacer, a_policy(status=told(one(HELD, None)), retry="r2")) == 0


class TestFollowing:
    def test_a_rollout_is_looked_at_ever_more_slowly(self, pacer: Pacer, clocks: Clocks) -> None:
        policy = a_policy(status=ROLLING, interval="720h")
        looked(pacer, clocks, "720h")
        ran(pacer, policy)
        steps = []
        for _ in range(60):
            steps.append(paused(pacer, policy))
            clocks.go(steps[-1])
            looked(pacer, clocks, "720h")
            assert paused(pacer, policy) == pytest.approx(0, abs=1e-6)
            ran(pacer, policy)
        assert steps[:10] == [1] * 10
        assert steps == sorted(steps)
        assert steps[-1] == 30

    def test_it_ends_with_the_rollout(self, pacer: Pacer, clocks: Clocks) -> None:
        ran(pacer, a_policy(status=ROLLING))
        assert paused(pacer, a_policy(status=UP, version="101")) > 1
        ran(pacer, a_policy(status=UP, version="101"))
        clocks.go(1000)
        looked(pacer, clocks)
        ran(pacer, a_policy(status=ROLLING, version="102"))
        assert paused(pacer, a_policy(status=ROLLING, version="102")) == 1

    def test_a_refused_write_gets_time(self, pacer: Pacer, clocks: Clocks) -> None:
        """B29: from 10 s to 10 min."""
        refused = Problem(Reason.PatchRefused, "no")
        policy = a_policy(status=told(one(PROVEN, D2), problem=refused, is_acted=False))
        pauses = []
        for _ in range(9):
            pacer.track.back_off(clocks.monotonic, refused)
            ran(pacer, policy)
            pauses.append(pacer.track.not_before - clocks.monotonic)
            assert paused(pacer, policy) <= pauses[-1]
            clocks.go(pauses[-1])
        assert pauses == [10, 20, 40, 80, 160, 320, 600, 600, 600]

    @pytest.mark.parametrize(
        "status",
        [
            told(one(MOVING, D2, health=PAUSED)),
            told(one(HELD, D2, health=LATE)),
            told(one(PROVEN, D1, health=LATE)),
            told(one(PROVEN, D1, target=a_target(variable="v1"))),
            told(one(PROVEN, D1), problem=Problem(Reason.TargetNotFound, "gone")),
            told(one(PROVEN, D1), problem=Problem(Reason.Forbidden, "no")),
        ],
        ids=["paused", "held", "degraded", "blocked", "no target", "forbidden"],
    )
    def test_what_a_person_mends_on_the_target_is_seen_soon(
        self, pacer: Pacer, clocks: Clocks, status: Status
    ) -> None:
        """B25: it is picked up when it (re)appears."""
        policy = a_policy(status=status)
        ran(pacer, policy)
        assert paused(pacer, policy) == 30
        clocks.go(30)
        assert paused(pacer, policy) == 0

    def test_what_is_mended_at_the_registry_is_not_asked_for_all_the_time(
        self, pacer: Pacer
    ) -> None:
        """B9."""
        status = told(one(PROVEN, None), troubles={"ingestor": trouble(1, DENIED)})
        ran(pacer, a_policy(status=status))
        assert paused(pacer, a_policy(status=status)) > 30


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
        await asyncio.wait_for(resting, 5)

    async def test_ends_after_the_pause(self, pacer: Pacer) -> None:
        await asyncio.wait_for(pacer.rest(0.001), 5)

    async def test_begins_anew_each_time(self, pacer: Pacer) -> None:
        """What woke it before a run was answered by that run."""
        pacer.notice(a_policy())
        resting = asyncio.ensure_future(pacer.rest(3600))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not resting.done()
        pacer.notice(a_policy())
        await asyncio.wait_for(resting, 5)


def test_a_memory_of_nothing_is_a_new_policy(clocks: Clocks) -> None:
    pending = told(one(Memory(), None))
    assert paused(paced(clocks), a_policy(status=pending)) == 0
