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
    """By target: edits that may cost a rollout of what was asked before."""
    retries: dict[str, list[float]] = field(default_factory=dict)
    """By target: requests to ask once more."""

    def serves(self, repository: str) -> str:
        """The digest that the tag serves now."""
        return self.moves[repository][-1][1]

    def served_bad(self, repository: str, since: float) -> bool:
        """Whether the tag serves what can't run, or has since a moment."""
        moves = [*self.moves.get(repository, []), (float("inf"), "")]
        return any(each.startswith(BAD) and end >= since for (_, each), (end, _) in pairwise(moves))

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
        """How many edits and retries there were within a time."""
        edits = self.disturbances.get(target, [])
        return sum(since <= at <= until for at in edits) + self.retried(target, since, until)

    def retried(self, target: str, since: float, until: float) -> int:
        """How many retries were asked for within a time."""
        return sum(since <= at <= until for at in self.retries.get(target, []))


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


@dataclass(frozen=True)
class Repetition:
    """How often a digest was asked, and how often that was called for."""

    digest: str
    asked: int
    called_for: int
    """By moves of its tag, moves of a neighbour, which end a hold, too (B21), and retries."""
    edits: int
    """In the same time: one may cost a rollout, if nobody remembers what was asked (B22)."""

    @property
    def is_excused(self) -> bool:
        """More often than it was called for, and an edit may be the reason."""
        return self.called_for < self.asked <= self.called_for + self.edits

    @property
    def is_wrong(self) -> bool:
        """More often than there is a reason for."""
        return self.asked > self.called_for + self.edits

    def __str__(self) -> str:
        times = f"{self.asked} times for {self.called_for} moves and {self.edits} edits"
        return f"{self.digest} was asked {times}"


def repetitions(
    looks: Sequence[Look],
    image: str,
    repository: str,
    target: str,
    deeds: Deeds,
    *,
    neighbours: Sequence[str] = (),
) -> Iterator[Repetition]:
    """Of each digest that was asked, but for returns to what is proven (B13).

    Neighbours are the repositories of the other images of the policy.
    """
    own = [ask for ask in asks(looks, image) if not ask.is_return]
    for digest in dict.fromkeys(ask.stamp.digest for ask in own):
        times = [ask.at for ask in own if ask.stamp.digest == digest]
        first, last = times[0], times[-1]
        retries = deeds.retried(target, first, last)
        called_for = deeds.moves_to(repository, digest, last) + retries
        called_for += sum(deeds.moves_within(each, first, last) for each in neighbours)
        edits = deeds.disturbed(target, first, last) - retries
        yield Repetition(digest, len(times), called_for, edits)


def find_returned_twice(
    looks: Sequence[Look], image: str, target: str, deeds: Deeds
) -> Iterator[str]:
    """Digests that the target was taken back to twice, without an edit in between (B17, B21)."""
    for first, second in pairwise(asks(looks, image)):
        is_again = first.is_return and second.is_return
        is_same = first.stamp.digest == second.stamp.digest
        if is_again and is_same and not deeds.disturbed(target, first.at - LAG, second.at):
            yield f"{second.stamp.digest} was gone back to twice without an edit in between"


def _runs(mark: Mark, digest: str, stamp: Stamp | None) -> bool:
    if mark.field is not None:
        return mark.field == digest
    return stamp is None or mark.stamp == stamp
