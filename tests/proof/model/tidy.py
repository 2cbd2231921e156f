"""One world for all that differ in nothing that matters, so that the search ends.

Serials are compared and counted up by one, so of the distance between two only 0, 1 and more are
told apart. Digests are compared only, so they are numbered anew in the order in which a world names
them, beginning with what the tag serves. What can never be read again is wiped.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from proof.model.world import DIGESTS, Note, Part, Past, Phase, Share, State, World

WIDEST = 2
"""The distance of serials that stands for all longer ones."""


class Tidied(NamedTuple):
    """A share in its one form, with what each of its digests and serials was before."""

    share: Share
    digests: tuple[int, ...]
    serials: tuple[int | None, ...]
    """None where there was none."""


class Relevance(NamedTuple):
    """Which marks of an image's state can still be read."""

    timed: bool
    retry: bool
    deadline: bool


def tidy(world: World) -> World:
    """The one world that stands for all like it."""
    relevant = relevance(world)
    return world._replace(
        shares=tuple([tidy_share(share, relevant).share for share in world.shares]),
        has_other_template=world.has_other_template and relevant.timed,
    )


def relevance(world: World) -> Relevance:
    """What can still be read in a world."""
    return Relevance(
        timed=world.progress is not None or world.stored is not None,
        retry=world.has_retry,
        deadline=world.phase is Phase.LATE,
    )


@lru_cache(maxsize=300_000)
def tidy_share(share: Share, relevant: Relevance) -> Tidied:
    """One share of a tidied world."""
    return _Form(share, relevant).fill()


class _Form:
    """How to rewrite one share."""

    def __init__(self, share: Share, relevant: Relevance) -> None:
        self.share = share
        self.relevant = relevant
        self.serials = _closed_up(sorted(set(_serials(share))))
        seen = dict.fromkeys(each for each in _digests(share) if each is not None and each >= 0)
        self.digests = (*seen, *(each for each in range(DIGESTS) if each not in seen))
        self.numbers: dict[int | None, int | None] = {None: None, -1: -1}
        self.numbers.update({old: new for new, old in enumerate(self.digests)})
        self.sets = [
            sum(1 << new for new, old in enumerate(self.digests) if bits >> old & 1)
            for bits in range(1 << DIGESTS)
        ]

    def fill(self) -> Tidied:
        share, number = self.share, self.numbers
        entry = share.entry and share.entry._replace(
            state=self._state(share.entry.state), recorded=number[share.entry.recorded]
        )
        tidied = share._replace(
            tag=0,
            answer=number[share.answer],
            note=self._note(share.note),
            part=self._part(share.part),
            past=tuple(
                [
                    Past(self._part(part), self._note(note), self.sets[pods])
                    for part, note, pods in share.past
                ]
            ),
            entry=entry,
            timed=number[share.timed] if self.relevant.timed else None,
            is_time_lost=share.is_time_lost and self.relevant.timed,
        )
        before: list[int | None] = [None] * (max(self.serials.values()) + 1)
        for old, new in self.serials.items():
            before[new] = old
        return Tidied(tidied, self.digests, tuple(before))

    def _state(self, state: State) -> State:
        relevant = self.relevant
        return State(
            serial=self.serials[state.serial],
            asked=self.numbers[state.asked],
            is_timed=state.is_timed and relevant.timed and self.share.timed is not None,
            adopted=state.adopted,
            failed=self.numbers[state.failed],
            has_handled_retry=state.has_handled_retry and relevant.retry,
            set_back_ages=state.set_back_ages,
            has_seen_deadline=state.has_seen_deadline and relevant.deadline,
        )

    def _note(self, note: Note) -> Note:
        return Note(note.state and self._state(note.state), self.numbers[note.record])

    def _part(self, part: Part) -> Part:
        stamp = None
        if part.stamp is not None:
            digest = self.numbers[part.stamp[1]]
            assert digest is not None
            stamp = self.serials[part.stamp[0]], digest
        number = self.numbers
        return Part(number[part.field], stamp, number[part.pin], part.is_foreign)


def _closed_up(serials: list[int]) -> dict[int, int]:
    closed, last, place = {0: 0}, 0, 0
    for serial in serials:
        place += min(serial - last, WIDEST)
        closed[serial] = place
        last = serial
    return closed


def _serials(share: Share) -> Iterator[int]:
    for part, note in _layers(share):
        if part.stamp is not None:
            yield part.stamp[0]
        if note.state is not None:
            yield note.state.serial
    if share.entry is not None:
        yield share.entry.state.serial


def _digests(share: Share) -> Iterator[int | None]:
    """What the operator sees comes first."""
    yield share.tag
    if share.entry is not None:
        yield share.entry.state.asked
        yield share.entry.state.failed
        yield share.entry.recorded
    yield share.answer
    yield share.timed
    for part, note in _layers(share):
        if note.state is not None:
            yield note.state.asked
            yield note.state.failed
        yield note.record
        yield part.field
        yield part.pin
        if part.stamp is not None:
            yield part.stamp[1]
    for past in share.past:
        for digest in range(DIGESTS):
            if past.pods == 1 << digest:
                yield digest


def _layers(share: Share) -> Iterator[tuple[Part, Note]]:
    yield share.part, share.note
    for past in share.past:
        yield past.part, past.note
