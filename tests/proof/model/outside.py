"""What comes from outside: publishers, outages, and people with kubectl."""

from collections.abc import Iterator

from proof.model.controller import Event, let_hours_pass, pod_events
from proof.model.rendering import Setting
from proof.model.world import (
    DIGESTS,
    Cause,
    Note,
    Part,
    Phase,
    Share,
    World,
    newest,
)

D = "D{}"
LOST = Cause.MOVE | Cause.REVERT | Cause.FAILURE
"""What only a lost copy of the state knew may cost one rollout (B22)."""


def registry_events(setting: Setting, world: World) -> Iterator[Event]:
    """Tags move, and registries fail."""
    for place, share in enumerate(world.shares):
        for digest in range(DIGESTS):
            if digest != share.tag:
                name = f"{setting.names[place]} moves to {D.format(digest)}"
                yield Event(name, _move(setting, world, place, digest))
    if world.is_up:
        yield Event("the registry fails", world._replace(is_up=False))


def _move(setting: Setting, world: World, place: int, digest: int) -> World:
    """A move is to be asked once, here and wherever a hold ends with it."""
    shares = list(world.shares)
    for other, share in enumerate(shares):
        state, _ = newest(world, share)
        if other == place or (state is not None and state.failed is not None):
            shares[other] = share._replace(causes=share.causes | Cause.MOVE)
    moved = shares[place]
    has_asked = [
        each.asked for each in (moved.note.state, moved.entry and moved.entry.state) if each
    ]
    is_back = setting.restarts[place] and digest in has_asked and bool(moved.past[-1].pods)
    shares[place] = moved._replace(tag=digest, has_flickered=moved.has_flickered or is_back)
    return world._replace(shares=tuple(shares))


def people_events(setting: Setting, world: World) -> Iterator[Event]:
    """What people do to the policy."""
    yield Event(
        "resume the policy" if world.is_suspended else "suspend the policy",
        world._replace(is_suspended=not world.is_suspended),
    )
    yield Event("ask for a retry", _retry(world))
    yield Event(
        "the older policy goes"
        if world.has_rival
        else "there is an older policy that does the same",
        world._replace(has_rival=not world.has_rival),
    )
    for place, share in enumerate(world.shares):
        name = setting.names[place]
        pinned = share._replace(is_pinned=not share.is_pinned)
        yield Event(
            f"unpin {name}" if share.is_pinned else f"pin {name}", _put(world, place, pinned)
        )


def _retry(world: World) -> World:
    shares = []
    for share in world.shares:
        entry, note = share.entry, share.note
        if entry:
            entry = entry._replace(state=entry.state._replace(has_handled_retry=False))
        if note.state:
            note = note._replace(state=note.state._replace(has_handled_retry=False))
        past = tuple(
            each._replace(
                note=each.note._replace(
                    state=each.note.state and each.note.state._replace(has_handled_retry=False)
                )
            )
            for each in share.past
        )
        causes = share.causes | Cause.RETRY
        shares.append(share._replace(entry=entry, note=note, past=past, causes=causes))
    return world._replace(shares=tuple(shares), has_retry=True)


def target_events(setting: Setting, world: World) -> Iterator[Event]:
    """What people and their tools do to the target."""
    yield from undo_events(setting, world)
    yield Event("rollout restart", _templated(world._replace(restarts=1 - world.restarts)))
    for place, share in enumerate(world.shares):
        for name, part in _edits(setting.restarts[place], share.part):
            edited = _taken_back(world, share, part)
            told = f"{setting.names[place]}: {name}"
            yield Event(told, _templated(_put(world, place, edited)))
    yield Event("apply the manifest", _apply(setting, world))
    if world.is_paused:
        yield Event("resume the target", world._replace(is_paused=False, is_observed=False))
    else:
        yield Event("pause the target", world._replace(is_paused=True, is_observed=False))


def undo_events(_: Setting, world: World) -> Iterator[Event]:
    """People go back to an earlier revision."""
    if not world.is_paused:
        for back in range(2, len(world.revisions) + 1):
            yield Event("undo" if back == 2 else "undo to the revision before", _undo(world, back))


