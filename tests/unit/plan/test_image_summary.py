"""What people are told of one image (B26)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import MESSAGE_LENGTH, ImageState, ImageStatus, Status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.memory import Memory, recollect
from imagerefresh.plan.summary import report
from imagerefresh.plan.template import Problem, read
from imagerefresh.plan.view import Mutation, View
from unit.plan.builders import (
    D1,
    D2,
    D3,
    EARLIER,
    GROUP,
    IDLE,
    LATE,
    NOW,
    PAUSED,
    PROGRESSING,
    WAITING,
    Json,
    a_memory,
    a_spec,
    a_target,
    a_view,
    an_image,
    an_own,
    annotated,
)
from unit.plan.conditions import check_storable, messages
from unit.plan.examples import ROLLBACK, THREE_TIMES
from unit.plan.telling import DOWN, findings, one, only_image, remembered, told, trouble

PROVEN: Final = a_memory(D1, recorded=D1)
MOVING: Final = a_memory(D2, recorded=D1)
HELD: Final = a_memory(D2, recorded=D1, failed=D2)
CONTESTED: Final = replace(PROVEN, set_back_times=THREE_TIMES)
RESTART, SET_ENV, SET_IMAGE = ActionType.RESTART, ActionType.SET_ENV, ActionType.SET_IMAGE
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")
STANDS: Final[Mapping[str, tuple[View, ImageState, Reason]]] = {
    "not looked at yet": (one(Memory(), None), ImageState.PENDING, Reason.Checking),
    "proven": (one(PROVEN, D1), ImageState.CURRENT, Reason.UpToDate),
    "proven, and the target is unwell": (
        one(PROVEN, D1, health=LATE),
        ImageState.CURRENT,
        Reason.UpToDate,
    ),
    "asked with this run": (one(PROVEN, D2), ImageState.ROLLING_OUT, Reason.RollingOut),
    "under way": (
        one(MOVING, D2, health=PROGRESSING),
        ImageState.ROLLING_OUT,
        Reason.RollingOut,
    ),
    "recorded with this run": (one(MOVING, D2), ImageState.CURRENT, Reason.UpToDate),
    "taken over": (
        one(Memory(), D1, kind=RESTART, health=PROGRESSING),
        ImageState.PROVING,
        Reason.Proving,
    ),
    "behind another policy": (
        one(PROVEN, D2, awaited="the rollout of side by policy other"),
        ImageState.WAITING,
        Reason.WaitingForPolicy,
    ),
    "asked of a target without pods": (
        one(MOVING, D2, health=IDLE),
        ImageState.ROLLING_OUT,
        Reason.ScaledToZero,
    ),
    "asked, but not what the pods run": (
        one(MOVING, D2, kind=RESTART, evidence=Evidence.DIFFERS),
        ImageState.ROLLING_OUT,
        Reason.DigestMismatch,
    ),
    "taken over, but not what the pods run": (
        one(replace(a_memory(D1), adopted=True), None, kind=SET_IMAGE, evidence=Evidence.DIFFERS),
        ImageState.PROVING,
        Reason.DigestMismatch,
    ),
    "not what the pods run for long": (
        one(
            MOVING,
            D2,
            kind=RESTART,
            evidence=Evidence.DIFFERS,
            stalled_for=timedelta(minutes=10),
        ),
        ImageState.HELD,
        Reason.DigestMismatch,
    ),
    "behind a pod that a person has to delete": (
        one(MOVING, D2, health=WAITING, stalled_for=timedelta(minutes=10)),
        ImageState.ROLLING_OUT,
        Reason.BrokenPod,
    ),
    "failed": (one(MOVING, D2, health=LATE), ImageState.HELD, Reason.RolloutFailed),
    "rolled back": (
        one(MOVING, D2, health=LATE, spec=ROLLBACK),
        ImageState.HELD,
        Reason.RolloutFailed,
    ),
    "rejected": (
        one(MOVING, D2, target=a_target(variable=D1)),
        ImageState.HELD,
        Reason.Rejected,
    ),
    "another digest runs, and told anew": (
        one(HELD, D2, kind=RESTART, evidence=Evidence.DIFFERS),
        ImageState.HELD,
        Reason.DigestMismatch,
    ),
    "rejected, and told anew": (
        one(HELD, D2, target=a_target(variable=D1)),
        ImageState.HELD,
        Reason.Rejected,
    ),
    "held and paused": (one(HELD, D2, health=PAUSED), ImageState.HELD, Reason.RolloutFailed),
    "foreign": (
        one(PROVEN, D1, target=a_target(variable="v1")),
        ImageState.BLOCKED,
        Reason.ForeignValue,
    ),
    "changed by admission": (
        one(MOVING, D2, mutation=Mutation("mark", "admission changed it")),
        ImageState.BLOCKED,
        Reason.MutatedByAdmission,
    ),
    "contested": (
        one(CONTESTED, D1, target=a_target(variable=D3)),
        ImageState.BLOCKED,
        Reason.Contested,
    ),
    "back and forth": (
        one(PROVEN, D2, overasked=frozenset({D2})),
        ImageState.BLOCKED,
        Reason.TagUnsteady,
    ),
    "pinned": (one(MOVING, D3, pinned=True), ImageState.PINNED, Reason.Pinned),
}


@pytest.mark.parametrize("case", STANDS)
def test_where_an_image_stands(case: str) -> None:
    view, state, reason = STANDS[case]
    image = only_image(told(view))
    assert (image.state, image.reason) == (state, reason)
    assert image.message
    check_storable(told(view))


def test_what_is_remembered_is_mirrored() -> None:
    """B22: the state after the patch, with recorded."""
    view = one(replace(MOVING, handled_retry_at="r1", deadline_seen=EARLIER), D2)
    memory = remembered(told(view))
    assert (memory.recorded, memory.serial) == (D2, MOVING.serial + 1)
    assert memory == replace(view.images[0].memory, recorded=D2, serial=MOVING.serial + 1)


def test_a_patch_that_did_not_go_through_is_not_mirrored() -> None:
    """B29: nor the state that it would have brought."""
    refused = Problem(Reason.PatchRefused, "no")
    image = only_image(told(one(PROVEN, D2), is_acted=False, problem=refused))
    assert (image.asked, image.latest, image.serial) == (D1, D2, PROVEN.serial)
    assert image.state is ImageState.CURRENT


def test_an_adopted_restart_is_said_to_be_an_assumption() -> None:
    """B12: where pods can't be read; a variable is no assumption."""
    adopted = replace(PROVEN, adopted=True)
    assert "assumed" in (only_image(told(one(adopted, D1, kind=RESTART))).message or "")
    assert "assumed" not in (only_image(told(one(adopted, D1))).message or "")
    assert "assumed" not in (only_image(told(one(PROVEN, D1, kind=RESTART))).message or "")


