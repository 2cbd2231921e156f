"""What was seen of targets over time, and what must hold of it. Pure.

The judge of a soak: it knows what people and publishers did and what the API server told of each
target, and nothing of how the operator came to do what it did.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

LAG: Final = 5.0
"""Seconds by which a watch may tell of a change late."""
BAD: Final = "sha256:bad"
"""How digests begin that the simulated kubelet never makes ready."""


@dataclass(frozen=True)
class Stamp:
    """The mark of an ask on a pod template (B13)."""

    serial: int
    digest: str


@dataclass(frozen=True)
class Mark:
    """What a target says of one image at one moment."""

    stamp: Stamp | None = None
    field: str | None = None
    """What the variable holds, or the digest in the image field; for a restart None."""
    record: str | None = None
    failed: str | None = None
    is_adopted: bool = False


@dataclass(frozen=True)
class Look:
    """A target at one moment, in seconds of a monotonic clock."""

    at: float
    is_healthy: bool
    marks: Mapping[str, Mark]
    """By image name."""


@dataclass(frozen=True)
class Ask:
    """A stamp that was new: the operator wanted this digest."""

    at: float
    index: int
    """Of the look that saw it first."""
    stamp: Stamp
    is_return: bool
    """To the recorded digest: set back after an edit, or rolled back after a failure."""


@dataclass
class Deeds:
    """What publishers and people did, at which moment."""

    moves: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    """By repository: the digests that its tag came to serve."""
    disturbances: dict[str, list[float]] = field(default_factory=dict)
    """By target: edits after which a digest may rightly be asked again."""

    def serves(self, repository: str) -> str:
        """The digest that the tag serves now."""
        return self.moves[repository][-1][1]

    def moves_to(self, repository: str, digest: str, until: float) -> int:
        """How often the tag has moved to a digest."""
        moves = self.moves.get(repository, [])
        return sum(each == digest and at <= until for at, each in moves)

    def moves_within(self, repository: str, since: float, until: float) -> int:
        """How often the tag has moved within a time."""
        return sum(since <= at <= until for at, _ in self.moves.get(repository, []))

    def served_last(self, repository: str, digest: str) -> float:
        """Until when the tag served a digest at last."""
        moves = [*self.moves.get(repository, []), (float("inf"), "")]
        return max((end for (_, each), (end, _) in pairwise(moves) if each == digest), default=0.0)

    def disturbed(self, target: str, since: float, until: float) -> int:
        """How many edits there were within a time."""
        return sum(since <= at <= until for at in self.disturbances.get(target, []))


def asks(looks: Sequence[Look], image: str) -> list[Ask]:
    """The asks for an image, in order. An old stamp that an undo brings back is none."""
    found: list[Ask] = []
    highest = 0
    for index, look in enumerate(looks):
        mark = look.marks.get(image, Mark())
        if mark.stamp and mark.stamp.serial > highest:
            highest = mark.stamp.serial
            is_return = mark.stamp.digest == mark.record
            found.append(Ask(look.at, index, mark.stamp, is_return))
    return found


def records(looks: Sequence[Look], image: str) -> Iterator[tuple[int, str]]:
    """Index and digest of each look that shows a new record; a restored one is none."""
    known: dict[str, int] = {}
    asked = {ask.index: ask.stamp.digest for ask in asks(looks, image) if not ask.is_return}
    before = None
    for index, look in enumerate(looks):
        known.pop(asked.get(index, ""), None)
        record = look.marks.get(image, Mark()).record
        if record and record != before and record not in known:
            yield index, record
            known[record] = index
        before = record


def find_unproven(
    looks: Sequence[Look], image: str, repository: str, deeds: Deeds
) -> Iterator[str]:
    """Records of a digest with which the target was not seen healthy since it was asked (B14), or
    of a restart whose tag had moved away before that.
    """
    own = asks(looks, image)
    for index, digest in records(looks, image):
        asked = [ask for ask in own if ask.index <= index and ask.stamp.digest == digest]
        begin = asked[-1].index if asked else 0
        stamp = asked[-1].stamp if asked else None
        proofs = [
            look
            for look in looks[begin : index + 1]
            if look.is_healthy and _runs(look.marks.get(image, Mark()), digest, stamp)
        ]
        mark = looks[index].marks[image]
        if not proofs:
            yield f"{digest} was recorded, but the target was not healthy with it"
        elif digest.startswith(BAD) and not mark.is_adopted:
            yield f"{digest} was recorded, though no pod can run it"
        elif mark.field is None and deeds.served_last(repository, digest) < proofs[0].at - LAG:
            yield f"{digest} was recorded, but its tag had moved away before"


def find_repeated(
    looks: Sequence[Look],
    image: str,
    repository: str,
    target: str,
    deeds: Deeds,
    *,
    neighbours: Sequence[str] = (),
) -> Iterator[str]:
    """Digests that were asked more often than there were moves and edits that call for it (B13).

    A move of a neighbour, the repository of another image of the policy, ends a hold, too (B21).
    """
    own = asks(looks, image)
    for digest in dict.fromkeys(ask.stamp.digest for ask in own):
        times = [ask.at for ask in own if ask.stamp.digest == digest and not ask.is_return]
        if not times:
            continue
        moves = deeds.moves_to(repository, digest, times[-1])
        moves += sum(deeds.moves_within(each, times[0], times[-1]) for each in neighbours)
        edits = deeds.disturbed(target, times[0], times[-1])
        if len(times) > moves + edits:
            yield f"{digest} was asked {len(times)} times for {moves} moves and {edits} edits"
    for first, second in pairwise(own):
        if first.is_return and second.is_return:
            edits = deeds.disturbed(target, first.at - LAG, second.at)
            if not edits and first.stamp.digest == second.stamp.digest:
                yield f"{second.stamp.digest} was gone back to twice without an edit in between"


def _runs(mark: Mark, digest: str, stamp: Stamp | None) -> bool:
    if mark.field is not None:
        return mark.field == digest
    return stamp is None or mark.stamp == stamp
