"""The decision: one total table over what was seen of an image, and one patch at most.

`decide` does no I/O and reads no clock. `TABLE` is read from the top, and the first row that holds
says what is done with an image. Rows look at one image; what images share (the target's health, the
end of all holds when one held tag has moved, one patch for all) is in the view and in `decide`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.api.policy import OnFailure
from imagerefresh.plan.case import Case
from imagerefresh.plan.health import Verdict
from imagerefresh.plan.memory import Memory, state_text
from imagerefresh.plan.steps import Step, carry_out
from imagerefresh.plan.template_change import merge_patches
from imagerefresh.plan.view import View, in_question


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    holds: Callable[[Case], bool]
    step: Step
    why: str


TABLE: tuple[Row, ...] = (
    # A pin is a promise of reproducibility, a suspended policy a person's word: nothing is written.
    Row("inert", lambda c: c.own.image.pinned or c.view.spec.suspend, Step.NOTHING, "B2, B4"),
    # A paused target belongs to whoever paused it.
    Row("paused", lambda c: c.view.health.verdict is Verdict.PAUSED, Step.NOTHING, "B19"),
    # What is written comes back different: not again until something has changed.
    Row("mutated", lambda c: c.own.mutation is not None, Step.NOTHING, "B29"),
    # An older policy acts here already.
    Row("conflict", lambda c: c.own.conflict is not None, Step.NOTHING, "B23"),
    # A foreign value, or a restart that would change nothing: a person has to change something
    # first.
    Row("blocked", lambda c: c.own.carried.problem is not None, Step.NOTHING, "B11, B18"),
    # Where pods can be read, what they run is known before anything is taken for proven.
    Row("examine", lambda c: c.is_to_be_examined, Step.EXAMINE, "B15"),
    # What is proven is recorded before a newer digest is asked, or the proof would be lost.
    Row(
        "record before asking",
        lambda c: (
            not c.is_restart and c.is_proving and not c.is_disproved and not c.is_retry_pending
        ),
        Step.RECORD,
        "B14",
    ),
    # A neighbour is recorded first, to be asked together with this one.
    Row("neighbour first", lambda c: c.is_behind_neighbour, Step.NOTHING, "B13"),
    # Policies on one target roll out one after the other.
    Row("wait", lambda c: c.is_waiting, Step.NOTHING, "B23"),
    # A person asks for another try of what is held or failing.
    Row("retry", lambda c: c.is_retried, Step.ASK, "B4"),
    # The tag goes back and forth: each way would be a rollout, for ever.
    Row("unsteady", lambda c: c.is_unsteady, Step.NOTHING, "B13"),
    # The tag has moved to a digest that is not known to fail.
    Row("move", lambda c: c.has_moved, Step.ASK, "B13, B16"),
    # A held tag has moved away, here or on a neighbour, and there is nothing to ask: the hold ends,
    # our pin goes.
    Row("release", lambda c: c.is_released, Step.RELEASE, "B21"),
    # The field waits to be filled for the first time.
    Row("fill", lambda c: c.is_to_be_filled, Step.ASK, "B18"),
    # What was taken over is not what the pods run: a rollout brings it.
    Row("unlike", lambda c: c.is_unlike, Step.ASK, "B15"),
    # New pods pull the tag, so before a restart is recorded the tag is looked at once more. A
    # healthy target at first sight is then adopted and recorded in one patch.
    Row(
        "confirm",
        lambda c: (
            c.is_restart
            and not c.own.is_confirmed
            and not c.is_disproved
            and (c.is_proving or c.is_provable_at_once)
        ),
        Step.CONFIRM,
        "B12, B14",
    ),
    # The first observation: what the target runs already is taken over without a restart, and
    # proven later.
    Row(
        "adopt",
        lambda c: c.memory.is_first_observation and c.own.latest is not None,
        Step.ADOPT,
        "B12, B18",
    ),
    # Somebody writes the field as often as we do: stop, and say so.
    Row(
        "contested",
        lambda c: c.is_contested and not c.carries_asked and c.memory.is_proven,
        Step.NOTHING,
        "B17",
    ),
    # A proven digest was taken out of the template: set it back. This needs no registry.
    Row("drift", lambda c: not c.carries_asked and c.memory.is_proven, Step.SET_BACK, "B17"),
    # An unproven digest was taken out of the template: somebody has rejected it.
    Row(
        "rejected",
        lambda c: not c.carries_asked and c.is_unproven and not c.is_failed,
        Step.REJECT,
        "B17",
    ),
    # The rollout came to nothing, and there is a proven digest to go back to.
    Row(
        "roll back",
        lambda c: (
            c.has_failed
            and c.carries_asked
            and not c.is_failed
            and c.memory.recorded is not None
            and c.view.spec.rollout.on_failure is OnFailure.ROLLBACK
        ),
        Step.ROLL_BACK,
        "B21",
    ),
    # The rollout came to nothing: hold the digest.
    Row(
        "fail",
        lambda c: c.has_failed and c.carries_asked and not c.is_failed,
        Step.FAIL,
        "B21",
    ),
    # The target is healthy with another digest than the one that was asked: hold that. There is no
    # going back, since what failed is not what runs.
    Row("mismatch", lambda c: c.is_mismatched, Step.FAIL, "B15"),
    # Seen healthy while asked was that digest: proven.
    Row(
        "record",
        lambda c: (
            c.is_proving
            and not c.is_disproved
            and (not c.is_restart or c.own.latest == c.memory.asked)
        ),
        Step.RECORD,
        "B14, B21",
    ),
    # Our annotations were stripped or rewound.
    Row("restore", lambda c: c.own.is_missing_on_target, Step.RESTORE, "B22"),
    # All is well, or there is nothing to be done about it now.
    Row("rest", lambda _: True, Step.NOTHING, "B20, B27"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an image's row came to: the state once the plan is carried out, and its patch."""

    row: Row
    memory: Memory
    patch: Mapping[str, Any] | None
    """This image's part of the plan's patch; None if nothing is written for it."""
    is_retry_pending: bool

    @property
    def step(self) -> Step:
        """What was done."""
        return self.row.step


