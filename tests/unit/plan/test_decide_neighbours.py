"""Decisions about several images of one target, and what they share."""

from dataclasses import replace
from datetime import timedelta

import pytest

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.plan.decide import Plan, decide
from imagerefresh.plan.health import Health
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.steps import Step
from imagerefresh.plan.template import Problem, read
from imagerefresh.plan.view import Mutation
from unit.plan.builders import (
    D1,
    D2,
    D3,
    D4,
    GROUP,
    HEALTHY,
    LATE,
    PROGRESSING,
    Json,
    a_memory,
    a_target,
    a_view,
    an_image,
    an_own,
    patched,
)
from unit.plan.examples import RETRY, ROLLBACK

WEB = an_image(ActionType.RESTART)
INGESTOR = an_image(ActionType.SET_ENV)
PROXY = an_image(ActionType.SET_IMAGE)


def together(
    *images: tuple[Json, Memory, str | None],
    target: dict[str, Json],
    health: Health = HEALTHY,
    **view: Json,
) -> Plan:
    """The plan for several images, each with its memory and what its tag serves."""
    owns = [an_own(image, target, memory, latest) for image, memory, latest in images]
    return decide(a_view(target, *owns, health=health, **view))


def test_several_moved_images_are_one_patch() -> None:
    """B13: several moved images: one patch, one rollout."""
    target = a_target(variable=D1, proxy=D1)
    proven = a_memory(D1, recorded=D1)
    plan = together((WEB, proven, D2), (INGESTOR, proven, D3), (PROXY, proven, D4), target=target)
    after = patched(target, plan.patch)
    assert [str(read(image, after).stamp) for image in (WEB, INGESTOR, PROXY)] == [
        f"5 {D2}",
        f"5 {D3}",
        f"5 {D4}",
    ]
    assert [read(image, after).digest for image in (WEB, INGESTOR, PROXY)] == [None, D3, D4]


def test_only_what_has_something_to_do_is_written() -> None:
    """B27: the neighbours of a moved image are left alone."""
    target = a_target(variable=D1, proxy=D1)
    proven = a_memory(D1, recorded=D1)
    plan = together((WEB, proven, D1), (INGESTOR, proven, D2), target=target)
    assert plan.patch is not None
    assert set(plan.patch["metadata"]["annotations"]) == {
        state_annotation("ingestor"),
        record_annotation(GROUP, "ingestor"),
    }
    assert plan.outcomes["web"].memory == proven


def test_the_record_is_written_under_the_prefix_of_the_policy() -> None:
    target = a_target(variable=D1)
    plan = together(
        (INGESTOR, a_memory(D1), D1), target=target, annotationPrefix="other.example.com"
    )
    assert plan.patch is not None
    annotations = plan.patch["metadata"]["annotations"]
    assert annotations[record_annotation("other.example.com", "ingestor")] == D1
    assert state_annotation("ingestor") in annotations


def test_digests_unproven_in_one_rollout_fail_together() -> None:
    """B21."""
    moving = a_memory(D2, recorded=D1)
    plan = together(
        (WEB, moving, D2),
        (INGESTOR, moving, D2),
        target=a_target(variable=D2),
        health=LATE,
    )
    assert {outcome.memory.failed for outcome in plan.outcomes.values()} == {D2}
    assert plan.patch is not None
    assert "spec" not in plan.patch


def test_a_rollback_is_one_patch_for_all_that_have_a_record() -> None:
    """B21: one patch; an image without a record stays."""
    target = a_target(variable=D2, proxy=D2)
    moving = a_memory(D2, recorded=D1)
    plan = together(
        (WEB, moving, D2),
        (INGESTOR, a_memory(D2), D2),
        (PROXY, moving, D2),
        target=target,
        health=LATE,
        **ROLLBACK,
    )
    after = patched(target, plan.patch)
    assert [read(image, after).digest for image in (WEB, INGESTOR, PROXY)] == [D1, D2, D1]
    assert [plan.outcomes[name].memory.failed for name in ("web", "ingestor", "proxy")] == [D2] * 3


