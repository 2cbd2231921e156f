"""What registries in the field do differently, as a table: the number under which it is known, how
a scripted registry plays it, and what must come of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from imagerefresh.reference import Reference
from imagerefresh.registry import Credential, Resolved, Trouble, TroubleReason
from unit.registry.conftest import Names
from unit.registry.resolving import DIGEST, ONE
from unit.registry.scripted import ScriptedRegistry

DENIED: Final = TroubleReason.ImageNotFoundOrDenied
LIMITED: Final = TroubleReason.RateLimited
UNAVAILABLE: Final = TroubleReason.RegistryUnavailable
MISCONFIGURED: Final = TroubleReason.RegistryMisconfigured
NOT_AN_IMAGE: Final = TroubleReason.NotAnImage

Outcome = str | TroubleReason
"""A digest, or why there is none."""

Found = Resolved | Trouble


@dataclass
class Scene:
    """Two servers and what is asked of the first.

    Attributes:
        turns: how often the client asks; the last answer counts.
    """

    registry: ScriptedRegistry
    other: ScriptedRegistry
    names: Names
    credentials: Sequence[Credential] = (ONE,)
    turns: int = 1
    reference: Reference = field(init=False)

    def __post_init__(self) -> None:
        self.reference = self.registry.reference

    def queries(self, path: str = "/token") -> list[list[tuple[str, str]]]:
        """What was asked of a path, by any server."""
        return [s.query for r in (self.registry, self.other) for s in r.seen if s.path == path]


Check = Callable[[Found], bool]
Play = Callable[[Scene], Check | None]


@dataclass(frozen=True)
class Quirk:
    """One row."""

    play: Play
    outcome: Outcome


QUIRKS: Final[dict[int, Quirk]] = {}


def quirk(*numbers: int, outcome: Outcome = DIGEST) -> Callable[[Play], Play]:
    """Add a row for each number. What it decorates sets the scene, and may return what must hold
    afterwards.
    """

    def add(play: Play) -> Play:
        for number in numbers:
            assert number not in QUIRKS
            QUIRKS[number] = Quirk(play, outcome)
        return play

    return add


_TAG_LISTS = "no tag list is ever asked for: a policy follows one tag"
_MATCHING = "which credential belongs to an image is decided before the client is asked"

NOT_APPLICABLE: Final = {
    **dict.fromkeys((6, 21, 22, 23, 24, 25, 26, 27, 28, 29), _TAG_LISTS),
    45: _MATCHING,
}
"""Why a number has no row."""

LAST: Final = 54
