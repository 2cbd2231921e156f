"""What is told of pull secrets that can't be used, and how often (B10, B27)."""

from typing import Final

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status, parse_status
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.news import transitions
from imagerefresh.plan.summary import report, tells_something_new
from unit.plan.builders import D1, Json, a_memory, an_image
from unit.plan.telling import DENIED, DOWN, condition, findings, one, only_image, ready, trouble

NAME: Final = an_image(ActionType.SET_ENV).name
REFUSED: Final = 'registry.example.com refused the credentials of secret "regcred"'
MISSING: Final = 'secret "regcred" does not exist'
PROVEN: Final = a_memory(D1, recorded=D1)


def seen(before: Status | None = None, complaint: str | None = None, **found: Json) -> Findings:
    """A run that saw a proven image, and found out or not how its pull secrets are."""
    complaints = {} if complaint is None else {NAME: complaint}
    return findings(one(PROVEN, D1), before, complaints=complaints, **found)


def problem(status: Status) -> str | None:
    return only_image(status).pull_secret_problem


def warnings(found: Findings) -> list[str]:
    return [
        each.note
        for each in transitions(found, report(found))
        if each.reason is Reason.PullSecretTrouble
    ]


UP: Final = report(seen(complaint=""))
TOLD: Final = report(seen(UP, REFUSED))


def test_a_problem_is_told_though_all_is_well() -> None:
    assert problem(TOLD) == REFUSED
    assert ready(TOLD) == ("True", Reason.UpToDate)
    assert only_image(TOLD).reason is Reason.UpToDate


def test_it_is_told_once() -> None:
    assert len(warnings(seen(UP, REFUSED))) == 1
    assert warnings(seen(TOLD, REFUSED)) == []
    assert not tells_something_new(TOLD, report(seen(TOLD, REFUSED)))


def test_another_problem_is_told_again() -> None:
    [note] = warnings(seen(TOLD, MISSING))
    assert MISSING in note


def test_its_end_is_seen_in_status() -> None:
    after = report(seen(TOLD, ""))
    assert problem(after) is None
    assert warnings(seen(TOLD, "")) == []
    assert "pullSecretProblem" not in after.to_json()["images"][0]


def test_it_stays_while_nothing_is_known() -> None:
    """B7: after a restart, or while the registry is down; and it is no news afterwards."""
    stored = parse_status(TOLD.to_json())
    assert problem(report(seen(stored))) == REFUSED
    down = report(seen(stored, troubles={NAME: trouble(3, DOWN)}))
    assert problem(down) == REFUSED
    assert warnings(seen(down, REFUSED)) == []


def test_a_denial_is_told_with_it() -> None:
    """B8: what a person has to mend may be the secret."""
    denied = report(seen(UP, MISSING, troubles={NAME: trouble(1, DENIED)}))
    found = condition(denied)
    assert found is not None
    assert found.message == f"{NAME}: {DENIED.message}; also: {MISSING}"


def test_a_pinned_image_has_none() -> None:
    """B2."""
    pinned = findings(one(PROVEN, D1, pinned=True), TOLD)
    assert problem(report(pinned)) is None


def test_a_suspended_policy_keeps_what_was_known() -> None:
    """B4."""
    suspended = findings(one(PROVEN, D1, spec={"suspend": True}), TOLD)
    assert problem(report(suspended)) == REFUSED