class TestSeenInPods:
    """B12, B15: pods that were seen to run what is recorded make it no assumption."""

    ADOPTED: Final = replace(a_memory(D1), adopted=True)
    KNOWN: Final = replace(ADOPTED, recorded=D1)

    def seen(self) -> Status:
        return told(
            one(self.ADOPTED, D1, kind=RESTART, evidence=Evidence.AGREES, is_confirmed=True)
        )

    def test_is_told_and_kept(self) -> None:
        before = self.seen()
        for view in (
            one(self.KNOWN, D1, kind=RESTART, evidence=Evidence.UNSOUGHT),
            one(self.KNOWN, None, kind=RESTART, evidence=Evidence.UNSOUGHT),
        ):
            image = only_image(told(view, before))
            assert image.seen_in_pods == D1
            assert "the pods run it" in (image.message or "")

    def test_ends_with_another_record(self) -> None:
        moving = a_memory(D2, recorded=D1)
        image = only_image(told(one(moving, D2, kind=RESTART, is_confirmed=True), self.seen()))
        assert (image.recorded, image.seen_in_pods) == (D2, None)

    def test_nothing_is_claimed_of_what_nobody_saw(self) -> None:
        image = only_image(told(one(self.ADOPTED, D1, kind=RESTART, is_confirmed=True)))
        assert (image.recorded, image.seen_in_pods) == (D1, None)
        assert "assumed" in (image.message or "")