@dataclass(frozen=True, slots=True)
class Plan:
    """`patch` is a strategic merge patch of the target, or None.

    Before it is carried out, `confirm` names the images to look at once more, and `examine` those
    whose pods are to be looked at, with the digest in question.
    """

    outcomes: Mapping[str, Outcome]
    patch: Mapping[str, Any] | None
    confirm: frozenset[str] = frozenset()
    examine: Mapping[str, str] = field(default_factory=dict)


BEFORE_AN_ASK = frozenset({Step.EXAMINE, Step.RECORD, Step.ADOPT})
"""Steps after which an image whose tag has moved asks at once: its neighbours wait for that."""


def decide(view: View) -> Plan:
    """What to do about what was seen. Total, and the same for the same view."""
    all_holds_end = any(
        each.memory.is_held and each.latest is not None and each.latest != each.memory.failed
        for each in view.images
        if not each.image.pinned
        and each.carried.problem is None
        and not (each.mutation or each.conflict)
    )
    cases = [Case(view, each, all_holds_end=all_holds_end) for each in view.images]
    if any(_row(c).step in BEFORE_AN_ASK and c.is_asked_next for c in cases):
        cases = [replace(c, is_behind_neighbour=_row(c).step is Step.ASK) for c in cases]
    outcomes = {case.own.image.name: _outcome(case) for case in cases}
    patch = merge_patches([each.patch for each in outcomes.values() if each.patch])
    confirm = frozenset(name for name, outcome in outcomes.items() if outcome.step is Step.CONFIRM)
    examine = {
        own.image.name: digest
        for own in view.images
        if outcomes[own.image.name].step is Step.EXAMINE and (digest := in_question(own))
    }
    return Plan(outcomes=outcomes, patch=patch or None, confirm=confirm, examine=examine)


def _row(case: Case) -> Row:
    return next(row for row in TABLE if row.holds(case))


def _outcome(case: Case) -> Outcome:
    row = _row(case)
    memory, template = carry_out(row.step, case)
    is_retry_pending = case.is_retry_pending and row.step is not Step.ASK
    if memory == case.memory and row.step not in (Step.RESTORE, Step.RELEASE):
        return Outcome(row, memory, None, is_retry_pending)
    memory = replace(memory, serial=case.memory.serial + 1)
    return Outcome(row, memory, _patch(case, memory, template), is_retry_pending)


def _patch(case: Case, memory: Memory, template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state is written whole in every patch, and the record with it (B22): without one, what
    another repository's image has left there goes.
    """
    name, prefix = case.own.image.name, case.view.spec.annotation_prefix
    annotations = {
        state_annotation(name): state_text(memory),
        record_annotation(prefix, name): memory.recorded,
    }
    patch: dict[str, Any] = {"metadata": {"annotations": annotations}}
    if template:
        patch["spec"] = {"template": template}
    return patch
