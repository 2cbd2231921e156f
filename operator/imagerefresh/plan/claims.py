"""What policies claim on a target, and which of two policies with one claim may act (B23).

The older one works, ties are broken by UID; the younger one's image says Conflict and does nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.api.policy import ActionType, Image, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.plan.template import Problem, claim_of


@dataclass(frozen=True, slots=True)
class Claimant:
    """A policy as its neighbours on a target see it. `age` sorts the older before the younger."""

    name: str
    age: tuple[str, str]
    spec: Spec


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
                found[image.name] = Problem(
                    Reason.Conflict,
                    f"the older policy {older.name} has the same {clash}, with its image"
                    f" {taken[clash]}: remove or rename the image in one of the two",
                )
    return found


def _claims(spec: Spec, image: Image) -> tuple[str, ...]:
    """What an action writes, and the annotation keys that it remembers by."""
    claim = claim_of(image)
    if image.action.type is ActionType.RESTART:
        claim = f"{claim} of {image.reference}"
    keys = (state_annotation(image.name), record_annotation(spec.annotation_prefix, image.name))
    return (claim, *(f"annotation {key}" for key in keys))
