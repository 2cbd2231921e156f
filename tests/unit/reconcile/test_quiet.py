"""The quiet turn: the tags are found as they were, and nobody is told (B5, B27)."""

from collections.abc import Mapping
from copy import deepcopy
from datetime import timedelta
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.status import Status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.due import Looks, latest_turn, next_turn
from imagerefresh.reconcile.quiet import pass_quietly, quiet_spell
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.track import QuietSpell, Track
from imagerefresh.registry import Trouble
from unit.plan.builders import (
    D1,
    D2,
    LATE,
    NOW,
    PROGRESSING,
    Json,
    a_memory,
    a_spec,
    an_image,
    image_json,
)
from unit.plan.telling import one, told, trouble
from unit.reconcile.builders import Clocks, a_policy
from unit.reconcile.shelf import ARTIFACT, DOWN, Shelf

SET_ENV, RESTART = ActionType.SET_ENV, ActionType.RESTART
IMAGE: Final = an_image(SET_ENV)
REFERENCE: Final = str(IMAGE.reference)
SPEC: Final = a_spec(IMAGE)
PROVEN: Final = a_memory(D1, recorded=D1)
CHECKED: Final = timestamp(NOW - timedelta(minutes=10))
UP: Final = told(one(PROVEN, D1)).model_copy(update={"last_check_time": CHECKED})
SEEN: Final = 900.0


def spell(
    policy: Mapping[str, Json], quiet_look: float = 300.0, seen: float | None = SEEN
) -> QuietSpell | None:
    """What may stay alone after a run that began at 1000 on the monotonic clock."""
    track = Track(target_seen=seen)
    status = track.status(policy)
    run = Run(policy, track.spec(policy), track, status, NOW.timestamp(), 1000.0)
    return quiet_spell(run, quiet_look)


class TestWhatMayStayAlone:
    def test_a_policy_of_which_all_is_known_and_well(self) -> None:
        found = spell(a_policy(status=UP))
        assert found is not None
        assert found.digests == {"ingestor": D1}

    @pytest.mark.parametrize(
        ("quiet_look", "until"), [(300.0, SEEN + 300), (9000.0, 1000.0 + 50 * 60)]
    )
    def test_until_the_target_or_the_check_times_are_old(
        self, quiet_look: float, until: float
    ) -> None:
        """B17, B20, B27: drift and health are looked for, and the times told, at most hourly."""
        found = spell(a_policy(status=UP), quiet_look)
        assert found is not None
        assert found.until == until

    @pytest.mark.parametrize(
        "status",
        [
            pytest.param(Status(), id="new"),
            pytest.param(told(one(PROVEN, D1)), id="never checked"),
            pytest.param(told(one(a_memory(D2, D1), D2, health=PROGRESSING)), id="under way"),
            pytest.param(told(one(a_memory(D2, D1, D2), D2, health=LATE)), id="held"),
            pytest.param(told(one(PROVEN, D1, health=LATE)), id="degraded"),
            pytest.param(told(one(PROVEN, None)), id="its tag is not known"),
            pytest.param(
                told(one(PROVEN, None), UP, troubles={"ingestor": trouble(1)}), id="in trouble"
            ),
        ],
    )
    def test_nothing_else(self, status: Status) -> None:
        checked = {} if status.last_check_time is None else {"last_check_time": CHECKED}
        assert spell(a_policy(status=status.model_copy(update=checked))) is None

    @pytest.mark.parametrize(
        "policy",
        [
            a_policy(status=UP, requested="q1"),
            a_policy(status=UP, retry="r1"),
            a_policy(status=UP, generation=4),
            a_policy(image_json(SET_ENV), image_json(RESTART), status=UP),
        ],
        ids=["look requested", "retry requested", "changed", "an image more"],
    )
    def test_not_while_something_is_to_be_done(self, policy: Mapping[str, Json]) -> None:
        """B4."""
        assert spell(policy) is None

    def test_not_before_the_target_was_seen(self) -> None:
        assert spell(a_policy(status=UP), seen=None) is None

    def test_a_pinned_image_is_not_looked_at(self) -> None:
        """B2."""
        pinned = image_json(RESTART, pinned=True)
        found = spell(a_policy(image_json(SET_ENV), pinned, status=UP))
        assert found is not None
        assert set(found.digests) == {"ingestor"}


