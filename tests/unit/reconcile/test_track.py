"""What the process remembers of a policy between runs."""

from datetime import UTC, datetime
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType, InvalidSpec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.due import SECOND_LOOK, due_images, latest_turn, next_turn
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import Problem
from imagerefresh.reconcile.track import Answer, Track
from unit.plan.builders import D1, D2, LATE, NOW, PROGRESSING, a_memory, a_spec, an_image
from unit.plan.telling import DENIED, DOWN, one, told, trouble
from unit.reconcile.builders import a_policy

PROVEN: Final = a_memory(D1, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
UP: Final = told(one(PROVEN, D1))
LATER: Final = told(one(PROVEN, D2))
SPEC: Final = a_spec(an_image(ActionType.SET_ENV))


class TestSpec:
    def test_is_read_once_a_generation(self) -> None:
        track = Track()
        first = track.spec(a_policy())
        assert track.spec(a_policy(version="101")) is first
        assert track.spec(a_policy(generation=4, suspend=True)).suspend
        assert track.spec(a_policy(uid="p2")) is not first

    def test_says_what_is_wrong_each_time(self) -> None:
        track = Track()
        for _ in range(2):
            with pytest.raises(InvalidSpec, match="interval"):
                track.spec(a_policy(interval="1s"))

    def test_of_an_object_without_one(self) -> None:
        with pytest.raises(InvalidSpec):
            Track().spec({**a_policy(), "spec": None})


class TestStatus:
    """The watch may not have brought back yet what was just written."""

    def test_is_that_of_the_policy(self) -> None:
        assert Track().status(a_policy(status=UP)) == UP
        assert Track().status(a_policy()) == Status()

    def test_what_was_written_counts_until_the_watch_brings_it_or_something_newer(self) -> None:
        track = Track()
        track.has_written(a_policy(version="105"), LATER)
        assert track.status(a_policy(status=UP, version="100")) is LATER
        assert track.status(a_policy(status=UP, version="104")) is LATER
        assert track.status(a_policy(status=LATER, version="105")) == LATER
        assert track.status(a_policy(status=UP, version="106")) == UP

    def test_versions_are_numbers(self) -> None:
        """Of 99 and 105 the latter is newer."""
        track = Track()
        track.has_written(a_policy(version="105"), LATER)
        assert track.status(a_policy(status=UP, version="99")) is LATER

    def test_an_odd_version_is_no_trouble(self) -> None:
        track = Track()
        assert track.status(a_policy(status=UP, version="odd")) == UP
        assert track.version(a_policy(version="odd")) == "odd"

    def test_the_newest_version_is_that_of_the_write(self) -> None:
        track = Track()
        assert track.version(a_policy(version="100")) == "100"
        track.has_written(a_policy(version="105"), LATER)
        assert track.version(a_policy(version="100")) == "105"
        assert track.version(a_policy(version="106")) == "106"


class TestMeeting:
    """B6: a restart causes no burst."""

    NOW: Final = NOW.timestamp()

    def due(self, track: Track, seconds: float = 0) -> set[str]:
        """What is due."""
        return {*due_images(SPEC, track.looks, self.NOW + seconds)}

    @pytest.mark.parametrize("status", [UP, told(one(HELD, D2, health=LATE))])
    def test_what_was_observed_before_waits_for_its_turn(self, status: Status) -> None:
        track = Track()
        track.meet(SPEC, status, self.NOW)
        assert self.due(track) == set()

    @pytest.mark.parametrize(
        "status",
        [
            Status(),
            told(one(Memory(), None)),
            told(one(a_memory(D2), D2, health=PROGRESSING)),
        ],
        ids=["new", "not looked at", "under way"],
    )
    def test_all_else_runs_at_once(self, status: Status) -> None:
        track = Track()
        track.meet(SPEC, status, self.NOW)
        assert self.due(track) == {"ingestor"}

    def test_only_at_first_sight(self) -> None:
        track = Track()
        track.looks.moments["ingestor"] = latest_turn(SPEC, "r", self.NOW - 3600)
        track.meet(SPEC, UP, self.NOW)
        assert self.due(track) == {"ingestor"}


class TestFailedLooks:
    """B7: a turn that is lost to an outage is made up for, a registry's word is final."""

    DAILY: Final = a_spec(an_image(ActionType.SET_ENV), interval="24h")
    TURN: Final = next_turn(DAILY, str(DAILY.images[0].reference), NOW.timestamp())

    def due(self, track: Track, seconds: float) -> set[str]:
        """What is due so many seconds after the turn."""
        return {*due_images(self.DAILY, track.looks, self.TURN + seconds)}

    @pytest.mark.parametrize(("problem", "due"), [(DOWN, {"ingestor"}), (DENIED, set())])
    def test_what_may_pass_is_looked_at_again(self, problem: Problem, due: set[str]) -> None:
        track = Track(answers={"ingestor": Answer("r", 0.0, None, trouble(1, problem))})
        track.has_looked(self.DAILY, {"ingestor"}, self.TURN)
        assert self.due(track, SECOND_LOOK - 1) == set()
        assert self.due(track, SECOND_LOOK) == due

    def test_a_look_that_succeeds_is_enough(self) -> None:
        track = Track(answers={"ingestor": Answer("r", 0.0, None, trouble(1))})
        track.has_looked(self.DAILY, {"ingestor"}, self.TURN)
        track.answers["ingestor"] = Answer("r", 0.0, D1)
        track.has_looked(self.DAILY, {"ingestor"}, self.TURN + SECOND_LOOK)
        assert self.due(track, 3 * SECOND_LOOK) == set()

    def test_also_after_a_restart(self) -> None:
        track = Track()
        down = told(one(PROVEN, None), UP, troubles={"ingestor": trouble(1)})
        track.meet(self.DAILY, down, self.TURN + 20)
        assert self.due(track, SECOND_LOOK - 1) == set()
        assert self.due(track, SECOND_LOOK) == {"ingestor"}

    @pytest.mark.parametrize(("age", "due"), [(60.0, set()), (86_400.0, {"ingestor"})])
    def test_a_turn_that_a_restart_has_missed_is_made_up_for(
        self, age: float, due: set[str]
    ) -> None:
        """B6: without a burst."""
        checked = timestamp(datetime.fromtimestamp(self.TURN - age, UTC))
        track = Track()
        track.meet(self.DAILY, UP.model_copy(update={"last_check_time": checked}), self.TURN + 20)
        assert self.due(track, SECOND_LOOK - 1) == set()
        assert self.due(track, SECOND_LOOK) == due


class TestTurnsInTrouble:
    """B7."""

    @staticmethod
    def answered(each: Trouble | None) -> Track:
        """After an answer, or none."""
        return Track(answers={"ingestor": Answer("r", 0.0, None if each else D1, each)})

    def test_none_without_trouble(self) -> None:
        assert Track().earlier_turns("ingestor", UP) == 0
        assert self.answered(None).earlier_turns("ingestor", UP) == 0

    def test_those_of_the_last_answer(self) -> None:
        assert self.answered(trouble(2)).earlier_turns("ingestor", UP) == 2

    def test_a_restart_goes_on_with_a_long_trouble(self) -> None:
        down = told(one(PROVEN, None), UP, troubles={"ingestor": trouble(3)})
        assert Track().earlier_turns("ingestor", down) >= 3

    def test_and_begins_to_count_a_short_one(self) -> None:
        shaky = told(one(PROVEN, None), UP, troubles={"ingestor": trouble(2)})
        assert Track().earlier_turns("ingestor", shaky) == 0

    def test_an_answer_counts_more_than_status(self) -> None:
        down = told(one(PROVEN, None), UP, troubles={"ingestor": trouble(3)})
        assert self.answered(None).earlier_turns("ingestor", down) == 0

    @pytest.mark.parametrize(("problem", "is_transient"), [(DOWN, True), (DENIED, False)])
    def test_what_status_tells_of_it_is_known_after_a_restart(
        self, problem: Problem, is_transient: bool
    ) -> None:
        before = told(one(PROVEN, None), UP, troubles={"ingestor": trouble(1, problem)})
        found = Track().stored_trouble("ingestor", before)
        assert found is not None
        assert (found.problem, found.is_transient) == (problem, is_transient)

    @pytest.mark.parametrize("status", [UP, Status(), told(one(HELD, D2, health=LATE))])
    def test_status_that_tells_of_none(self, status: Status) -> None:
        assert Track().stored_trouble("ingestor", status) is None


class TestRefusedWrites:
    """B29: from 10 s to 10 min."""

    REFUSAL: Final = Problem(Reason.PatchRefused, "no")

    def test_pauses(self) -> None:
        track, pauses = Track(), []
        for _ in range(9):
            track.back_off(1000.0, self.REFUSAL)
            pauses.append(track.not_before - 1000.0)
        assert pauses == [10, 20, 40, 80, 160, 320, 600, 600, 600]
        assert track.refusal == self.REFUSAL

    def test_however_long_it_lasts(self) -> None:
        track = Track()
        for _ in range(3000):
            track.back_off(0.0, self.REFUSAL)
        assert track.not_before == 600

    def test_recovery(self) -> None:
        track = Track()
        for _ in range(5):
            track.back_off(1000.0, self.REFUSAL)
        track.recover()
        assert (track.not_before, track.refusal) == (0, None)
        track.back_off(1000.0, self.REFUSAL)
        assert track.not_before == 1010