def test_all_holds_end_with_the_first() -> None:
    """B21: when a held tag moves, what failed beside it is asked again, in the same patch."""
    target = a_target(variable=D1, proxy=D2)
    plan = together(
        (INGESTOR, a_memory(D1, recorded=D1, failed=D2), D2),
        (PROXY, a_memory(D2, recorded=D1, failed=D2), D3),
        target=target,
        health=LATE,
    )
    after = patched(target, plan.patch)
    assert [read(image, after).digest for image in (INGESTOR, PROXY)] == [D2, D3]
    assert [outcome.memory.failed for outcome in plan.outcomes.values()] == [None, None]


def test_a_hold_that_ends_with_a_neighbours_is_given_up_without_an_ask() -> None:
    """B21: it already is asked; the neighbour's rollout tries it again."""
    plan = together(
        (WEB, a_memory(D2, recorded=D1, failed=D2), D2),
        (PROXY, a_memory(D2, recorded=D1, failed=D2), D3),
        target=a_target(proxy=D2),
        health=LATE,
    )
    web = plan.outcomes["web"]
    assert (web.step, web.memory.asked, web.memory.failed) == (Step.RELEASE, D2, None)


@pytest.mark.parametrize("pinned", [True, False])
def test_a_pinned_image_ends_no_hold(pinned: bool) -> None:
    """B2: it is never polled; what is remembered of its tag says nothing."""
    neighbour = an_image(ActionType.SET_IMAGE, pinned=pinned)
    plan = together(
        (INGESTOR, a_memory(D2, recorded=D1, failed=D2), D2),
        (neighbour, a_memory(D2, recorded=D1, failed=D2), D3),
        target=a_target(variable=D2, proxy=D2),
        health=LATE,
    )
    assert (plan.outcomes["ingestor"].memory.failed is None) is not pinned


def test_a_write_that_admission_changed_ends_no_hold() -> None:
    """B29, B21: nothing is written for it, so the others would be released again and again."""
    target = a_target(variable=D2, proxy=D1)
    held = a_memory(D2, recorded=D1, failed=D2)
    plan = decide(
        a_view(
            target,
            an_own(INGESTOR, target, held, D2),
            an_own(PROXY, target, held, D3, mutation=Mutation("mark", "changed")),
            health=LATE,
        )
    )
    assert plan.patch is None


@pytest.mark.parametrize("image", [WEB, INGESTOR], ids=["Restart", "SetEnv"])
def test_a_rejected_neighbour_does_not_block_a_record(image: Json) -> None:
    """B17."""
    target = a_target(variable=D2, proxy=D1)
    plan = decide(
        a_view(
            target,
            an_own(image, target, a_memory(D2, recorded=D1), D2, is_confirmed=True),
            an_own(PROXY, target, a_memory(D2, recorded=D1), D2),
        )
    )
    assert plan.outcomes[image.name].memory.recorded == D2
    assert plan.outcomes["proxy"].memory.failed == D2


def test_a_restart_that_cannot_be_pulled_fails_nobody() -> None:
    """B21, B7: while its registry can't be reached, its pod can't start, with all that is in it."""
    target = a_target(variable=D2)
    moving = a_memory(D2, recorded=D1)
    plan = decide(
        a_view(
            target,
            an_own(WEB, target, moving, None, is_reachable=False),
            an_own(INGESTOR, target, moving, D2),
            health=LATE,
            **ROLLBACK,
        )
    )
    assert plan.patch is None


