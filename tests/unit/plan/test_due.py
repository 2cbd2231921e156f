"""When an image's turn comes (B6): stable, evenly spread, and through restarts."""

from collections import Counter
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.api.policy import ActionType, Spec
from imagerefresh.api.status import ImageState, ImageStatus, Status
from imagerefresh.plan.due import (
    SECOND_LOOK,
    Looks,
    due_images,
    is_settled,
    latest_turn,
    next_check,
    next_turn,
    until_due,
)
from unit.plan.builders import Json, a_spec, an_image
from unit.plan.turns import REFERENCE, START, every, turns

WEB, INGESTOR = an_image(ActionType.RESTART), an_image(ActionType.SET_ENV)


class TestInterval:
    @pytest.mark.parametrize("interval", ["10s", "90s", "15m", "7h", "720h"])
    def test_turns_are_an_interval_apart(self, interval: str) -> None:
        spec = every(interval)
        seconds = spec.effective_interval.total_seconds()
        first, second, third = list(turns(spec, START, START + 3 * seconds))[:3]
        assert [second - first, third - second] == pytest.approx([seconds, seconds])

    def test_a_quarter_of_an_hour_if_nothing_is_said(self) -> None:
        spec = a_spec()
        assert next_turn(spec, REFERENCE, START) - latest_turn(spec, REFERENCE, START) == 900

    @settings(max_examples=100)
    @given(st.floats(0, 4e9), st.sampled_from(["10s", "15m", "7h", "720h"]))
    def test_now_lies_between_two_turns(self, now: float, interval: str) -> None:
        spec = every(interval)
        latest, following = latest_turn(spec, REFERENCE, now), next_turn(spec, REFERENCE, now)
        assert latest <= now < following
        assert following - latest == pytest.approx(spec.effective_interval.total_seconds())

    @settings(max_examples=100)
    @given(st.floats(0, 4e9), st.floats(0, 1))
    def test_a_turn_is_the_same_throughout(self, now: float, share: float) -> None:
        """It is compared for equality."""
        spec = every("15m")
        turn = latest_turn(spec, REFERENCE, now)
        later = turn + share * 899
        assert latest_turn(spec, REFERENCE, later) == turn

    def test_policies_with_one_interval_share_the_turns_of_an_image(self) -> None:
        """B6: of the image reference, not of the policy."""
        one, other = every("15m", WEB), every("15m", INGESTOR, WEB)
        assert latest_turn(one, str(WEB.reference), START) == latest_turn(
            other, str(WEB.reference), START
        )

    def test_turns_are_the_same_in_every_process(self) -> None:
        """B6: a stable hash, so not one that is salted at each start."""
        assert latest_turn(every("15m"), REFERENCE, 1e9) == pytest.approx(STABLE_TURN, abs=1e-3)

    @pytest.mark.parametrize("interval", ["10s", "15m", "24h"])
    def test_images_are_spread_evenly(self, interval: str) -> None:
        """No tenth of the interval gets more than twice its share."""
        spec = every(interval)
        seconds = spec.effective_interval.total_seconds()
        tenths = Counter(
            int(
                (latest_turn(spec, f"docker.io/example/image-{number}:prod", 1e9) % seconds)
                / seconds
                * 10
            )
            for number in range(100)
        )
        assert len(tenths) == 10
        assert max(tenths.values()) <= 20


STABLE_TURN: Final = 999_999_761.687


