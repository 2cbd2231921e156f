"""When a policy runs next, to the second, by clocks of the test's own."""

from collections.abc import Mapping

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.plan.due import next_turn
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import Problem
from imagerefresh.reconcile.pacer import Pacer
from unit.plan.builders import (
    D1,
    D2,
    IDLE,
    LATE,
    PAUSED,
    Json,
    a_spec,
    a_target,
    image_json,
)
from unit.plan.telling import DENIED, one, told, trouble
from unit.reconcile.builders import GENERATION, Clocks, a_policy
from unit.reconcile.paces import (
    HELD,
    IMAGE,
    LONGEST,
    MOVING,
    PROVEN,
    ROLLING,
    UP,
    looked,
    paced,
    paused,
    ran,
)


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
            told(one(MOVING, D2, health=IDLE)),
            told(one(HELD, D2, health=LATE)),
            told(one(PROVEN, D1, health=LATE)),
            told(one(PROVEN, D1, target=a_target(variable="v1"))),
            told(one(PROVEN, D1), problem=Problem(Reason.TargetNotFound, "gone")),
            told(one(PROVEN, D1), problem=Problem(Reason.Forbidden, "no")),
        ],
        ids=["paused", "scaled to zero", "held", "degraded", "blocked", "no target", "forbidden"],
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


def test_a_memory_of_nothing_is_a_new_policy(clocks: Clocks) -> None:
    pending = told(one(Memory(), None))
    assert paused(paced(clocks), a_policy(status=pending)) == 0
