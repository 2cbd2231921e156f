"""What one run has seen, as values: the input of the decision."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from imagerefresh.api.policy import ActionType, Image, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.health import Health
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import Carried, Problem

READINESS_MARGIN = timedelta(seconds=30)
"""What a rollout gets on top of the target's minReadySeconds, at least (B19)."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A write that admission changed: a mark of the case that it was written for, and what became
    of it.
    """

    mark: str
    message: str


@dataclass(frozen=True, slots=True)
class ImageView:
    """What is known of one image in this run."""

    image: Image
    memory: Memory
    is_missing_on_target: bool
    """The target lost our annotations: some write has to restore them (B22)."""
    carried: Carried
    latest: str | None
    """The digest that the registry serves for the tag, as far as known and fit to be asked."""
    is_confirmed: bool = False
    """Latest came from a request that was sent after the target was read, past any cache (B14)."""
    is_reachable: bool = True
    """The last answer about this image was no transient trouble."""
    conflict: Problem | None = None
    """An older policy has the same claim on the target (B23)."""
    overasked: frozenset[str] = frozenset()
    """Digests that were asked too often within the hour, as the tag goes back and forth (B13)."""
    was_contested: bool = False
    """The run before found a fight over the field (B17)."""
    evidence: Evidence = Evidence.UNKNOWN
    """What the running pods say of the digest in question (B15)."""
    was_mismatched: bool = False
    """The run before found them to run another digest than the one that was asked then, and is."""
    mutation: Mutation | None = None
    """Admission changed what was last written for just this case: writing it again would be no
    better (B29).
    """


@dataclass(frozen=True, slots=True)
class View:
    """What one run has seen: the policy, its target, and the registries' answers."""

    spec: Spec
    target: Mapping[str, Any]
    health: Health
    stalled_for: timedelta
    """How long the rollout has made no progress; zero while it does, or while its clock does not
    run (B19).
    """
    images: tuple[ImageView, ...]
    now: datetime
    retry_at: str | None = None
    """The value of the policy's retry-at annotation, if this policy has not handled it as a whole
    (B4).
    """
    awaited: str | None = None
    """Another policy's rollout on the target, for people, if an ask of this one has to wait for it
    (B23).
    """

    @property
    def rollout_timeout(self) -> timedelta:
        """How long a rollout may make no progress; never so short that pods can't become available
        in it (B19).
        """
        ready_for = timedelta(seconds=self.target["spec"].get("minReadySeconds", 0))
        return max(self.spec.rollout.timeout, ready_for + READINESS_MARGIN)


def stuck_on(view: View) -> str | None:
    """The pod that a rollout has waited for in vain, for people: no verdict on what was asked."""
    is_late = view.stalled_for >= view.rollout_timeout
    return view.health.broken_pod if is_late else None


def in_question(own: ImageView) -> str | None:
    """The digest that is to be proven or, at first sight, to be taken over."""
    is_restart = own.image.action.type is ActionType.RESTART
    found = own.latest if is_restart else own.carried.digest
    return found if own.memory.is_first_observation else own.memory.asked


def is_disproved(own: ImageView) -> bool:
    """Whether the pods clearly run another digest than the one in question.

    That ends when they are seen to run it, not when they can't be seen any more.
    """
    if own.evidence in (Evidence.UNSOUGHT, Evidence.UNKNOWN):
        return own.was_mismatched
    return own.evidence is Evidence.DIFFERS


def is_under_way(own: ImageView) -> bool:
    """Whether a rollout is to prove what is asked of the image."""
    memory = own.memory
    return not own.image.pinned and not memory.is_proven and memory.asked != memory.failed


def waits_for_registry(images: Iterable[ImageView]) -> bool:
    """Whether new pods can't pull, as far as we can tell: the registry of a restarted tag is down.

    Whatever is rolled out waits with it, also what another image asked: one pod, one fate (B21).
    What no container runs, no pod pulls.
    """
    return any(
        each.image.action.type is ActionType.RESTART
        and not each.image.pinned
        and not each.is_reachable
        and not _is_in_no_pod(each)
        for each in images
    )


def _is_in_no_pod(own: ImageView) -> bool:
    problem = own.carried.problem
    return problem is not None and problem.reason is Reason.NoMatchingContainer