def store_events(setting: Setting, world: World) -> Iterator[Event]:
    """What is remembered gets lost or edited."""
    for place, share in enumerate(world.shares):
        name = setting.names[place]
        if share.note != Note():
            yield Event(
                f"strip the annotations of {name}", _put(world, place, _noted(world, share, Note()))
            )
        if share.note.state and share.note.record is not None:
            garbled = _noted(world, share, share.note._replace(state=None))
            yield Event(f"garble the state of {name}", _put(world, place, garbled))
        state, _ = newest(world, share)
        is_held = state is not None and state.failed is not None
        for digest in range(DIGESTS):
            if share.note.record not in (None, digest) and not is_held:
                edited = _noted(world, share, share.note._replace(record=digest))
                told = f"record {D.format(digest)} for {name} by hand"
                yield Event(told, _put(world, place, edited))
    yield Event("recreate the policy", _recreate_policy(world))
    yield Event("recreate the target", _recreate_target(setting, world))


def fight_events(setting: Setting, world: World) -> Iterator[Event]:
    """Somebody else writes the fields, too."""
    for place, share in enumerate(world.shares):
        other = share.part._replace(field=1 if share.part.field == 0 else 0)
        edited = _put(world, place, _taken_back(world, share, other))
        yield Event(f"{setting.names[place]}: another manager writes", _templated(edited))


def time_events(setting: Setting, world: World) -> Iterator[Event]:
    """Time, and what it does to pods."""
    yield Event("hours pass", let_hours_pass(setting, world))
    yield from pod_events(setting, world)


def _edits(is_restart: bool, part: Part) -> Iterator[tuple[str, Part]]:
    """What a field may be set to; for a restarted image, that is the container's image."""
    for digest in range(DIGESTS):
        if part.field != digest:
            yield f"set to {D.format(digest)}", part._replace(field=digest, is_foreign=False)
    if part.field is not None or part.is_foreign:
        yield "emptied", part._replace(field=None, is_foreign=False)
    if not part.is_foreign:
        yield "set to something foreign", part._replace(field=None, is_foreign=True)


def _undo(world: World, back: int) -> World:
    shares = tuple(
        _taken_back(world, _noted(world, share, share.past[-back].note), share.past[-back].part)
        for share in world.shares
    )
    return _templated(world._replace(shares=shares, restarts=world.revisions[-back]))


def _apply(setting: Setting, world: World) -> World:
    """A tool that knows nothing of our marks and fields."""
    shares = tuple(_taken_back(world, share, Part()) for share in world.shares)
    return _templated(world._replace(shares=shares, restarts=0))


def _templated(world: World) -> World:
    return world._replace(is_observed=False, has_other_template=True)


def _taken_back(world: World, share: Share, part: Part) -> Share:
    """A proven digest may be set back, a rejected one not."""
    state, recorded = newest(world, share)
    if part == share.part or state is None or state.asked != recorded:
        return share._replace(part=part)
    return share._replace(part=part, causes=share.causes | Cause.REVERT)


def _noted(world: World, share: Share, note: Note) -> Share:
    noted = share._replace(note=note)
    if newest(world, noted) == newest(world, share):
        return noted
    return noted._replace(causes=noted.causes | LOST)


def _recreate_policy(world: World) -> World:
    shares = []
    for share in world.shares:
        gone = share._replace(entry=None, answer=None, timed=None, is_time_lost=False)
        if newest(world, gone) != newest(world, share):
            gone = gone._replace(causes=gone.causes | LOST)
        shares.append(gone)
    return world._replace(
        shares=tuple(shares), has_retry=False, is_met=True, stored=None, progress=None
    )


def _recreate_target(setting: Setting, world: World) -> World:
    shares = tuple(
        share._replace(note=Note(), part=Part(), past=(), has_flickered=False, causes=Cause.MOVE)
        for share in world.shares
    )
    return world._replace(
        shares=shares,
        phase=Phase.PROGRESSING,
        is_observed=False,
        is_paused=False,
        restarts=0,
        revisions=(),
        is_met=False,
        has_other_template=True,
    )


def _put(world: World, place: int, share: Share) -> World:
    shares = world.shares
    return world._replace(shares=(*shares[:place], share, *shares[place + 1 :]))
