"""The Deployment controller, its ReplicaSets and the nodes: what goes on by itself."""

from collections.abc import Iterator
from typing import NamedTuple

from imagerefresh.api.policy import OnFailure
from proof.model.rendering import LONGEST_AGE, Setting
from proof.model.world import Cause, Note, Past, Phase, Progress, Share, State, World

STEP = 2
"""Hours that pass at once: longer than a rollout may stall, and than a fight is remembered."""


class Event(NamedTuple):
    """Something that happens, and the world after it."""

    name: str
    world: World
    is_certain: bool = True
    """It comes sooner or later, if nothing else does."""


def controller_events(setting: Setting, world: World) -> Iterator[Event]:
    """What the controller and the nodes may do next."""
    if not world.is_observed:
        yield Event("the controller observes", observe(setting, world))
        return
    if world.is_paused:
        return
    if world.phase in (Phase.PROGRESSING, Phase.LATE):
        is_certain = world.phase is Phase.PROGRESSING  # a late rollout may stay so for ever
        if any(map(_floats, setting.restarts, world.shares)) and world.is_up:
            started = world._replace(shares=_with_pulled(setting, world))
            if started != world:
                yield Event("new pods pull the tag", started, is_certain)
        if _have_started(setting, world):
            yield Event("the rollout ends well", _healthy(world), is_certain)
    if world.phase is Phase.PROGRESSING:
        yield Event("the rollout exceeds its deadline", _late(setting, world))
    if world.phase is Phase.UNAVAILABLE:
        yield Event("the pods recover", world._replace(phase=Phase.HEALTHY), is_certain=False)
    if _is_waited_for(setting, world):
        yield Event("hours pass", let_hours_pass(setting, world))


def _is_waited_for(setting: Setting, world: World) -> bool:
    """Whether the operator waits for what has not moved since it looks at it."""
    progress = world.progress
    if progress is None or not progress.is_running:
        return False
    if world.phase is Phase.HEALTHY and not setting.sees_pods:
        return False
    if progress.age + progress.elapsed:
        return False
    return any(share.timed is not None for share in world.shares)


def pod_events(setting: Setting, world: World) -> Iterator[Event]:
    """What happens to pods now and then."""
    if world.phase is not Phase.HEALTHY or not world.is_observed or world.is_paused:
        return
    if world.is_up:
        replaced = world._replace(shares=_with_pulled(setting, world))
        if replaced != world:
            yield Event("a pod is replaced", replaced)
    yield Event("the pods fail", world._replace(phase=Phase.UNAVAILABLE))


def observe(setting: Setting, world: World) -> World:
    """The controller sees the latest change: a new template becomes the newest ReplicaSet."""
    world = world._replace(is_observed=True)
    if world.is_paused and world.revisions:
        return world
    templates = list(zip(world.revisions, *(_parts(share) for share in world.shares), strict=True))
    wanted = (world.restarts, *(share.part for share in world.shares))
    place = templates.index(wanted) if wanted in templates else -1
    shares = tuple(_observed(setting, share, place) for share in world.shares)
    kept = [each for each in range(len(templates)) if each != place or place < 0]
    revisions = (*(world.revisions[each] for each in kept), world.restarts)[-setting.revisions :]
    is_new = place < 0 or place != len(templates) - 1
    return world._replace(
        shares=shares,
        revisions=revisions,
        phase=Phase.PROGRESSING if is_new else world.phase,
    )


def _parts(share: Share) -> list[object]:
    return [past.part for past in share.past]


def _observed(setting: Setting, share: Share, place: int) -> Share:
    """A ReplicaSet keeps what annotations were taken from the Deployment since."""
    note = share.note if setting.revisions > 1 else Note()
    if place < 0:
        past = (*share.past, Past(share.part, note, 0))
        return share._replace(past=past[-setting.revisions :], has_flickered=False)
    ours = share.past[place]
    note = ours.note if note == Note() else note
    others = share.past[:place] + share.past[place + 1 :]
    past = (*others, ours._replace(note=note))
    return share._replace(past=past, has_flickered=share.has_flickered and bool(ours.pods))


def _floats(is_restart: bool, share: Share) -> bool:
    return is_restart and share.past[-1].part.field is None


def _with_pulled(setting: Setting, world: World) -> tuple[Share, ...]:
    return tuple(
        _pulled(share) if _floats(is_restart, share) else share
        for is_restart, share in zip(setting.restarts, world.shares, strict=True)
    )


def _pulled(share: Share) -> Share:
    newest = share.past[-1]
    newest = newest._replace(pods=newest.pods | 1 << share.tag)
    return share._replace(past=(*share.past[:-1], newest))


def _have_started(setting: Setting, world: World) -> bool:
    return all(
        share.past[-1].pods
        for is_restart, share in zip(setting.restarts, world.shares, strict=True)
        if _floats(is_restart, share)
    )


def _healthy(world: World) -> World:
    """Old pods go."""
    shares = tuple(
        share._replace(past=(*(past._replace(pods=0) for past in share.past[:-1]), share.past[-1]))
        for share in world.shares
    )
    return world._replace(phase=Phase.HEALTHY, shares=shares)


def _late(setting: Setting, world: World) -> World:
    return world._replace(phase=Phase.LATE, shares=_failing(setting, world))


def _failing(setting: Setting, world: World) -> tuple[Share, ...]:
    """A failure may be rolled back."""
    if setting.on_failure is OnFailure.HOLD:
        return world.shares
    return tuple(share._replace(causes=share.causes | Cause.FAILURE) for share in world.shares)


def let_hours_pass(setting: Setting, world: World) -> World:
    """Nothing else happens meanwhile."""
    is_waited_for = world.progress is not None or world.stored is not None
    is_failing = world.phase is not Phase.HEALTHY or not world.is_observed or is_waited_for
    shares = _failing(setting, world) if is_failing else world.shares
    return world._replace(
        shares=tuple(_aged(share) for share in shares),
        progress=world.progress and _later(world.progress),
        stored=world.stored and _later(world.stored),
    )


def _later(progress: Progress) -> Progress:
    return progress._replace(elapsed=min(progress.elapsed + STEP, LONGEST_AGE))


def _aged(share: Share) -> Share:
    entry = share.entry and share.entry._replace(state=_aged_state(share.entry.state))
    past = tuple(each._replace(note=_aged_note(each.note)) for each in share.past)
    return share._replace(note=_aged_note(share.note), entry=entry, past=past)


def _aged_note(note: Note) -> Note:
    return note._replace(state=note.state and _aged_state(note.state))


def _aged_state(state: State) -> State:
    ages = tuple(min(age + STEP, LONGEST_AGE) for age in state.set_back_ages)
    return state._replace(set_back_ages=ages)
