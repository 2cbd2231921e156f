"""What holds for every view: whatever is remembered, carried, served and seen."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.api.policy import ActionType
from imagerefresh.plan.decide import TABLE, Outcome, Plan, decide
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.health import UNOBSERVED, Health, Verdict
from imagerefresh.plan.memory import parse_state
from imagerefresh.plan.steps import Step
from imagerefresh.plan.template import carries, read
from imagerefresh.plan.view import ImageView, View
from unit.plan.builders import (
    GROUP,
    HEALTHY,
    IDLE,
    LATE,
    PROGRESSING,
    WAITING,
    an_own,
    patched,
)
from unit.plan.worlds import make_view, views

UNSEEN = Health(Verdict.PROGRESSING, UNOBSERVED)
"""How a target fares right after a patch of its template."""
BACKWARDS = frozenset({Step.SET_BACK, Step.ROLL_BACK})
"""Steps that bring back what was proven, for which no registry is needed."""


def changes_template(outcome: Outcome) -> bool:
    """Whether an image needs a rollout."""
    return "spec" in (outcome.patch or {})


@given(views())
def test_every_view_has_one_plan(view: View) -> None:
    plan = decide(view)
    assert plan == decide(view)
    assert list(plan.outcomes) == [own.image.name for own in view.images]


@given(views())
def test_a_patch_writes_what_has_changed_and_nothing_else(view: View) -> None:
    """B13, B22: state and record whole, the serial one higher, in one patch."""
    plan = decide(view)
    written = {name for name, outcome in plan.outcomes.items() if outcome.patch is not None}
    assert (plan.patch is not None) == bool(written)
    annotations = plan.patch["metadata"]["annotations"] if plan.patch else {}
    assert set(annotations) <= {
        key for name in written for key in (state_annotation(name), record_annotation(GROUP, name))
    }
    for own in view.images:
        name, memory = own.image.name, plan.outcomes[own.image.name].memory
        if name not in written:
            assert memory == own.memory
            continue
        assert memory.serial == own.memory.serial + 1
        record = annotations.get(record_annotation(GROUP, name))
        stored = parse_state(annotations[state_annotation(name)])
        assert stored is not None
        assert replace(stored, recorded=record) == memory


@given(views())
def test_pinned_suspended_paused_and_blocked_images_are_left_alone(view: View) -> None:
    """B2, B4, B11, B18, B19, B29."""
    plan = decide(view)
    after = patched(view.target, plan.patch)
    is_still = view.spec.suspend or view.health.verdict is Verdict.PAUSED
    assert not is_still or plan.patch is None
    for own in view.images:
        if own.image.pinned or own.carried.problem or own.mutation or own.conflict:
            assert plan.outcomes[own.image.name].patch is None
            assert read(own.image, after) == read(own.image, view.target)


@given(views())
def test_each_image_changes_its_own_field_only(view: View) -> None:
    """B13: and what it asks is what the template then carries, stamped with the serial."""
    plan = decide(view)
    after = patched(view.target, plan.patch)
    for own in view.images:
        outcome, present = plan.outcomes[own.image.name], read(own.image, after)
        if not changes_template(outcome):
            assert present == read(own.image, view.target)
        elif outcome.step is not Step.RELEASE:
            assert carries(own.image, present, outcome.memory.asked)
            assert present.stamp is not None
            assert present.stamp.serial == outcome.memory.serial
            assert present.stamp.digest == outcome.memory.asked
            assert present != own.carried


@given(views(is_known=False))
def test_trouble_at_the_registry_changes_nothing(view: View) -> None:
    """B7: with no tag known, only what was proven is brought back."""
    plan = decide(view)
    for own in view.images:
        outcome = plan.outcomes[own.image.name]
        assert not changes_template(outcome) or outcome.step in BACKWARDS
        assert outcome.step is not Step.ASK
        if outcome.memory.asked != own.memory.asked:
            assert outcome.memory.asked == own.memory.recorded
            assert own.is_reachable or own.image.action.type is not ActionType.RESTART


@given(views())
def test_only_the_served_or_a_proven_digest_is_asked(view: View) -> None:
    """B13, B17, B21: and never one that is held, but for a retry or the end of all holds."""
    plan = decide(view)
    holds_end = any(
        own.memory.failed is not None and own.latest not in (None, own.memory.failed)
        for own in view.images
    )
    for own in view.images:
        outcome = plan.outcomes[own.image.name]
        if outcome.step is Step.ASK:
            assert outcome.memory.asked == own.latest
            is_held = own.latest == own.memory.failed
            assert not is_held or holds_end or view.retry_at is not None
        elif outcome.step is Step.ADOPT:
            assert not changes_template(outcome)
            assert outcome.memory.asked in (own.latest, own.carried.digest)
        elif outcome.memory.asked != own.memory.asked:
            assert outcome.memory.asked == own.memory.recorded


@given(views())
def test_nothing_new_is_rolled_out_beside_another_policys_rollout(view: View) -> None:
    """B23: only what was proven is brought back."""
    outcomes = decide(view).outcomes.values()
    steps = {outcome.step for outcome in outcomes if changes_template(outcome)}
    assert view.awaited is None or steps <= BACKWARDS


@given(views())
def test_nothing_is_recorded_that_was_not_seen_healthy(view: View) -> None:
    """B14: and a restart only if its tag was just seen to serve what is asked."""
    plan = decide(view)
    for own in view.images:
        memory = plan.outcomes[own.image.name].memory
        if memory.recorded == own.memory.recorded:
            continue
        event(f"recorded {own.image.action.type}")
        assert view.health.is_healthy
        assert memory.adopted or not view.health.is_idle
        assert memory.recorded == memory.asked
        assert own.image.action.type is ActionType.SET_ENV or not is_contradicted(own)
        assert carries(own.image, own.carried, memory.recorded)
        if own.image.action.type is ActionType.RESTART:
            assert own.is_confirmed
            assert own.latest == memory.recorded


def is_contradicted(own: ImageView) -> bool:
    """Whether pods run, or ran when last seen, something else."""
    if own.evidence in (Evidence.AGREES, Evidence.DIFFERS):
        return own.evidence is Evidence.DIFFERS
    return own.was_mismatched


@given(views())
def test_pods_are_examined_where_something_is_to_be_recorded(view: View) -> None:
    """B15, B27: not for a variable, and not again."""
    for name, digest in decide(view).examine.items():
        own = next(each for each in view.images if each.image.name == name)
        assert own.evidence is Evidence.UNSOUGHT
        assert own.image.action.type is not ActionType.SET_ENV
        assert view.health.verdict is Verdict.HEALTHY
        assert digest not in (None, own.memory.recorded)


@given(views())
def test_a_digest_fails_only_where_it_was_asked_and_not_proven(view: View) -> None:
    """B17, B21, B20: trouble of a proven one is no verdict on it."""
    plan = decide(view)
    for own in view.images:
        failed = plan.outcomes[own.image.name].memory.failed
        if failed not in (None, own.memory.failed):
            assert failed == own.memory.asked
            assert failed != own.memory.recorded


@given(views())
def test_what_is_to_be_confirmed_is_a_healthy_restart(view: View) -> None:
    """B14, B5: one more look, and only where it can lead to a record."""
    plan = decide(view)
    for name in plan.confirm:
        own = next(each for each in view.images if each.image.name == name)
        assert own.image.action.type is ActionType.RESTART
        assert view.health.is_healthy
        assert not own.is_confirmed


def told_by_pods(own: ImageView) -> Evidence:
    """What is found when they are looked at."""
    return Evidence.AGREES if own.evidence is Evidence.UNSOUGHT else own.evidence


@dataclass
class World:
    """A target whose rollouts all end alike, and registries that serve always the same."""

    view: View
    outcome: Health
    stalled_for: timedelta = timedelta(0)
    rollouts: int = 0

    def turn(self) -> Plan:
        """Decides, does it, and lets the controller come to its end."""
        view = self.view
        plan = decide(view)
        target = patched(view.target, plan.patch)
        has_changed = target["spec"]["template"] != view.target["spec"]["template"]
        self.rollouts += has_changed
        late_time = f"2026-02-03T13:00:{self.rollouts:02}Z"
        health = self.outcome
        if health.deadline_time and self.rollouts:
            health = replace(health, deadline_time=late_time)
        is_handled = not any(each.is_retry_pending for each in plan.outcomes.values())
        self.view = replace(
            view,
            target=target,
            health=health,
            stalled_for=self.stalled_for,
            images=tuple(
                an_own(
                    own.image,
                    target,
                    plan.outcomes[own.image.name].memory,
                    own.latest,
                    is_confirmed=own.latest is not None,
                    is_reachable=own.is_reachable,
                    evidence=told_by_pods(own),
                    conflict=own.conflict,
                    overasked=own.overasked,
                    mutation=own.mutation,
                )
                for own in view.images
            ),
            now=view.now + timedelta(minutes=11),
            retry_at=None if is_handled else view.retry_at,
        )
        return plan


@settings(max_examples=80)
@given(
    views(),
    st.sampled_from([PROGRESSING, LATE, HEALTHY, IDLE, WAITING]),
    st.sampled_from([timedelta(0), timedelta(minutes=11)]),
)
def test_a_quiet_world_comes_to_rest(view: View, health: Health, stalled_for: timedelta) -> None:
    """B13, B21, B27: whether rollouts end well, ill or not at all, each image is asked at most once
    more than a person requests, and then nothing is written any more.
    """
    world = World(view, health, stalled_for)
    asks: Counter[str] = Counter()
    for _ in range(12):
        outcomes = world.turn().outcomes
        asks.update(name for name, each in outcomes.items() if each.step is Step.ASK)
    event(f"{world.rollouts} rollouts")
    assert world.turn().patch is None
    assert max(asks.values(), default=0) <= (1 if view.retry_at is None else 2)


@given(views())
def test_what_moved_is_one_rollout(view: View) -> None:
    """B6, B13: a run decides again at once after each of its patches; one of them at most asks."""
    for own in view.images:  # an ask ends the hold of what failed before it
        assume(own.memory.is_proven or own.memory.failed in (None, own.memory.asked))
    world = World(view, HEALTHY if view.health.is_healthy else UNSEEN)
    asking = 0
    for _ in range(5):
        outcomes = world.turn().outcomes.values()
        asking += any(outcome.step is Step.ASK for outcome in outcomes)
        if world.rollouts:
            world.view = replace(world.view, health=UNSEEN)
    assert asking <= 1


@given(views())
def test_the_target_as_read_stays_as_it_was(view: View) -> None:
    before = json.dumps(view.target)
    decide(view)
    assert json.dumps(view.target) == before


def test_the_properties_see_every_row() -> None:
    """Or they would hold for want of trying."""
    chance = Random(1)
    met = {
        outcome.row.name
        for _ in range(4000)
        for outcome in decide(make_view(chance.choice)).outcomes.values()
    }
    assert met == {row.name for row in TABLE}
