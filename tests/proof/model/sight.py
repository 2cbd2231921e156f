"""What the operator sees of a world: what comes of a run depends on that alone."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from proof.model.rendering import Setting
from proof.model.tidy import Tidied, relevance, tidy_share
from proof.model.world import TROUBLE, Cause, Entry, Note, Part, Past, Share, State, World


class Sight(NamedTuple):
    """A world as one run sees it, in its one form, and how it came to it."""

    world: World
    tidied: tuple[Tidied, ...]


def see(setting: Setting, world: World, looks: Sequence[bool]) -> Sight:
    """Leaves out what the operator can't see, and what it is about to look at anew."""
    relevant = relevance(world)
    tidied = tuple(
        [
            tidy_share(
                _visible(
                    share,
                    is_forgotten=is_due and not world.is_suspended,
                    sees_pods=setting.sees_pods,
                ),
                relevant,
            )
            for share, is_due in zip(world.shares, looks, strict=True)
        ]
    )
    seen = world._replace(
        shares=tuple([each.share for each in tidied]),
        restarts=0,
        revisions=(),
        stored=world.stored if world.progress is None else None,
    )
    return Sight(seen, tidied)


@lru_cache(maxsize=100_000)
def _visible(share: Share, *, is_forgotten: bool, sees_pods: bool) -> Share:
    answer = None if is_forgotten and not share.is_pinned else share.answer
    past: tuple[Past, ...] = ()
    if sees_pods and share.past:
        past = (Past(Part(), Note(), share.past[-1].pods),)
    return share._replace(answer=answer, past=past, has_flickered=False, causes=Cause.NONE)


def bring_back(sight: Sight, seen: World, before: World) -> World:
    """A world that came of a sight, with all that the operator does not see."""
    shares = tuple(
        [
            _brought_back(share, tidied.digests, tidied.serials)._replace(
                tag=hidden.tag,
                past=_past(hidden, share),
                has_flickered=hidden.has_flickered,
                causes=hidden.causes,
            )
            for share, tidied, hidden in zip(seen.shares, sight.tidied, before.shares, strict=True)
        ]
    )
    return seen._replace(shares=shares, restarts=before.restarts, revisions=before.revisions)


def _past(before: Share, after: Share) -> tuple[Past, ...]:
    """Older copies of the state speak of asks from before those that are counted now."""
    if (before.timed, before.is_time_lost) == (after.timed, after.is_time_lost):
        return before.past
    return tuple(
        past._replace(note=past.note._replace(state=past.note.state._replace(is_timed=False)))
        if past.note.state
        else past
        for past in before.past
    )


@lru_cache(maxsize=100_000)
def _brought_back(share: Share, digests: tuple[int, ...], serials: tuple[int | None, ...]) -> Share:
    def digest(number: int | None) -> int | None:
        return number if number in (None, TROUBLE) else digests[number]

    def serial(number: int) -> int:
        for known in range(min(number, len(serials) - 1), -1, -1):
            if (before := serials[known]) is not None:
                return before + number - known
        raise AssertionError("there is always serial 0")

    def state(known: State) -> State:
        return known._replace(
            serial=serial(known.serial), asked=digest(known.asked), failed=digest(known.failed)
        )

    def stamp(known: tuple[int, int]) -> tuple[int, int]:
        return serial(known[0]), digests[known[1]]

    note, part, entry = share.note, share.part, share.entry
    return share._replace(
        answer=digest(share.answer),
        note=Note(note.state and state(note.state), digest(note.record)),
        part=Part(
            digest(part.field), part.stamp and stamp(part.stamp), digest(part.pin), part.is_foreign
        ),
        entry=entry and Entry(state(entry.state), digest(entry.recorded), entry.is_contested),
        timed=digest(share.timed),
    )
