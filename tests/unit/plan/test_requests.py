"""What a person asks for (B4), and what is followed rather than waited for."""

from collections.abc import Mapping
from typing import Final

import pytest

from imagerefresh.api.names import REQUESTED_AT, RETRY_AT
from imagerefresh.api.policy import ActionType, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.plan.due import is_inert
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.summary import is_in_flight, report, request_mark
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View
from unit.plan.builders import (
    D1,
    D2,
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
from unit.plan.telling import DENIED, GENERATION, findings, one, told, trouble

PROVEN: Final = a_memory(D1, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
SUSPENDED: Final = {"suspend": True}
REFUSED: Final = Problem(Reason.PatchRefused, "admission webhook said no")
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")
UP: Final = told(one(PROVEN, D1))


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