def test_an_ask_is_no_mismatch_any_more() -> None:
    """B15: what pods were seen to run before it says nothing about it."""
    adopted = replace(a_memory(D1), adopted=True, asked_time=timestamp(NOW))
    image = only_image(told(one(adopted, D1, kind=RESTART, evidence=Evidence.DIFFERS)))
    assert (image.state, image.reason) == (ImageState.ROLLING_OUT, Reason.RollingOut)
    assert not image.adopted


def test_a_mismatch_stays_one_while_it_is_held() -> None:
    late = timedelta(minutes=10)
    unlike = one(MOVING, D2, kind=RESTART, evidence=Evidence.DIFFERS, stalled_for=late)
    before = told(unlike)
    image = only_image(told(one(HELD, D2, health=PROGRESSING, kind=RESTART), before))
    assert (image.state, image.reason) == (ImageState.HELD, Reason.DigestMismatch)
    assert "mirror" in (image.message or "")


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (one(MOVING, D2, health=LATE), [D2, LATE.message]),
        (one(MOVING, D2, health=LATE, spec=ROLLBACK), [D2, "rolled back"]),
        (one(MOVING, D2, health=PROGRESSING), [PROGRESSING.message]),
    ],
)
def test_a_message_says_what_and_why(view: View, words: list[str]) -> None:
    message = only_image(told(view)).message or ""
    assert [word for word in words if word not in message] == []


def test_health_after_a_rollback_is_no_reason_for_it() -> None:
    """B21, B22: the status write that told the reason was lost, and the target is well again."""
    view = one(a_memory(D1, recorded=D1, failed=D2), D2, spec=ROLLBACK)
    message = only_image(told(view)).message or ""
    assert "did not become healthy, the template is rolled back" in message
    assert view.health.message not in message


class TestLatest:
    def test_is_kept_while_it_is_unknown(self) -> None:
        before = told(one(PROVEN, D1))
        assert only_image(told(one(PROVEN, None), before)).latest == D1

    def test_is_told_without_a_target(self) -> None:
        """B25: the registry is looked at all the same."""
        found = findings(None, told(one(PROVEN, D1)), spec=a_spec(an_image(SET_ENV)), problem=GONE)
        assert only_image(report(replace(found, latest={"ingestor": D2}))).latest == D2

    def test_of_another_reference_is_not(self) -> None:
        before = told(one(PROVEN, D1))
        other = an_image(SET_ENV, tag="other")
        target = a_target(variable=D1)
        memory = replace(PROVEN, reference=str(other.reference))
        after = told(a_view(target, an_own(other, target, memory)), before)
        assert only_image(after).latest is None


def test_nothing_is_up_to_date_with_a_tag_that_was_never_seen() -> None:
    """B1, B7: trouble leaves Ready as it was only for what Ready spoke of."""
    before = told(one(PROVEN, D1))
    other = an_image(SET_ENV, tag="other")
    memory = replace(PROVEN, reference=str(other.reference))
    view = a_view(a_target(variable=D1), an_own(other, a_target(variable=D1), memory))
    after = told(view, before, troubles={other.name: trouble()})
    [ready] = after.conditions
    assert (only_image(after).state, only_image(after).reason) == (ImageState.PENDING, DOWN.reason)
    assert (ready.status, ready.reason) == ("Unknown", Reason.Checking)
    assert DOWN.message in ready.message


