"""What the policies of one target owe to each other (B23).

Of two policies with one claim the older one works, ties are broken by UID; the younger one's image
says Conflict and does nothing. And rollouts come one after the other: an ask waits while another
policy's ask there is neither proven nor failed, or nobody could tell which of them a failure is of.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.api.policy import ActionType, Image, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.plan.health import Health, Verdict
from imagerefresh.plan.memory import parse_state
from imagerefresh.plan.template import Problem, as_digest, carries_ask, claim_of, read

_NO_VERDICT_TO_COME = frozenset({Verdict.IDLE, Verdict.PAUSED, Verdict.UNPROVABLE})


@dataclass(frozen=True, slots=True)
class Claimant:
    """A policy as its neighbours on a target see it. `age` sorts the older before the younger."""

    name: str
    age: tuple[str, str]
    spec: Spec
    unresolved: frozenset[str] = field(default_factory=frozenset)
    """Names of the images whose tags can't be resolved for now."""
    blocked: frozenset[str] = field(default_factory=frozenset)
    """Names of the images that wait for a person, by what was last found."""


def conflicts(own: Claimant, others: Iterable[Claimant]) -> dict[str, Problem]:
    """Why images of a policy may not act, by name: an older policy has their claim."""
    found: dict[str, Problem] = {}
    for older in sorted(others, key=lambda each: each.age):
        if older.age >= own.age:
            break
        taken = {
            each: image.name for image in older.spec.images for each in _claims(older.spec, image)
        }
        for image in own.spec.images:
            clash = next((each for each in _claims(own.spec, image) if each in taken), None)
            if clash and image.name not in found:
                elder = f"the older policy {older.name}"
                told = (
                    f"{elder} has the same {clash}, with its image {taken[clash]}: remove the image"
                    " from one of the two"
                    if clash == _write_of(image)
                    else f"{elder} remembers an image by the same name: rename this one"
                )
                found[image.name] = Problem(Reason.Conflict, told)
    return found


def awaited(
    own: Claimant, others: Sequence[Claimant], target: Mapping[str, Any], health: Health
) -> str | None:
    """Whose ask an ask of `own` has to wait for, for people; None if it need not.

    Two that have asked already, as a target without pods lets them, would wait for each other with
    their next digests: then the older one does not wait. Nobody waits for a verdict that does not
    come: of a target without pods, or of a digest that only a registry in trouble could confirm.
    """
    if health.verdict in _NO_VERDICT_TO_COME:
        return None
    everyone = (own, *others)
    is_asking = bool(_under_way(own, everyone, target, health))
    for other in sorted(others, key=lambda each: each.age):
        if is_asking and other.age > own.age:
            break
        if images := _under_way(other, everyone, target, health):
            return f"the rollout of {', '.join(images)} by policy {other.name}"
    return None


def _under_way(
    claimant: Claimant, everyone: Sequence[Claimant], target: Mapping[str, Any], health: Health
) -> list[str]:
    """The images whose asks the target carries, by its own annotations, without a verdict yet.

    What was left there by a policy that is gone, or that may not act, is nobody's ask.
    """
    if claimant.spec.suspend:
        return []
    clashes = conflicts(claimant, (each for each in everyone if each is not claimant))
    unsure = claimant.unresolved if health.is_healthy else frozenset()
    return [
        image.name
        for image in claimant.spec.images
        if not image.pinned
        and image.name not in clashes
        and image.name not in claimant.blocked
        and not (image.name in unsure and image.action.type is ActionType.RESTART)
        and _is_asked(claimant.spec, image, target)
    ]


def _is_asked(spec: Spec, image: Image, target: Mapping[str, Any]) -> bool:
    annotations = target["metadata"].get("annotations") or {}
    state = parse_state(annotations.get(state_annotation(image.name)))
    if state is None or state.adopted or state.claim not in ("", claim_of(image)):
        return False
    record = as_digest(annotations.get(record_annotation(spec.annotation_prefix, image.name)))
    carried = read(image, target)
    is_carried = carried.problem is None and carries_ask(image, carried, state.asked)
    return is_carried and state.asked not in (record, state.failed)


def _claims(spec: Spec, image: Image) -> tuple[str, ...]:
    """What an action writes, and the annotation keys that it remembers by."""
    keys = (state_annotation(image.name), record_annotation(spec.annotation_prefix, image.name))
    return (_write_of(image), *keys)


def _write_of(image: Image) -> str:
    """What an action writes, for people."""
    claim = claim_of(image)
    return f"{claim} of {image.reference}" if image.action.type is ActionType.RESTART else claim
