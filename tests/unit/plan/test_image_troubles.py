"""What people are told of an image that is held, contested or in trouble (B7, B17, B21)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageState
from imagerefresh.plan.image_summary import other_manager
from imagerefresh.plan.summary import report, tells_something_new
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import Mutation, View
from unit.plan.builders import D1, D2, D3, LATE, Json, a_memory, a_target
from unit.plan.examples import LONG_AGO, THREE_TIMES
from unit.plan.telling import DENIED, DOWN, findings, one, only_image, remembered, told, trouble

PROVEN: Final = a_memory(D1, recorded=D1)
MOVING: Final = a_memory(D2, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
CONTESTED: Final = replace(PROVEN, set_back_times=THREE_TIMES)
RESTART, SET_ENV, SET_IMAGE = ActionType.RESTART, ActionType.SET_ENV, ActionType.SET_IMAGE
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")
STOPPED: Final[Mapping[str, View]] = {
    "failed": one(MOVING, D2, health=LATE),
    "foreign": one(PROVEN, D1, target=a_target(variable="v1")),
    "contested": one(CONTESTED, D1, target=a_target(variable=D3)),
    "changed by admission": one(MOVING, D2, mutation=Mutation("mark", "admission changed it")),
}


class TestHolds:
    """A hold keeps the story of its beginning for as long as it lasts."""

    def test_while_the_target_changes(self) -> None:
        begun = told(one(MOVING, D2, health=LATE))
        later = told(one(remembered(begun), D2), begun, is_acted=False)
        assert only_image(later).message == only_image(begun).message

    def test_a_rejection_stays_one(self) -> None:
        begun = told(one(MOVING, D2, target=a_target(variable=D1)))
        later = told(one(remembered(begun), D2, target=a_target(variable=D1)), begun)
        assert only_image(later) == only_image(begun)

    def test_it_ends(self) -> None:
        begun = told(one(MOVING, D2, health=LATE))
        later = only_image(told(one(remembered(begun), D2), begun))
        assert (later.state, later.reason) == (ImageState.CURRENT, Reason.UpToDate)

    def test_another_failure_has_another_story(self) -> None:
        begun = told(one(MOVING, D2, health=LATE))
        other = replace(remembered(begun), asked=D3, failed=None)
        assert D3 in (only_image(told(one(other, D3, health=LATE), begun)).message or "")


class TestTrouble:
    """B7, B8: shown on the image."""

    @pytest.mark.parametrize("problem", [DOWN, DENIED])
    def test_in_place_of_all_is_well(self, problem: Problem) -> None:
        before = told(one(PROVEN, D1))
        after = told(one(PROVEN, None), before, troubles={"ingestor": trouble(1, problem)})
        image = only_image(after)
        assert (image.reason, image.message) == (problem.reason, problem.message)
        assert image.state is ImageState.CURRENT

    @pytest.mark.parametrize("case", STOPPED)
    def test_behind_what_a_person_has_to_mend(self, case: str) -> None:
        view = STOPPED[case]
        plain = only_image(told(view))
        image = only_image(told(view, troubles={"ingestor": trouble()}))
        assert image.reason is plain.reason
        assert (image.message or "").startswith(plain.message or "")
        assert DOWN.message in (image.message or "")

    @pytest.mark.parametrize("case", STOPPED)
    @pytest.mark.parametrize("is_seen", [True, False], ids=["seen", "no target"])
    def test_its_words_do_not_pile_up(self, case: str, is_seen: bool) -> None:
        """B27: a second run says the same."""
        view = STOPPED[case]
        troubles = {"ingestor": trouble()}
        last = told(view, troubles=troubles)
        own = replace(view.images[0], memory=remembered(last), was_contested=case == "contested")
        view = replace(view, images=(own,))
        if is_seen:
            found = findings(view, troubles=troubles)
        else:
            found = findings(None, spec=view.spec, problem=GONE, troubles=troubles)
        last = report(replace(found, before=last))
        assert not tells_something_new(last, report(replace(found, before=last)))

    def test_it_ends_with_an_answer(self) -> None:
        before = told(one(PROVEN, None), troubles={"ingestor": trouble()})
        assert only_image(told(one(PROVEN, D1), before)).reason is Reason.UpToDate


def writer(name: str, time: str | None, fields: Json) -> Json:
    """An entry of managedFields."""
    return {"manager": name, "operation": "Update", "time": time, "fieldsV1": fields}


TEMPLATE: Final[Json] = {"f:spec": {"f:template": {"f:spec": {}}}}
MANAGERS: Final = [
    writer("imagerefresh", "2026-02-03T11:59:00Z", TEMPLATE),
    writer("kubectl-edit", "2026-02-03T10:00:00Z", TEMPLATE),
    writer("gitops", "2026-02-03T11:00:00Z", TEMPLATE),
    writer("kube-controller-manager", "2026-02-03T11:59:30Z", {"f:status": {"f:replicas": {}}}),
    writer("autoscaler", "2026-02-03T11:59:30Z", {"f:spec": {"f:replicas": {}}}),
]


class TestContested:
    def test_the_other_manager_is_named(self) -> None:
        """B17."""
        target = a_target(variable=D3)
        target["metadata"]["managedFields"] = MANAGERS
        message = only_image(told(one(CONTESTED, D1, target=target))).message or ""
        assert message.startswith("gitops ")

    def test_or_said_to_be_unknown(self) -> None:
        message = only_image(told(STOPPED["contested"])).message or ""
        assert message.startswith("somebody else ")

    def test_it_stays_so_while_a_neighbours_patch_is_refused(self) -> None:
        """B17, B29: or it would be set back again once that is over."""
        view = one(LONG_AGO, D1, target=a_target(variable=D3), was_contested=True)
        refused = Problem(Reason.PatchRefused, "no")
        image = only_image(told(view, told(view), is_acted=False, problem=refused))
        assert (image.state, image.reason) == (ImageState.BLOCKED, Reason.Contested)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (MANAGERS, "gitops"),
        (MANAGERS[:1], None),
        ([], None),
        (None, None),
        ([{"manager": "odd"}, writer("timeless", None, TEMPLATE)], "timeless"),
        ([writer("timeless", None, TEMPLATE), MANAGERS[1]], "kubectl-edit"),
    ],
)
def test_the_other_manager_is_who_last_wrote_the_template(fields: Json, name: str | None) -> None:
    """B17."""
    target = a_target()
    target["metadata"]["managedFields"] = fields
    assert other_manager(target) == name
