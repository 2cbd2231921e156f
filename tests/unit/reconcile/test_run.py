"""The subject of one run: what a person asks for, and what has come to be known."""

from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.plan.due import Looks, next_check
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.news import transitions
from imagerefresh.plan.summary import report, request_marks
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.track import Answer, Track
from unit.plan.builders import D1, D2, LATE, NOW, Json, a_memory, a_spec, an_image
from unit.plan.telling import DENIED, DOWN, GENERATION, one, only_image, ready, told, trouble
from unit.reconcile.builders import a_policy

IMAGE: Final = an_image(ActionType.SET_ENV)
REFERENCE: Final = str(IMAGE.reference)
PROVEN: Final = a_memory(D1, recorded=D1)
UP: Final = told(one(PROVEN, D1))
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")


def a_run(policy: dict[str, Json], track: Track | None = None) -> Run:
    """A run of a policy that begins now."""
    track = track or Track()
    return Run(policy, track.spec(policy), track, track.status(policy), NOW.timestamp(), 1000.0)


class TestRequests:
    """B4."""

    @pytest.mark.parametrize(
        "policy",
        [
            a_policy(status=UP, requested="q1"),
            a_policy(status=UP, retry="r1"),
            a_policy(status=UP, generation=GENERATION + 1),
        ],
        ids=["look", "retry", "changed spec"],
    )
    def test_each_is_looked_for_once(self, policy: dict[str, Json]) -> None:
        """B5, B9: one that stays open asks the registry no second time."""
        track = Track()
        assert a_run(policy, track).is_requested
        track.looked_for = request_marks(policy)
        assert not a_run(policy, track).is_requested

    def test_a_later_one_is_looked_for_again(self) -> None:
        track = Track(looked_for=request_marks(a_policy(status=UP, retry="r1")))
        assert a_run(a_policy(status=UP, retry="r2"), track).is_requested
        assert a_run(a_policy(status=UP, retry="r1", requested="q1"), track).is_requested

    def test_nothing_is_requested_of_a_quiet_policy(self) -> None:
        assert not a_run(a_policy(status=UP)).is_requested

    def test_a_retry_is_there_until_it_is_handled(self) -> None:
        assert a_run(a_policy(status=UP, retry="r1")).retry_at == "r1"
        handled = UP.model_copy(update={"last_handled_retry_at": "r1"})
        assert a_run(a_policy(status=handled, retry="r1")).retry_at is None
        assert a_run(a_policy(status=UP)).retry_at is None


class TestFound:
    @staticmethod
    def answered(
        latest: str | None, each: Trouble | None = None, reference: str = REFERENCE
    ) -> Track:
        """A track with an answer."""
        return Track(answers={"ingestor": Answer(reference, 0.0, latest, each)})

    def test_answers(self) -> None:
        found = a_run(a_policy(status=UP), self.answered(D2)).found()
        assert (found.latest, found.troubles) == ({"ingestor": D2}, {})
        found = a_run(a_policy(status=UP), self.answered(None, trouble(2))).found()
        assert (found.latest, found.troubles) == ({}, {"ingestor": trouble(2)})

    def test_those_about_another_reference_are_left_out(self) -> None:
        """B1."""
        for track in (self.answered(D2, reference="r"), self.answered(None, trouble(), "r")):
            found = a_run(a_policy(status=UP), track).found()
            assert (found.latest, found.troubles) == ({}, {})

    def test_those_about_an_image_that_is_gone_are_left_out(self) -> None:
        track = Track(answers={"gone": Answer("r", 0.0, D1)})
        assert a_run(a_policy(status=UP), track).found().latest == {}

    @pytest.mark.parametrize("problem", [DOWN, DENIED])
    def test_trouble_goes_on_through_a_restart_until_the_next_look(self, problem: Problem) -> None:
        """B7, B27: nothing has changed, so nothing is told."""
        before = told(one(PROVEN, None), UP, troubles={"ingestor": trouble(3, problem)})
        view = one(PROVEN, None)
        found = a_run(a_policy(status=before)).found(view=view)
        after = report(found)
        assert only_image(after).reason is problem.reason
        assert ready(after) == ready(before)
        assert list(transitions(found, after)) == []

    def test_the_rest_is_that_of_the_policy(self) -> None:
        policy = a_policy(status=UP, retry="r1")
        found = a_run(policy).found(problem=GONE)
        assert (found.generation, found.problem, found.now) == (GENERATION, GONE, NOW)
        assert found.before == UP
        assert found.annotations == policy["metadata"]["annotations"]
        assert found.next_check == next_check(a_spec(IMAGE), Looks(), NOW.timestamp())

    def test_a_policy_without_annotations(self) -> None:
        policy = a_policy(status=UP)
        policy["metadata"]["annotations"] = None
        assert a_run(policy).found().annotations == {}


@pytest.mark.parametrize("view", [one(PROVEN, D1), one(a_memory(D2, D1), D2, health=LATE)])
def test_the_target_that_was_seen_is_known_by_its_uid(view: View) -> None:
    """B22."""
    status: Status = report(a_run(a_policy(status=Status())).found(view=view))
    assert status.target_uid == view.target["metadata"]["uid"]
