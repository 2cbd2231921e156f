"""What people are told of a policy: its conditions, as kstatus reads them (B26)."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ConditionType, ImageState, Status
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.summary import report
from imagerefresh.plan.template import RESTART, Problem
from imagerefresh.plan.view import View
from unit.plan.builders import (
    D1,
    D2,
    IDLE,
    LATE,
    NOW,
    PAUSED,
    PROGRESSING,
    UNPROVABLE,
    WAITING,
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

PROVEN: Final = a_memory(D1, recorded=D1)
ROLLED_BACK: Final = a_memory(D1, recorded=D1, failed=D2)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
LONG: Final = timedelta(minutes=10)
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
            one(PROVEN, D2, awaited="the rollout of side by policy other", health=PROGRESSING),
            ("Unknown", Reason.WaitingForPolicy),
            RECONCILING,
            id="B23 another policy's rollout is under way",
        ),
        pytest.param(
            one(a_memory(D2, D1), D2, health=WAITING, stalled_for=LONG),
            ("False", Reason.BrokenPod),
            STALLED,
            id="B19 a pod that a person has to delete",
        ),
        pytest.param(
            one(a_memory(D2, D1), D2, health=WAITING),
            ("Unknown", Reason.RollingOut),
            RECONCILING,
            id="B19 a pod that may become ready yet",
        ),
        pytest.param(
            one(a_memory(D2, D1), D2, health=IDLE),
            ("Unknown", Reason.ScaledToZero),
            None,
            id="B19 no pods to prove it by",
        ),
        pytest.param(
            one(PROVEN, D1, health=IDLE),
            ("True", Reason.UpToDate),
            None,
            id="B19 scaled down after the proof",
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
    ("memory", "latest"), [(a_memory(D2, D1), D2), (PROVEN, D1), (ROLLED_BACK, D2)]
)
def test_the_pod_that_a_rollout_waits_for_is_named(memory: Memory, latest: str) -> None:
    """B19: whatever else there is to tell."""
    target = a_target(variable=memory.asked)
    status = told(one(memory, latest, health=WAITING, stalled_for=LONG, target=target))
    assert (found := condition(status))
    assert "delete that pod" in found.message
    assert "pod web-2" in found.message


@pytest.mark.parametrize(
    ("pinned", "message"),
    [
        (False, "2 images are up to date and proven"),
        (True, "1 image is up to date and proven, 1 pinned"),
    ],
)
def test_what_is_ready_is_counted(pinned: bool, message: str) -> None:
    target = a_target(variable=D1)
    images = [an_image(ActionType.RESTART), an_image(ActionType.SET_ENV, pinned=pinned)]
    found = condition(told(a_view(target, *(an_own(i, target, PROVEN, D1) for i in images))))
    assert found is not None
    assert found.message == message


def test_what_nobody_has_seen_is_not_called_proven() -> None:
    """B12: a restart that was taken over as found."""
    target = a_target(variable=D1)
    found_so = replace(PROVEN, adopted=True, claim=RESTART)
    web, ingestor = an_image(ActionType.RESTART), an_image(ActionType.SET_ENV)
    images = (an_own(web, target, found_so, D1), an_own(ingestor, target, PROVEN, D1))
    found = condition(told(a_view(target, *images)))
    assert found is not None
    assert found.message == "2 images are up to date, 1 by what was found, as pods were not seen"


@pytest.mark.parametrize(
    ("problem", "kind"),
    [(REFUSED, RECONCILING), (GONE, STALLED), (Problem(Reason.Forbidden, "no"), STALLED)],
)
def test_a_problem_of_the_policy_as_a_whole(problem: Problem, kind: ConditionType) -> None:
    """B25, B29: what is tried again by itself is Reconciling, what waits for a person Stalled."""
    status = told(one(PROVEN, D1), problem=problem, is_acted=False)
    assert (ready(status), abnormal(status)) == (("False", problem.reason), kind)
    assert (found := condition(status))
    assert found.message == problem.message


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
        before = told(one(PROVEN, D1))
        image = only_image(told(self.VIEW, before, troubles={"ingestor": trouble()}))
        assert (image.reason, image.message) == (DOWN.reason, DOWN.message)
        assert image.state is ImageState.CURRENT

    def test_no_such_tag_is_told_at_once(self) -> None:
        """B8."""
        status = told(self.VIEW, told(one(PROVEN, D1)), troubles={"ingestor": trouble(1, DENIED)})
        assert ready(status) == ("False", Reason.ImageNotFoundOrDenied)
        assert (found := condition(status))
        assert DENIED.message in found.message

    @pytest.mark.parametrize("memory", [a_memory(D2, D1), replace(a_memory(D1), adopted=True)])
    def test_what_only_waits_for_the_registry_says_so(self, memory: Memory) -> None:
        """B14: a restart is recorded when its tag was seen once more; nothing goes on till then."""
        view = one(memory, None, kind=ActionType.RESTART)
        status = told(view, troubles={"web": trouble()})
        assert (ready(status), abnormal(status)) == (("Unknown", Reason.Checking), None)
        assert (found := condition(status))
        assert DOWN.message in found.message

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
        assert (found := condition(status))
        assert found.message.startswith("ingestor: ")
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
        after = report(
            findings(None, before, spec=a_spec(*(o.image for o in was.images), **SUSPENDED))
        )
        assert after.images == before.images
        assert ready(after) == (ready(before)[0], Reason.Suspended)
        assert abnormal(after) is None

    def test_nothing_was_known(self) -> None:
        status = report(findings(None, spec=a_spec(**SUSPENDED)))
        assert ready(status) == ("Unknown", Reason.Suspended)
