"""The searches that make up the proof, and the quick ones that stand for them in the tests."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from imagerefresh.api.policy import ActionType, OnFailure
from proof.model.controller import observe
from proof.model.outside import (
    fight_events,
    people_events,
    registry_events,
    store_events,
    target_events,
    time_events,
)
from proof.model.rendering import Setting
from proof.model.search import Outside, Search
from proof.model.world import Cause, Entry, Note, Part, Phase, Share, State, World

RESTART, SET_ENV, SET_IMAGE = ActionType.RESTART, ActionType.SET_ENV, ActionType.SET_IMAGE
HOLD, ROLLBACK = OnFailure.HOLD, OnFailure.ROLLBACK


class Start(StrEnum):
    """How a policy meets its target."""

    PLAIN = "plain"
    """Healthy, with floating images and empty variables."""
    FOUND = "found"
    """Fields hold a digest other than the tag's."""
    FOUGHT = "fought over"
    """Set back three times within the hour."""
    UNLIKE = "unlike"
    """Pods of floating images run a digest other than the tag's."""
    CURRENT = "current"
    """What the tags serve is asked, carried and recorded."""
    BEHIND = "behind"
    """Tags have moved on from what is asked and healthy, and of the last image not recorded yet."""
    MIRRORED = "mirrored"
    """Healthy, with pods that run a digest other than the one that was asked."""
    PINNED = "one pinned"
    """Behind, and the last image is pinned in the policy."""
    ROLLING = "rolling"
    """In the middle of a rollout."""


@dataclass(frozen=True)
class Scope:
    """What one search goes through."""

    setting: Setting
    outside: tuple[Outside, ...]
    limit: int
    """Events from outside."""
    start: Start = Start.PLAIN
    most: int = 2_000_000
    """Worlds, beyond which the search is cut."""

    @property
    def name(self) -> str:
        """For people."""
        actions = "+".join(self.setting.actions)
        events = ", ".join(events.__name__.removesuffix("_events") for events in self.outside)
        if self.setting.sees_pods:
            actions += " with a look at pods"
        return f"{actions} {self.setting.on_failure}, {self.start}: {self.limit} of {events}"

    def search(self) -> Search:
        """The search, not begun yet."""
        world = first_world(self.setting, self.start)
        return Search(self.setting, world, self.outside, self.limit, self.most)


def first_world(setting: Setting, start: Start) -> World:
    """A target that runs what the tags serve, before the operator has met it."""
    fields = [
        1 if start is Start.FOUND and not is_restart else None for is_restart in setting.restarts
    ]
    shares = tuple(Share(0, part=Part(each), causes=Cause.MOVE) for each in fields)
    world = observe(setting, World(shares, is_observed=False))
    running = tuple(
        share._replace(past=(share.past[-1]._replace(pods=2 if start is Start.UNLIKE else 1),))
        for share in world.shares
    )
    if start is Start.FOUGHT:
        running = tuple(
            _asked(share, 0, 0, Cause.NONE, set_back_ages=(0, 0, 0)) for share in running
        )
    if start is Start.CURRENT:
        running = tuple(_asked(share, 0, 0, Cause.NONE) for share in running)
    if start is Start.MIRRORED:
        running = tuple(_mirrored(share) for share in running)
    if start in (Start.BEHIND, Start.PINNED):
        running = tuple(_asked(share, 1, 1, Cause.MOVE) for share in running)
        last = running[-1]
        assert last.entry is not None
        running = (
            *running[:-1],
            last._replace(
                note=last.note._replace(record=None), entry=last.entry._replace(recorded=None)
            ),
        )
    if start is Start.PINNED:
        running = (*running[:-1], running[-1]._replace(is_pinned=True))
    phase = Phase.PROGRESSING if start is Start.ROLLING else Phase.HEALTHY
    return world._replace(shares=running, phase=phase)


def _asked(
    share: Share, digest: int, recorded: int, causes: Cause, set_back_ages: tuple[int, ...] = ()
) -> Share:
    """An image of a running policy, with a field."""
    state = State(
        serial=1,
        asked=digest,
        is_timed=False,
        adopted=False,
        failed=None,
        has_handled_retry=False,
        set_back_ages=set_back_ages,
        has_seen_deadline=False,
    )
    part = Part(field=digest, stamp=(1, digest))
    return share._replace(
        note=Note(state, recorded),
        entry=Entry(state, recorded),
        part=part,
        past=(share.past[-1]._replace(part=part),),
        causes=causes,
    )


def _mirrored(share: Share) -> Share:
    asked = _asked(share, 0, 0, Cause.NONE)
    part = asked.part._replace(field=None)
    assert asked.entry is not None
    return asked._replace(
        note=asked.note._replace(record=None),
        entry=asked.entry._replace(recorded=None),
        part=part,
        past=(asked.past[-1]._replace(part=part, pods=2),),
    )


MEETINGS = (Start.PLAIN, Start.FOUND, Start.ROLLING)
ANYONE = (registry_events, people_events, time_events, store_events)
UNDOING = (registry_events, target_events)


def all_scopes() -> Iterator[Scope]:
    """The whole proof."""
    for on_failure in OnFailure:
        for action, start in product((RESTART, SET_ENV, SET_IMAGE), MEETINGS):
            if action is not SET_IMAGE:
                alone = Setting((action,), on_failure)
                yield Scope(alone, (registry_events,), 3, start)
                yield Scope(alone, ANYONE, 2, start)
            if start is not Start.ROLLING:
                undone = Setting((action,), on_failure, revisions=2)
                yield Scope(undone, UNDOING, 2, start, most=150_000)
        seen = Setting((RESTART,), on_failure, sees_pods=True)
        yield Scope(seen, (registry_events, people_events, time_events), 2)
        yield Scope(seen, (registry_events, time_events), 2, Start.UNLIKE)
        yield Scope(seen, (registry_events, time_events), 2, Start.MIRRORED)
        fought = Setting((SET_ENV,), on_failure)
        yield Scope(fought, (fight_events, time_events, people_events), 3, Start.FOUGHT)
        yield Scope(Setting((SET_ENV, SET_ENV), on_failure), (registry_events,), 1, Start.BEHIND)
        for actions in ((RESTART, RESTART), (RESTART, SET_ENV), (SET_ENV, SET_ENV)):
            both = Setting(actions, on_failure)
            yield Scope(both, (registry_events,), 2, most=100_000)
            yield Scope(both, (people_events, time_events), 1)
            yield Scope(both, (registry_events, people_events), 2, Start.PINNED, most=50_000)
            yield Scope(both, (store_events,), 1)
            undone = Setting(actions, on_failure, revisions=2)
            yield Scope(undone, (target_events,), 1, most=100_000)


def sample_scopes() -> Iterator[Scope]:
    """What the tests have time for."""
    for on_failure in OnFailure:
        yield Scope(Setting((RESTART,), on_failure), (registry_events,), 2, most=1_500)
        yield Scope(Setting((SET_ENV,), on_failure), (registry_events,), 1)
    yield Scope(Setting((RESTART,), ROLLBACK, revisions=2), (target_events,), 1)
    yield Scope(Setting((RESTART,), ROLLBACK), ANYONE, 1)
    yield Scope(Setting((SET_IMAGE,)), ANYONE, 1, Start.FOUND, most=2_000)
    seen = Setting((RESTART,), sees_pods=True)
    yield Scope(seen, (registry_events, time_events), 1, Start.UNLIKE, most=1_500)
    yield Scope(Setting((RESTART, SET_ENV), ROLLBACK), (registry_events,), 1, most=1_500)
