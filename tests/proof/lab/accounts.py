"""What entitles policies to rollouts, counted by image: each rollout has a cause of its own."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from imagerefresh.api.policy import Spec

Key = tuple[str, str]
"""A policy and its image."""


@dataclass
class Accounts:
    """The causes that are not used up, and who waits for a verdict."""

    causes: Counter[Key] = field(default_factory=Counter)
    asking: dict[str, str] = field(default_factory=dict)
    """By target: the policy that has asked last, until there may be a verdict on that, or somebody
    meddles.
    """

    def grant(self, specs: Iterable[tuple[str, Spec]]) -> None:
        """One more rollout for each image of these policies. What holds images together ends for
        all of a policy, so that one of them is never entitled alone (B21).
        """
        self.causes.update((name, image.name) for name, spec in specs for image in spec.images)

    def use_up(self, policy: str, image: str) -> None:
        """An image of a policy changes the template."""
        self.causes[policy, image] -= 1
        assert self.causes[policy, image] >= 0, "each rollout has a cause of its own (B13)"

    def ask(self, policy: str, target: str) -> None:
        """A policy asks a target for a digest."""
        other = self.asking.get(target, policy)
        assert other == policy, "policies on one target roll out one after the other (B23)"
        self.asking[target] = policy

    def settle(self, policy: str, image: str) -> None:
        """All is as it should be: what happened before is no cause any more."""
        self.causes[policy, image] = 0
