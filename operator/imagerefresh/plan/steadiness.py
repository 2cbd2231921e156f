"""Whether a tag keeps going back and forth: registries behind one name that are out of sync serve
it in two ways in turn.

Each look then finds a move, and each move would be a rollout (B13).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

ASK_LIMIT = 3
"""How often one digest is asked within the window, because the tag moved to it."""
ASK_WINDOW = 3600.0
"""Seconds."""


@dataclass(slots=True)
class Steadiness:
    """The latest asks of one image, by the process that made them. Times are monotonic seconds."""

    _asks: list[tuple[float, str]] = field(default_factory=list)

    def note(self, digest: str, now: float) -> None:
        """A digest was asked because the tag moved to it."""
        self._asks = [*self._recent(now), (now, digest)]

    def overasked(self, now: float) -> frozenset[str]:
        """Digests that were asked as often as one may be."""
        digests = [digest for _, digest in self._recent(now)]
        return frozenset(each for each in digests if digests.count(each) >= ASK_LIMIT)

    def _recent(self, now: float) -> Iterable[tuple[float, str]]:
        return (ask for ask in self._asks if now - ask[0] < ASK_WINDOW)
