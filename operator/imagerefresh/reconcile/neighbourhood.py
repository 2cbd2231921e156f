"""The policies that this process knows, by the targets that they act on (B23)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from imagerefresh.api.policy import InvalidSpec, Spec
from imagerefresh.api.status import ImageState
from imagerefresh.plan.claims import Claimant
from imagerefresh.plan.image_summary import TROUBLES
from imagerefresh.reconcile.track import Track

TargetKey: TypeAlias = tuple[str, str, str]
"""Namespace, kind and name."""


@dataclass(slots=True)
class Neighbourhood:
    """Who acts on which target."""

    _claimants: dict[str, tuple[TargetKey, Claimant]] = field(default_factory=dict)
    """By the policies' UIDs."""

    def __len__(self) -> int:
        return len(self._claimants)

    def notice(self, policy: Mapping[str, Any], track: Track) -> None:
        """A policy is there, as the watch brought it: it counts, whether it was run yet or not."""
        metadata = policy["metadata"]
        try:
            spec = track.spec(policy)
        except InvalidSpec:
            return self.forget(metadata["uid"])
        age = (metadata.get("creationTimestamp") or "", metadata["uid"])
        images = track.status(policy).images
        unresolved = frozenset(image.name for image in images if image.reason in TROUBLES)
        blocked = frozenset(image.name for image in images if image.state is ImageState.BLOCKED)
        claimant = Claimant(metadata["name"], age, spec, unresolved, blocked)
        self._claimants[metadata["uid"]] = target_key(policy, spec), claimant
        return None

    def forget(self, uid: str) -> None:
        """A policy was deleted."""
        self._claimants.pop(uid, None)

    def around(
        self, policy: Mapping[str, Any], spec: Spec
    ) -> tuple[Claimant | None, tuple[Claimant, ...]]:
        """A policy as the others see it, if it was noticed, and the others on its target."""
        target = target_key(policy, spec)
        _, own = self._claimants.get(policy["metadata"]["uid"], (target, None))
        others = (each for where, each in self._claimants.values() if where == target)
        return own, tuple(each for each in others if each is not own)


def target_key(policy: Mapping[str, Any], spec: Spec) -> TargetKey:
    """The target that a policy acts on."""
    ref = spec.target_ref
    return policy["metadata"]["namespace"], ref.kind, ref.name
