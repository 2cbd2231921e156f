"""What people are told of a policy: conditions as kstatus reads them, and when to write (B26, B27)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from imagerefresh.api.names import REQUESTED_AT, RETRY_AT
from imagerefresh.api.policy import ActionType, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ConditionType, ImageState, Status, parse_status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.decide import decide
from imagerefresh.plan.findings import Findings, Trouble
from imagerefresh.plan.health import Counts, Health, Verdict
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.news import transitions
from imagerefresh.plan.progress import Progress
from imagerefresh.plan.summary import (
    is_in_flight,
    is_inert,
    is_ready,
    report,
    request_mark,
    tells_something_new,
)
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View
from unit.plan.builders import (
    D1,
    D2,
    D3,
    HEALTHY,
    LATE,
    NOW,
    PAUSED,
    PROGRESSING,
    UID,
    UNPROVABLE,
    Json,
    a_memory,
    a_spec,
    a_target,
    a_view,
    an_image,
    an_own,
)
from unit.plan.conditions import check
from unit.plan.telling import (
    DENIED,
    DOWN,
    GENERATION,
    abnormal,
    condition,
    findings,
    one,
    only_image,
    ready,
    told,
    trouble,
)
from unit.plan.worlds import make_view, views

PROVEN: Final = a_memory(D1, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
LONG: Final = timedelta(minutes=11)
SUSPENDED: Final = {"suspend": True}
REFUSED: Final = Problem(Reason.PatchRefused, "admission webhook said no")
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")
RECONCILING, STALLED = ConditionType.RECONCILING, ConditionType.STALLED


@pytest.mark.parametrize(
    ("view", "expected", "kind"),
    [
        pytest.param(one(PROVEN, D1), ("True", Reason.UpToDate), None, id="all is well"),
        pytest.param(
            one(a_memory(D2, D1), D2, health=PROGRESSING),
            ("Unknown", Reason.RollingOut),
            RECONCILING,
            id="a rollout is under way",
        ),
        pytest.param(
            one(Memory(), D1, kind=ActionType.RESTART, health=PROGRESSING),
            ("Unknown", Reason.Proving),
            RECONCILING,
            id="B12 taken over, not proven yet",
        ),
        pytest.param(
            one(Memory(), None), ("Unknown", Reason.Checking), None, id="not looked at yet"
        ),
        pytest.param(
            one(HELD, D2, health=LATE), ("False", Reason.RolloutFailed), STALLED, id="B21 held"
        ),
        pytest.param(
            one(PROVEN, D1, target=a_target(variable="v1")),
            ("False", Reason.ForeignValue),
            STALLED,
            id="B18 a foreign value",
        ),
        pytest.param(
            one(PROVEN, D1, health=PAUSED), ("False", Reason.TargetPaused), None, id="B19 paused"
        ),
        pytest.param(
            one(PROVEN, D1, health=LATE, stalled_for=LONG),
            ("False", Reason.Degraded),
            None,
            id="B20 a stuck rollout under an up-to-date record is not masked",
        ),
        pytest.param(
            one(PROVEN, D1, health=PROGRESSING, stalled_for=LONG),
            ("False", Reason.Degraded),
            None,
            id="B20 nor one that makes no progress",
        ),
        pytest.param(
            one(a_memory(D2, D1), D2, health=UNPROVABLE),
            ("False", Reason.UnprovableStrategy),
            STALLED,
            id="B19 what can't be proven",
        ),
        pytest.param(
            one(PROVEN, D1, health=UNPROVABLE),
            ("True", Reason.UpToDate),
            None,
            id="B19 nothing is to be proven",
        ),
        pytest.param(
            one(PROVEN, D1, pinned=True),
            ("True", Reason.Pinned),
            None,
            id="B2 every image is pinned",
        ),
    ],
)
def test_ready(view: View, expected: tuple[str, Reason], kind: ConditionType | None) -> None:
    status = told(view)
    assert (ready(status), abnormal(status)) == (expected, kind)
    check(Status(), status, generation=GENERATION, now=NOW)


@pytest.mark.parametrize(
    ("problem", "kind"),
    [(REFUSED, RECONCILING), (GONE, STALLED), (Problem(Reason.Forbidden, "no"), STALLED)],
)
def test_a_problem_of_the_policy_as_a_whole(problem: Problem, kind: ConditionType) -> None:
    """B25, B29: what is tried again by itself is Reconciling, what waits for a person Stalled."""
    status = told(one(PROVEN, D1), problem=problem, is_acted=False)
    assert (ready(status), abnormal(status)) == (("False", problem.reason), kind)
    assert (found := condition(status)) and found.message == problem.message


def test_a_bad_stored_object_is_stalled_alone() -> None:
    """B3: what was known of its images stays."""
    before = told(one(PROVEN, D1))
    invalid = Problem(Reason.InvalidSpec, "spec.images: must not be empty")
    after = report(findings(None, before, problem=invalid))
    assert (ready(after), abnormal(after)) == (("False", Reason.InvalidSpec), STALLED)
    assert after.images == before.images


class TestRegistryTrouble:
    VIEW: Final = one(PROVEN, None, is_reachable=False)

    def turns(self, before: Status, *troubles: Trouble) -> list[tuple[str, Reason]]:
        """What Ready says, turn by turn."""
        said = []
        status = before
        for each in troubles:
            status = told(self.VIEW, status, troubles={"ingestor": each})
            said.append(ready(status))
        return said

    def test_ready_stays_as_it_was_until_three_turns_have_failed(self) -> None:
        """B7."""
        up = told(one(PROVEN, D1))
        assert self.turns(up, trouble(1), trouble(2), trouble(3), trouble(4)) == [
            ("True", Reason.UpToDate),
            ("True", Reason.UpToDate),
            ("False", Reason.RegistryUnavailable),
            ("False", Reason.RegistryUnavailable),
        ]

    def test_it_is_shown_on_the_image_from_the_first_turn(self) -> None:
        """B7."""
        image = only_image(told(self.VIEW, troubles={"ingestor": trouble()}))
        assert (image.reason, image.message) == (DOWN.reason, DOWN.message)
        assert image.state is ImageState.CURRENT

    def test_no_such_tag_is_told_at_once(self) -> None:
        """B8."""
        status = told(self.VIEW, told(one(PROVEN, D1)), troubles={"ingestor": trouble(1, DENIED)})
        assert ready(status) == ("False", Reason.ImageNotFoundOrDenied)
        assert (found := condition(status)) and DENIED.message in found.message

    def test_what_was_not_ready_does_not_become_ready_by_an_outage(self) -> None:
        """B7: Ready stays as it was."""
        denied = told(self.VIEW, troubles={"ingestor": trouble(1, DENIED)})
        said = self.turns(denied, trouble(2), trouble(3))
        assert [status for status, _ in said] == ["False", "False"]

    def test_after_a_restart_of_the_operator_it_stays_as_well(self) -> None:
        """B7: the count of the turns is lost then."""
        down = told(self.VIEW, told(one(PROVEN, D1)), troubles={"ingestor": trouble(3)})
        assert self.turns(down, trouble(1)) == [("False", Reason.RegistryUnavailable)]

    def test_it_ends_with_the_first_answer(self) -> None:
        down = told(self.VIEW, troubles={"ingestor": trouble(3)})
        assert ready(told(one(PROVEN, D1), down)) == ("True", Reason.UpToDate)

    def test_one_image_in_trouble_is_enough_and_named(self) -> None:
        target = a_target(variable=D1)
        web, ingestor = an_image(ActionType.RESTART), an_image(ActionType.SET_ENV)
        view = a_view(
            target, an_own(web, target, PROVEN, D1), an_own(ingestor, target, PROVEN, None)
        )
        status = told(view, troubles={"ingestor": trouble(3)})
        assert (found := condition(status)) and found.message.startswith("ingestor: ")
        assert ready(status) == ("False", Reason.RegistryUnavailable)

    def test_refused_writes_do_not_show_as_registry_trouble(self) -> None:
        """B29."""
        status = told(self.VIEW, problem=REFUSED, is_acted=False, troubles={"ingestor": trouble(9)})
        assert ready(status)[1] is Reason.PatchRefused


class TestSuspended:
    """B4: status keeps what was known."""

    @pytest.mark.parametrize("was", [one(PROVEN, D1), one(HELD, D2, health=LATE)])
    def test_ready_and_images_stay(self, was: View) -> None:
        before = told(was)
        after = report(findings(None, before, spec=a_spec(*(o.image for o in was.images), **SUSPENDED)))
        assert after.images == before.images
        assert ready(after) == (ready(before)[0], Reason.Suspended)
        assert abnormal(after) is None

    def test_nothing_was_known(self) -> None:
        status = report(findings(None, spec=a_spec(**SUSPENDED)))
        assert ready(status) == ("Unknown", Reason.Suspended)


class TestRequests:
    """B4."""

    @staticmethod
    def handled(view: View, **found: Json) -> str | None:
        """The retry that the status says is handled."""
        return told(view, Status(last_handled_retry_at="r0"), **found).last_handled_retry_at

    def test_with_nothing_held_the_status_write_handles_it(self) -> None:
        assert self.handled(one(PROVEN, D1, retry_at="r1")) == "r1"

    def test_the_patch_that_asks_handles_it(self) -> None:
        assert self.handled(one(HELD, D2, retry_at="r1", health=LATE)) == "r1"

    def test_it_waits_while_the_registry_is_unreachable(self) -> None:
        assert self.handled(one(HELD, None, retry_at="r1", is_reachable=False)) == "r0"

    def test_it_waits_while_the_patch_is_refused(self) -> None:
        view = one(HELD, D2, retry_at="r1", health=LATE)
        assert self.handled(view, is_acted=False, problem=REFUSED) == "r0"

    @pytest.mark.parametrize(
        "spec",
        [a_spec(**SUSPENDED), a_spec(an_image(ActionType.SET_ENV, pinned=True))],
        ids=["suspended", "pinned"],
    )
    def test_while_pinned_or_suspended_it_is_handled_without_effect(self, spec: Spec) -> None:
        before = told(one(HELD, D2, health=LATE), Status(last_handled_retry_at="r0"))
        found = findings(None, before, spec=spec, annotations={RETRY_AT: "r1"})
        assert report(found).last_handled_retry_at == "r1"

    def test_a_pinned_image_beside_others_keeps_none_open(self) -> None:
        target = a_target(variable=D1)
        pinned = an_image(ActionType.SET_ENV, pinned=True)
        view = a_view(
            target,
            an_own(pinned, target, HELD, None),
            an_own(an_image(ActionType.RESTART), target, PROVEN, D1),
            retry_at="r1",
        )
        assert self.handled(view) == "r1"

    def test_a_look_is_handled_by_the_status_write(self) -> None:
        found = findings(one(PROVEN, D1), annotations={REQUESTED_AT: "q1"})
        assert report(found).last_handled_requested_at == "q1"

    def test_long_values_are_told_apart_by_their_beginning(self) -> None:
        mark = request_mark({RETRY_AT: "x" * 5000}, RETRY_AT)
        assert mark is not None
        assert len(mark) <= 1024
        assert request_mark({RETRY_AT: ""}, RETRY_AT) is None


def policy(generation: int = GENERATION, **annotations: str) -> Mapping[str, Json]:
    """A policy, as far as its requests go."""
    keys = {"requested": REQUESTED_AT, "retry": RETRY_AT}
    shown = {keys[name]: value for name, value in annotations.items()}
    return {"metadata": {"generation": generation, "annotations": shown}}


UP: Final = told(one(PROVEN, D1))


@pytest.mark.parametrize(
    ("subject", "status", "expected"),
    [
        pytest.param(policy(), UP, False, id="quiet"),
        pytest.param(policy(), Status(), True, id="new"),
        pytest.param(policy(4), UP, True, id="B4 changed"),
        pytest.param(policy(requested="q1"), UP, True, id="B4 a look is requested"),
        pytest.param(policy(retry="r1"), UP, True, id="B4 a retry is requested"),
        pytest.param(
            policy(), told(one(a_memory(D2), D2, health=PROGRESSING)), True, id="under way"
        ),
        pytest.param(policy(), told(one(HELD, D2, health=LATE)), False, id="held"),
        pytest.param(policy(), told(one(PROVEN, D1), problem=REFUSED), True, id="B29 refused"),
        pytest.param(policy(), told(one(PROVEN, D1), problem=GONE), False, id="no target"),
        pytest.param(
            policy(), told(one(a_memory(D2), D2, health=PAUSED)), False, id="under way, but paused"
        ),
        pytest.param(
            policy(),
            report(
                findings(
                    None,
                    told(one(a_memory(D2), D2, health=PROGRESSING)),
                    spec=a_spec(an_image(ActionType.SET_ENV), **SUSPENDED),
                )
            ),
            False,
            id="under way, but suspended",
        ),
    ],
)
def test_what_is_followed(subject: Mapping[str, Json], status: Status, expected: bool) -> None:
    assert is_in_flight(subject, status) is expected


@pytest.mark.parametrize(
    ("neighbour", "latest", "troubles"),
    [
        (HELD, D2, {}),
        (PROVEN, None, {"proxy": trouble(1, DENIED)}),
        (PROVEN, None, {"proxy": trouble(5)}),
    ],
    ids=["held", "denied", "unreachable"],
)
def test_a_rollout_is_followed_whatever_its_neighbour_does(
    neighbour: Memory, latest: str | None, troubles: Mapping[str, Trouble]
) -> None:
    """B14: or its record would wait for the next turn."""
    target = a_target(variable=D2, proxy=neighbour.asked or "prod")
    view = a_view(
        target,
        an_own(an_image(ActionType.SET_ENV), target, a_memory(D2, D1), D2),
        an_own(an_image(ActionType.SET_IMAGE), target, neighbour, latest),
        health=PROGRESSING,
    )
    assert is_in_flight(policy(), told(view, troubles=troubles))


def test_an_inert_policy_is_suspended_or_pinned_as_a_whole() -> None:
    """B2, B4."""
    web, pinned = an_image(ActionType.RESTART), an_image(ActionType.SET_ENV, pinned=True)
    assert is_inert(a_spec(pinned))
    assert is_inert(a_spec(web, **SUSPENDED))
    assert not is_inert(a_spec(web, pinned))


class TestWhatIsWorthAWrite:
    """B27."""

    def test_nothing_new(self) -> None:
        assert not tells_something_new(UP, UP)

    @pytest.mark.parametrize(
        "change",
        [
            {"observed_generation": 4},
            {"target_uid": "other"},
            {"last_handled_retry_at": "r1"},
            {"images": []},
            {"conditions": []},
        ],
    )
    def test_anything_else_than_the_check_times(self, change: Json) -> None:
        assert tells_something_new(UP, UP.model_copy(update=change))

    @pytest.mark.parametrize(
        ("age", "expected"), [(0, False), (59, False), (60, True), (-59, False), (-60, True)]
    )
    def test_check_times_alone_at_most_hourly(self, age: int, expected: bool) -> None:
        written = UP.model_copy(update={"last_check_time": timestamp(NOW)})
        later = NOW + timedelta(minutes=age)
        checked = UP.model_copy(
            update={"last_check_time": timestamp(later), "next_check_time": timestamp(later)}
        )
        assert tells_something_new(written, checked) is expected

    def test_the_first_check_time(self) -> None:
        checked = UP.model_copy(update={"last_check_time": timestamp(NOW)})
        assert tells_something_new(UP, checked)


def test_the_times_of_checks_are_told() -> None:
    """B26."""
    status = told(one(PROVEN, D1), last_check=NOW.timestamp(), next_check=NOW.timestamp() + 60)
    assert status.last_check_time == timestamp(NOW)
    assert status.next_check_time == timestamp(NOW + timedelta(minutes=1))


def test_a_check_that_was_not_made_keeps_the_time_of_the_last() -> None:
    before = told(one(PROVEN, D1), last_check=NOW.timestamp())
    assert told(one(PROVEN, D1), before).last_check_time == timestamp(NOW)


def test_the_uid_of_the_target_is_told() -> None:
    """B22: so that another object of its name is known as another."""
    status = told(one(PROVEN, D1), Status(target_uid="other"))
    assert status.target_uid == UID
    assert report(findings(None, status, problem=GONE)).target_uid == UID


def test_the_last_refresh_is_that_of_any_image() -> None:
    """B26: a baseline that was taken over is none."""
    baseline = told(one(Memory(), D1, target=a_target(variable=D1)))
    assert baseline.last_refresh_time is None
    refreshed = told(one(a_memory(D2, D1), D2), baseline)
    assert refreshed.last_refresh_time == timestamp(NOW)
    assert told(one(PROVEN, D1), refreshed).last_refresh_time == timestamp(NOW)


def test_a_rollout_is_told_while_there_is_one() -> None:
    progress = Progress("a", Counts(1, 1, 1, 2), 0.0, 0.0, NOW)
    rolling = told(one(a_memory(D2), D2, health=PROGRESSING), progress=progress)
    assert rolling.rollout is not None
    assert told(one(PROVEN, D1), rolling).rollout is None


@pytest.mark.parametrize("status", [UP, told(one(HELD, D2, health=LATE)), Status()])
def test_is_ready_reads_the_condition(status: Status) -> None:
    assert is_ready(status) is (status is UP)


problems = st.sampled_from([None, None, None, REFUSED, GONE, Problem(Reason.Forbidden, "x" * 4000)])
TROUBLES: Final = st.sampled_from([trouble(1), trouble(3), trouble(1, DENIED)])


@st.composite
def all_findings(draw: st.DrawFn) -> Findings:
    """Anything that a run may come to know."""
    view = draw(views())
    problem = draw(problems)
    troubles = {
        own.image.name: draw(TROUBLES)
        for own in view.images
        if own.latest is None and not own.image.pinned
    }
    found = findings(
        view,
        is_acted=problem is None and draw(st.booleans()),
        problem=problem,
        troubles=troubles,
        generation=draw(st.integers(1, 2)),
        now=NOW + timedelta(minutes=draw(st.integers(0, 9))),
    )
    if problem is GONE:
        return replace(found, view=None)
    if draw(st.integers(0, 9)) == 9:
        return replace(found, spec=None, view=None, problem=Problem(Reason.InvalidSpec, "bad"))
    return found


@settings(max_examples=150)
@given(st.lists(all_findings(), min_size=1, max_size=3))
def test_every_status_follows_the_rules(history: list[Findings]) -> None:
    """B26: whatever is found, after whatever was told before."""
    before = Status()
    for found in history:
        found = replace(found, before=before)
        after = report(found)
        check(before, after, generation=found.generation, now=found.now)
        for news in transitions(found, after):
            assert news.note
        before = parse_status(after.to_json())


@settings(max_examples=150)
@given(all_findings())
def test_nothing_is_told_again(found: Findings) -> None:
    """B27: a second run that finds the same writes nothing, and has no news."""
    first = report(found)
    if found.view and found.plan:
        outcomes, retry_at = found.plan.outcomes, found.view.retry_at
        images = tuple(
            replace(own, memory=outcomes[own.image.name].memory, is_missing_on_target=False)
            for own in found.view.images
        )
        is_handled = first.last_handled_retry_at == retry_at
        view = replace(found.view, images=images, retry_at=None if is_handled else retry_at)
        found = replace(found, view=view, plan=decide(view))
        assume(found.plan is not None and found.plan.patch is None)  # or there is more to do
    event("compared")
    later = replace(
        found,
        before=first,
        now=found.now + timedelta(minutes=1),
        troubles_told=frozenset(found.troubles),
    )
    second = report(later)
    assert not tells_something_new(first, second)
    assert list(transitions(later, second)) == []