@pytest.mark.parametrize(
    "spec",
    [
        a_spec(an_image(SET_ENV, tag="other"), suspend=True),
        a_spec(an_image(SET_ENV, tag="other", pinned=True)),
        a_spec(an_image(SET_ENV, tag="other")),
    ],
    ids=["suspended", "pinned", "no target"],
)
def test_a_reference_that_changed_unseen_drops_its_hold_when_it_is_seen(spec: Json) -> None:
    """B1: what was held of the old image is not held of the new one."""
    [image] = spec.images
    before = told(one(HELD, D2, health=LATE))
    problem = None if spec.suspend or image.pinned else GONE
    after = report(findings(None, before, spec=spec, problem=problem))
    target = a_target(variable=D2)
    found = recollect(
        name="ingestor",
        reference=str(image.reference),
        prefix=GROUP,
        annotations=annotated("ingestor", remembered(before)),
        status=only_image(after),
        carried=read(image, target),
    )
    assert (found.memory.asked, found.memory.failed) == (D2, None)


def test_a_pinned_image_that_is_followed_again_is_pending() -> None:
    """B2."""
    before = told(one(PROVEN, D1, pinned=True))
    after = report(findings(None, before, spec=a_spec(an_image(SET_ENV)), problem=GONE))
    assert only_image(after).state is ImageState.PENDING


def test_a_suspended_policy_keeps_what_was_known() -> None:
    """B4."""
    before = told(one(HELD, D2, health=LATE))
    after = report(findings(None, before, spec=a_spec(an_image(SET_ENV), suspend=True)))
    assert after.images == before.images


def test_the_images_of_the_spec_are_told_in_their_order() -> None:
    target = a_target(variable=D1)
    images = [an_image(kind) for kind in (SET_IMAGE, RESTART, SET_ENV)]
    before = Status(images=[ImageStatus(name="gone"), ImageStatus(name="web")])
    view = a_view(target, *(an_own(image, target, PROVEN, D1) for image in images))
    assert [image.name for image in told(view, before).images] == ["proxy", "web", "ingestor"]


class TestLastRefresh:
    """B26: a record of something that we asked."""

    def test_is_the_time_of_the_record(self) -> None:
        assert only_image(told(one(MOVING, D2))).last_refresh_time == timestamp(NOW)

    @pytest.mark.parametrize(
        "view",
        [
            one(Memory(), D1, target=a_target(variable=D1)),
            one(replace(a_memory(D1), adopted=True), D1),
            one(MOVING, D2, health=PROGRESSING),
            one(a_memory(D1, recorded=D1, asked_time=None), D1),
        ],
        ids=["adopted", "adopted, recorded later", "under way", "taken over from another tool"],
    )
    def test_is_not_that_of_a_baseline(self, view: View) -> None:
        assert only_image(told(view)).last_refresh_time is None

    def test_stays(self) -> None:
        before = told(one(MOVING, D2))
        later = one(remembered(before), D2)
        assert only_image(told(later, before)).last_refresh_time == timestamp(NOW)

    def test_is_not_that_of_another_policy(self) -> None:
        """B23: nor is it told anew by each run."""
        elder = Problem(Reason.Conflict, "an older policy")
        assert only_image(told(one(PROVEN, D1, conflict=elder))).last_refresh_time is None


@pytest.mark.parametrize(
    "view",
    [
        one(PROVEN, D1, kind=SET_IMAGE, target=a_target(proxy="x" * 40_000)),
        one(PROVEN, D1, health=replace(LATE, message="x" * 40_000)),
        one(MOVING, D2, health=replace(LATE, message="x" * 40_000)),
        one(MOVING, D2, health=replace(PROGRESSING, message="x" * 40_000)),
        one(MOVING, D2, mutation=Mutation("mark", "x" * 40_000)),
    ],
)
def test_no_message_is_too_long_to_be_stored(view: View) -> None:
    """B27: nor cut when it is read back, or it would be written again and again."""
    status = told(view, troubles={view.images[0].image.name: trouble()})
    check_storable(status)
    assert max(len(message) for message in messages(status)) <= MESSAGE_LENGTH