@pytest.mark.parametrize(
    ("reason", "failed"), [(Reason.NoMatchingContainer, D2), (Reason.PullPolicyNotAlways, None)]
)
def test_what_no_container_runs_saves_nobody(reason: Reason, failed: str | None) -> None:
    """B11, B21: no pod pulls it, so that its registry is down holds up no verdict."""
    target = a_target(variable=D2)
    moving = a_memory(D2, recorded=D1)
    web = an_own(WEB, target, a_memory(None), None, is_reachable=False)
    web = replace(web, carried=replace(web.carried, problem=Problem(reason, "told")))
    plan = decide(a_view(target, web, an_own(INGESTOR, target, moving, D2), health=LATE))
    assert plan.outcomes["ingestor"].memory.failed == failed


def test_an_image_waits_for_no_neighbour_that_cannot_be_resolved() -> None:
    """B6: one that can't be resolved doesn't block."""
    target = a_target(variable=D1)
    proven = a_memory(D1, recorded=D1)
    plan = decide(
        a_view(
            target,
            an_own(WEB, target, proven, None, is_reachable=False),
            an_own(INGESTOR, target, proven, D2),
        )
    )
    assert read(INGESTOR, patched(target, plan.patch)).digest == D2


def test_a_hold_ends_for_an_unreachable_image_without_a_change_of_its_template() -> None:
    """B7, B21: what its tag serves is unknown, so its pin can't go yet; its hold may."""
    target = a_target(pin=D1, proxy=D1)
    rolled_back = a_memory(D1, recorded=D1, failed=D2)
    plan = decide(
        a_view(
            target,
            an_own(WEB, target, rolled_back, None, is_reachable=False),
            an_own(PROXY, target, rolled_back, D1),
        )
    )
    assert read(WEB, patched(target, plan.patch)).digest == D1


@pytest.mark.parametrize("pinned_to", [D1, D3])
def test_a_pin_without_a_hold_goes(pinned_to: str) -> None:
    """B21, row 6 of the table: our pin stays until the hold ends, so an undo brings back none."""
    target = a_target(pin=pinned_to)
    plan = together((WEB, a_memory(D1, recorded=D1), D1), target=target)
    assert not read(WEB, patched(target, plan.patch)).is_pinned


def test_a_held_variable_is_recorded_while_a_retry_waits_for_the_registry() -> None:
    """B21, B14: it turned healthy after all, which needs no registry to see."""
    target = a_target(variable=D2)
    own = an_own(INGESTOR, target, a_memory(D2, failed=D2), None, is_reachable=False)
    plan = decide(a_view(target, own, retry_at=RETRY))
    assert plan.outcomes["ingestor"].memory.recorded == D2


def test_a_pinned_image_has_no_retry_pending() -> None:
    """B4: while pinned, requests are handled without effect."""
    target = a_target(variable=D1)
    pinned = an_image(ActionType.SET_ENV, pinned=True)
    held = a_memory(D2, recorded=D1, failed=D2)
    plan = decide(a_view(target, an_own(pinned, target, held, D2), retry_at=RETRY))
    assert not plan.outcomes["ingestor"].is_retry_pending


@pytest.mark.parametrize("failed", [None, D2])
def test_the_patch_that_asks_handles_the_retry(failed: str | None) -> None:
    """B4: its value is in the state, also where the tag moved as it was requested."""
    target = a_target(variable=D1)
    own = an_own(INGESTOR, target, a_memory(D1, recorded=D1, failed=failed), D3)
    outcome = decide(a_view(target, own, retry_at=RETRY)).outcomes["ingestor"]
    assert (outcome.memory.asked, outcome.memory.handled_retry_at) == (D3, RETRY)


def test_progress_of_one_rollout_gives_all_of_it_time() -> None:
    """B19: nothing fails while the rollout moves, however long ago it was asked."""
    target = a_target(variable=D2)
    old = replace(a_memory(D2, recorded=D1), asked_time="2026-02-01T00:00:00Z")
    own = an_own(INGESTOR, target, old, D2)
    plan = decide(a_view(target, own, health=PROGRESSING, stalled_for=timedelta(seconds=1)))
    assert plan.patch is None
