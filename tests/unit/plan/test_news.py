"""Events and log lines: on transitions only, one each (B27)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.news import transitions
from imagerefresh.plan.summary import report
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View
from unit.plan.builders import (
    D1,
    D2,
    D3,
    HEALTHY,
    LATE,
    PAUSED,
    PROGRESSING,
    Json,
    a_memory,
    a_spec,
    a_target,
    a_view,
    an_image,
    an_own,
)
from unit.plan.examples import ROLLBACK
from unit.plan.telling import DENIED, DOWN, findings, one, remembered, told, trouble

PROVEN: Final = a_memory(D1, recorded=D1)
MOVING: Final = a_memory(D2, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
NEW: Final = Memory()
RESTART, SET_ENV = ActionType.RESTART, ActionType.SET_ENV
REFUSED: Final = Problem(Reason.PatchRefused, "admission webhook said no")
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")


def news(found: Findings) -> list[Reason]:
    """The reasons of all news of a run."""
    return [each.reason for each in transitions(found, report(found))]


def after(view: View, before: Status | None = None, **found: Json) -> list[Reason]:
    """The news of a run that saw a view."""
    return news(findings(view, before, **found))


UP: Final = told(one(PROVEN, D1))


@pytest.mark.parametrize(
    ("before", "view", "expected"),
    [
        pytest.param(UP, one(PROVEN, D1), [], id="a quiet policy is quiet"),
        pytest.param(UP, one(PROVEN, D2), [Reason.Moved, Reason.Asked], id="moved and asked"),
        pytest.param(
            told(one(MOVING, D2, health=PROGRESSING)),
            one(MOVING, D2, health=PROGRESSING),
            [],
            id="under way",
        ),
        pytest.param(
            told(one(MOVING, D2, health=PROGRESSING)),
            one(MOVING, D2),
            [Reason.Recorded],
            id="recorded",
        ),
        pytest.param(
            told(one(MOVING, D2, health=PROGRESSING)),
            one(MOVING, D2, health=LATE),
            [Reason.RolloutFailed],
            id="failed",
        ),
        pytest.param(
            told(one(MOVING, D2, kind=RESTART, evidence=Evidence.DIFFERS)),
            one(MOVING, D2, kind=RESTART, evidence=Evidence.DIFFERS),
            [],
            id="other pods than asked for",
        ),
        pytest.param(
            told(one(MOVING, D2, kind=RESTART, evidence=Evidence.DIFFERS)),
            one(
                MOVING,
                D2,
                kind=RESTART,
                evidence=Evidence.DIFFERS,
                stalled_for=timedelta(minutes=10),
            ),
            [Reason.DigestMismatch],
            id="for long",
        ),
        pytest.param(
            told(one(MOVING, D2, health=PROGRESSING)),
            one(MOVING, D2, health=LATE, spec=ROLLBACK),
            [Reason.RolledBack],
            id="rolled back",
        ),
        pytest.param(
            told(one(MOVING, D2, health=PROGRESSING)),
            one(MOVING, D2, target=a_target(variable=D1)),
            [Reason.Rejected],
            id="rejected",
        ),
        pytest.param(
            UP,
            one(PROVEN, D1, target=a_target(variable=D3)),
            [Reason.DriftCorrected],
            id="drift corrected",
        ),
        pytest.param(
            told(one(HELD, D2, health=LATE)), one(HELD, D2, health=LATE), [], id="still held"
        ),
        pytest.param(None, one(NEW, D1), [Reason.Asked], id="filled"),
        pytest.param(
            None, one(NEW, D1, target=a_target(variable=D1)), [Reason.Recorded], id="found healthy"
        ),
        pytest.param(
            None,
            one(NEW, D1, target=a_target(variable=D1), health=PROGRESSING),
            [],
            id="found, not proven yet",
        ),
        pytest.param(UP, one(PROVEN, D1, is_lost=True), [], id="annotations restored"),
        pytest.param(UP, one(PROVEN, D1, health=PAUSED), [Reason.TargetPaused], id="paused"),
        pytest.param(
            UP,
            one(PROVEN, D1, target=a_target(variable="v1")),
            [Reason.ForeignValue],
            id="blocked",
        ),
        pytest.param(
            told(one(PROVEN, D1, target=a_target(variable="v1"))),
            one(PROVEN, D1, target=a_target(variable="v1")),
            [],
            id="still blocked",
        ),
        pytest.param(UP, one(PROVEN, D1, health=LATE), [Reason.Degraded], id="degraded"),
        pytest.param(told(one(PROVEN, D1, health=LATE)), one(PROVEN, D1), [], id="well again"),
    ],
)
def test_one_each(before: Status | None, view: View, expected: list[Reason]) -> None:
    assert after(view, before) == expected


@pytest.mark.parametrize("problem", [REFUSED, GONE])
def test_a_problem_is_told_when_it_begins(problem: Problem) -> None:
    """B25, B29: one event."""
    view = one(PROVEN, D1)
    began = findings(view, UP, problem=problem, is_acted=False)
    assert news(began) == [problem.reason]
    assert news(replace(began, before=report(began))) == []


def test_a_refused_ask_is_not_told_as_one() -> None:
    assert after(one(PROVEN, D2), UP, problem=REFUSED, is_acted=False) == [
        Reason.Moved,
        Reason.PatchRefused,
    ]


class TestTrouble:
    """Registry trouble begins and ends, once each, whatever else is to be told of the image."""

    VIEWS: Final[Mapping[str, View]] = {
        "current": one(PROVEN, None),
        "under way": one(MOVING, None, health=PROGRESSING),
        "held": one(HELD, None, health=LATE),
        "blocked": one(PROVEN, None, target=a_target(variable="v1")),
    }

    @pytest.mark.parametrize("case", VIEWS)
    def test_begins_and_ends(self, case: str) -> None:
        view = self.VIEWS[case]
        status, so_far = told(view, latest={"ingestor": D1}), frozenset[str]()
        heard = []
        for turns in (0, 1, 2, 3, 0, 0):
            troubles = {"ingestor": trouble(turns)} if turns else {}
            latest = {} if turns else {"ingestor": D1}
            found = findings(view, status, troubles=troubles, troubles_told=so_far, latest=latest)
            heard.append([reason for reason in news(found) if reason in TOLD])
            status, so_far = report(found), frozenset(troubles)
        assert heard == [[], [Reason.RegistryTrouble], [], [], [Reason.RegistryRecovered], []]

    def test_another_cause_is_no_new_trouble(self) -> None:
        before = told(one(PROVEN, None), troubles={"ingestor": trouble()})
        denied = {"ingestor": trouble(2, DENIED)}
        assert Reason.RegistryTrouble not in after(one(PROVEN, None), before, troubles=denied)

    def test_goes_on_through_a_restart_of_the_operator(self) -> None:
        before = told(one(PROVEN, None), troubles={"ingestor": trouble()})
        assert after(one(PROVEN, None), before, troubles={"ingestor": trouble()}) == []


TOLD: Final = frozenset({Reason.RegistryTrouble, Reason.RegistryRecovered})


def test_several_images_tell_their_own_news() -> None:
    target = a_target(variable=D1)
    web, ingestor = an_image(RESTART), an_image(SET_ENV)

    def seen(latest: str) -> View:
        owns = [an_own(image, target, PROVEN, latest) for image in (web, ingestor)]
        return a_view(target, *owns)

    found = findings(seen(D2), told(seen(D1)))
    told_by = [
        (each.reason, each.note.partition(" (")[0]) for each in transitions(found, report(found))
    ]
    assert sorted(told_by) == [
        (Reason.Asked, "asked to run ingestor"),
        (Reason.Asked, "asked to run web"),
        (Reason.Moved, "ingestor"),
        (Reason.Moved, "web"),
    ]


def test_a_digest_of_another_reference_has_not_moved() -> None:
    """B1."""
    other = an_image(SET_ENV, tag="other")
    target = a_target(variable=D1)
    own = an_own(other, target, replace(PROVEN, reference=str(other.reference)), D2)
    assert Reason.Moved not in after(a_view(target, own), UP)


@pytest.mark.parametrize("view", [one(PROVEN, D1), one(HELD, D2, health=LATE)])
def test_what_a_person_does_is_no_news(view: View) -> None:
    """B4: suspending, and nothing found out by it."""
    spec = a_spec(an_image(SET_ENV), suspend=True)
    assert news(findings(None, told(view), spec=spec)) == []


def test_warnings_are_what_a_person_may_have_to_mend() -> None:
    warned = findings(one(MOVING, D2, health=LATE), UP)
    fine = findings(one(MOVING, D2, health=HEALTHY), UP)
    assert [each.is_warning for each in transitions(warned, report(warned))] == [False, True]
    assert {each.is_warning for each in transitions(fine, report(fine))} == {False}


def test_notes_name_the_image_and_the_digest() -> None:
    found = findings(one(PROVEN, D2, health=HEALTHY, spec={}), UP)
    for each in transitions(found, report(found)):
        assert "ingestor" in each.note
        assert D2 in each.note
        assert each.action.isalpha()
    later = findings(one(remembered(report(found)), D2), report(found), now=found.now + HOUR)
    [recorded] = transitions(later, report(later))
    assert (recorded.reason, DOWN.message in recorded.note) == (Reason.Recorded, False)


HOUR: Final = timedelta(hours=1)