class TestDue:
    SPEC: Final = every("15m", WEB, INGESTOR)

    def looked(self, now: float) -> dict[str, float]:
        """Each image was looked at at its latest turn."""
        return {
            image.name: latest_turn(self.SPEC, str(image.reference), now)
            for image in self.SPEC.images
        }

    def test_what_was_never_looked_at_is_due(self) -> None:
        assert due_images(self.SPEC, Looks(), START).keys() == {"web", "ingestor"}

    def test_what_was_looked_at_is_not_due_until_its_turn(self) -> None:
        looked = self.looked(START)
        assert due_images(self.SPEC, Looks(looked), START) == {}
        turn = next_turn(self.SPEC, str(WEB.reference), START)
        before = turn - 0.001
        assert "web" not in due_images(
            self.SPEC, Looks({**self.looked(before), "web": looked["web"]}), before
        )
        assert "web" in due_images(self.SPEC, Looks(looked), turn)

    @pytest.mark.parametrize("step", [-86_400.0, -3600.0, -900.0, -60.0, 60.0, 900.0, 86_400.0])
    def test_a_clock_step_costs_one_turn_at_most(self, step: float) -> None:
        """B6: and none waits longer than one interval."""
        looked = self.looked(START)
        times = [START + step + tick for tick in range(901)]
        checks: Counter[str] = Counter()
        for now in times:
            for name in due_images(self.SPEC, Looks(looked), now):
                checks[name] += 1
                looked[name] = self.looked(now)[name]
        assert set(checks) == {"web", "ingestor"}
        assert max(checks.values()) <= 2

    def test_a_clock_that_trembles_at_a_turn_costs_no_flood(self) -> None:
        looked = self.looked(START)
        turn = next_turn(self.SPEC, str(WEB.reference), START)
        count = 0
        for now in (turn - 1, turn, turn - 0.5, turn + 0.5, turn + 1):
            if "web" in due_images(self.SPEC, Looks(looked), now):
                count += 1
                looked["web"] = self.looked(now)["web"]
        assert count <= 3

    def test_how_long_until_one_is_due(self) -> None:
        looked = self.looked(START)
        following = [next_turn(self.SPEC, str(i.reference), START) for i in self.SPEC.images]
        assert until_due(self.SPEC, Looks(looked), START) == min(following) - START
        assert until_due(self.SPEC, Looks(looked), min(following)) == 0
        assert until_due(self.SPEC, Looks(), START) == 0
        assert until_due(a_spec(suspend=True), Looks(), START) is None

    def test_another_interval_is_looked_at_anew(self) -> None:
        assert due_images(every("10m", WEB), Looks(self.looked(START)), START).keys() == {"web"}

    def test_a_pinned_image_is_never_due(self) -> None:
        """B2."""
        spec = every("15m", an_image(ActionType.RESTART, pinned=True), INGESTOR)
        assert due_images(spec, Looks(), START).keys() == {"ingestor"}
        assert next_check(spec, Looks(), START) == next_turn(spec, str(INGESTOR.reference), START)

    @pytest.mark.parametrize(
        "spec",
        [a_spec(suspend=True), every("15m", an_image(ActionType.RESTART, pinned=True))],
        ids=["suspended", "all pinned"],
    )
    def test_a_policy_that_polls_nothing_has_no_turn(self, spec: Spec) -> None:
        """B2, B4."""
        assert due_images(spec, Looks(), START) == {}
        assert next_check(spec, Looks(), START) is None

    def test_what_failed_by_itself_has_second_looks_before_a_turn_that_is_far(self) -> None:
        """B7: an outage of minutes costs a nightly turn no day."""
        spec, looks = every("24h", WEB), Looks()
        turn = latest_turn(spec, REFERENCE, START)
        looks.note(spec, WEB, turn + 5, has_failed=True)
        for again in (turn + SECOND_LOOK, turn + 2 * SECOND_LOOK):
            assert due_images(spec, looks, again - 1) == {}
            assert until_due(spec, looks, again - 1) == 1
            assert next_check(spec, looks, again - 1) == again
            assert due_images(spec, looks, again + 5) == {"web": again}
            looks.note(spec, WEB, again + 5, has_failed=True)
        looks.note(spec, WEB, turn + 3 * SECOND_LOOK, has_failed=False)
        assert due_images(spec, looks, turn + 9 * SECOND_LOOK) == {}
        assert next_check(spec, looks, turn + 9 * SECOND_LOOK) == turn + 86_400

    def test_policies_share_second_looks(self) -> None:
        """B5, B6: whenever each of them has failed."""
        spec, turn = every("24h", WEB), latest_turn(every("24h", WEB), REFERENCE, START)
        found = []
        for seconds in (0, 7, 800):
            looks = Looks()
            looks.note(spec, WEB, turn + seconds, has_failed=True)
            found.append(due_images(spec, looks, turn + SECOND_LOOK + seconds))
        assert found == [{"web": turn + SECOND_LOOK}] * 3

    def test_a_turn_that_comes_first_is_enough(self) -> None:
        spec, looks = every("10m", WEB), Looks()
        looks.note(spec, WEB, START, has_failed=True)
        turn = next_turn(spec, REFERENCE, START)
        assert due_images(spec, looks, turn) == {"web": turn}
        assert next_check(spec, looks, START) == turn

    def test_nothing_that_is_not_polled_has_a_second_look(self) -> None:
        """B2, B4."""
        pinned = every("24h", an_image(ActionType.RESTART, pinned=True))
        for spec in (a_spec(suspend=True), pinned):
            looks = Looks(failed={"web"})
            assert due_images(spec, looks, START) == {}
            assert next_check(spec, looks, START) is None

    def test_the_next_check_is_that_of_the_first_image(self) -> None:
        following = [next_turn(self.SPEC, str(i.reference), START) for i in self.SPEC.images]
        assert next_check(self.SPEC, Looks(), START) == min(following)


def status_of(*states: ImageState, **fields: Json) -> Status:
    """A status with images in these states."""
    images = [ImageStatus(name=f"i{n}", state=state) for n, state in enumerate(states)]
    return Status(images=images, **fields)


class TestRestart:
    """B6: a restart causes no burst."""

    @pytest.mark.parametrize(
        "states",
        [
            [ImageState.CURRENT],
            [ImageState.CURRENT, ImageState.PINNED],
            [ImageState.HELD],
            [ImageState.BLOCKED, ImageState.CURRENT],
        ],
    )
    def test_what_was_observed_waits_for_its_turn(self, states: list[ImageState]) -> None:
        assert is_settled(status_of(*states))

    @pytest.mark.parametrize(
        "states",
        [
            [],
            [ImageState.PENDING],
            [ImageState.CURRENT, ImageState.PENDING],
            [ImageState.PROVING],
            [ImageState.CURRENT, ImageState.ROLLING_OUT],
            [ImageState.CURRENT, ImageState.WAITING],
        ],
    )
    def test_what_is_new_or_under_way_runs_at_once(self, states: list[ImageState]) -> None:
        assert not is_settled(status_of(*states))