class TestPassing:
    @staticmethod
    def at_turn(clocks: Clocks, until: float = 5000.0) -> Track:
        """A track of a quiet policy whose turn has just come."""
        looks = Looks({"ingestor": latest_turn(SPEC, REFERENCE, clocks.wall)})
        clocks.go(next_turn(SPEC, REFERENCE, clocks.wall) - clocks.wall + 2)
        return Track(quiet=QuietSpell(SPEC, {"ingestor": D1}, until, {}), looks=looks)

    @staticmethod
    async def passed(
        track: Track, clocks: Clocks, serves: str | Trouble = D1
    ) -> tuple[bool, Shelf]:
        """Whether the turn has passed, and what was asked."""
        shelf = Shelf({"example/ingestor": serves})
        is_passed = await pass_quietly(shelf, track, clocks.wall, lambda: clocks.monotonic)
        return is_passed, shelf

    async def test_one_request_and_nothing_else(self) -> None:
        """B5."""
        clocks = Clocks()
        track = self.at_turn(clocks)
        is_passed, shelf = await self.passed(track, clocks)
        assert is_passed
        assert shelf.inspected == []
        [(reference, fresh_since)] = shelf.resolved
        assert reference == REFERENCE
        assert fresh_since == pytest.approx(clocks.monotonic - 2)
        assert track.last_check == clocks.wall

    async def test_once_a_turn(self) -> None:
        clocks = Clocks()
        track = self.at_turn(clocks)
        await self.passed(track, clocks)
        is_passed, shelf = await self.passed(track, clocks)
        assert is_passed
        assert shelf.resolved == []

    async def test_a_second_look_is_one_too(self) -> None:
        """Or the policy would be due for ever, and the process do nothing else."""
        clocks = Clocks()
        track = self.at_turn(clocks)
        track.looks.failed.add("ingestor")
        is_passed, shelf = await self.passed(track, clocks)
        assert is_passed
        assert len(shelf.resolved) == 1
        assert track.looks.failed == set()

    @pytest.mark.parametrize("serves", [D2, DOWN, ARTIFACT], ids=["moved", "down", "no image"])
    async def test_news_is_left_to_a_run(self, serves: str | Trouble) -> None:
        """B7, B13: which then finds the turn still to come, and counts it."""
        clocks = Clocks()
        track = self.at_turn(clocks)
        before = deepcopy(track.looks)
        is_passed, _ = await self.passed(track, clocks, serves)
        assert not is_passed
        assert track.looks == before

    async def test_not_after_its_end(self) -> None:
        """B17: it is time to look at the target."""
        clocks = Clocks()
        track = self.at_turn(clocks, until=0.0)
        is_passed, shelf = await self.passed(track, clocks)
        assert not is_passed
        assert shelf.resolved == []

    async def test_not_without_one(self) -> None:
        clocks = Clocks()
        is_passed, shelf = await self.passed(Track(), clocks)
        assert not is_passed
        assert shelf.resolved == []

    async def test_not_if_something_happened_meanwhile(self) -> None:
        """B4: a watch event during the request."""
        clocks = Clocks()
        track = self.at_turn(clocks)

        class Busy(Shelf):
            async def resolve(self, *args: Json, **more: Json) -> Json:
                track.quiet = None
                return await super().resolve(*args, **more)

        shelf = Busy({"example/ingestor": D1})
        assert not await pass_quietly(shelf, track, clocks.wall, lambda: clocks.monotonic)
