"""The search: every world that can be reached, by how many events from outside it takes.

What the operator, whoever kills it, the controller and the nodes do is free; what comes from
outside is counted, and the search is complete up to a number of such events. It goes breadth-first,
so that what it finds to be wrong is told by a shortest history.

Of visited worlds only 64-bit fingerprints are kept, as the model checker TLC does: that two of a
million worlds share one, and a world is missed, has a chance of less than one in ten million.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from proof.model.controller import Event, controller_events
from proof.model.graph import Graph
from proof.model.refresher import Ran, forget, run
from proof.model.rendering import Setting
from proof.model.rest import check_rest
from proof.model.rules import Broken, account, check_calm, has_rolled_out, settle
from proof.model.sight import bring_back, see
from proof.model.tidy import tidy
from proof.model.world import Share, World

Outside = Callable[[Setting, World], Iterator[Event]]
"""Events from outside."""
Queue = deque[tuple[World, int]]
Looks = tuple[bool, ...]
"""Of which images the turn has come, in one run."""


class Seed(NamedTuple):
    """A world that another event from outside leads to."""

    world: World
    origin: int
    name: str


class Step(NamedTuple):
    """Something that happens by itself."""

    name: str
    world: World
    is_quiet: bool
    """It goes on happening when nobody disturbs the world."""
    is_certain: bool = True
    """And it has to happen, if nothing else does."""


@dataclass(frozen=True)
class Finding:
    """A rule that does not hold, and a shortest history to it."""

    rule: str
    history: tuple[str, ...]


@dataclass
class Search:
    """One search. `limit` bounds the events from outside, `most` the worlds."""

    setting: Setting
    start: World
    outside: Sequence[Outside]
    limit: int
    most: int = 1_000_000
    graph: Graph = field(default_factory=Graph)
    runs: dict[tuple[World, Looks], Ran] = field(default_factory=dict)
    """What the operator does, by what it sees."""
    is_cut: bool = False
    seconds: float = 0.0
    finding: Finding | None = None

    def explore(self) -> "Search":
        """Goes through all worlds, or until something is wrong."""
        began = time.process_time()
        ahead = [Seed(tidy(self.start), -1, "")]
        for level in range(self.limit + 1):
            ahead = self._explore_level(ahead, is_last=level == self.limit)
            if self.finding or self.is_cut:
                break
        if self.finding is None and (history := self.graph.find_circle()):
            self.finding = Finding("a quiet world comes to rest", history)
        self.seconds = time.process_time() - began
        return self

    def _explore_level(self, seeds: list[Seed], *, is_last: bool) -> list[Seed]:
        """All that is reached without another event from outside; what such events lead to."""
        queue: Queue = deque()
        for world, origin, name in seeds:
            self._meet(queue, world, origin, name)
        ahead: list[Seed] = []
        while queue:
            world, place = queue.popleft()
            if len(self.graph) > self.most:
                self.is_cut = True
                return []
            try:
                self._expand(queue, world, place)
            except Broken as broken:
                self.finding = Finding(broken.rule, (*self.graph.history(place), broken.event))
                return []
            if not is_last:
                ahead.extend(self._disturbed(world, place))
        return ahead

    def _meet(self, queue: Queue, world: World, origin: int, name: str) -> None:
        place = self.graph.add(world, origin, name)
        if place is not None:
            queue.append((world, place))

    def _expand(self, queue: Queue, world: World, place: int) -> None:
        quiet, certain = set(), False
        for step in self._steps(world):
            self._meet(queue, step.world, place, step.name)
            if step.is_quiet:
                after = self.graph.place(step.world)
                quiet.add(after)
                certain |= step.is_certain and after != place
        quiet.discard(place)
        self.graph.lead(place, quiet)
        if not certain:
            looks = (True,) * len(world.shares)
            check_rest(self.setting, world, self._run(world, looks).told)

    def _disturbed(self, world: World, place: int) -> Iterator[Seed]:
        for events in self.outside:
            for event in events(self.setting, world):
                after = tidy(event.world)
                if not self.graph.knows(after):
                    yield Seed(after, place, event.name)

    def _steps(self, world: World) -> Iterator[Step]:
        if not world.is_up:
            yield Step("the registry recovers", tidy(world._replace(is_up=True)), is_quiet=True)
        for event in controller_events(self.setting, world):
            yield Step(event.name, tidy(event.world), world.is_up, event.is_certain)
        for looks in product((True, False), repeat=len(world.shares)):
            yield from self._run_steps(world, looks)
        yield Step("the operator restarts", tidy(forget(world)), is_quiet=False)

    def _run_steps(self, world: World, looks: Looks) -> Iterator[Step]:
        name = _name(self.setting, looks)
        ran = self._run(world, looks)
        try:
            before = world
            for count, patch in enumerate(ran.patches, 1):
                before = account(self.setting, world, before, patch, looks)
                killed = tidy(patch._replace(shares=_with_causes(patch, before)))
                yield Step(f"{name}, and is killed after patch {count}", killed, is_quiet=False)
            after = ran.world._replace(shares=_with_causes(ran.world, before))
            after = tidy(settle(self.setting, world, after, looks))
            if all(looks) and world.is_up and has_rolled_out(world, before):
                check_calm(after, self._run(after, looks))
        except Broken as broken:
            broken.event = name
            raise
        yield Step(name, after, is_quiet=world.is_up)

    def _run(self, world: World, looks: Looks) -> Ran:
        sight = see(self.setting, world, looks)
        ran = self.runs.get((sight.world, looks))
        if ran is None:
            ran = self.runs[sight.world, looks] = run(self.setting, sight.world, looks)
        killed = [bring_back(sight, patch, world) for patch in ran.patches]
        return ran._replace(
            patches=tuple(each._replace(stored=world.stored) for each in killed),
            world=bring_back(sight, ran.world, world),
        )


def _with_causes(world: World, accounted: World) -> tuple[Share, ...]:
    return tuple(
        [
            share._replace(causes=other.causes)
            for share, other in zip(world.shares, accounted.shares, strict=True)
        ]
    )


def _name(setting: Setting, looks: Looks) -> str:
    looked = [name for name, is_due in zip(setting.names, looks, strict=True) if is_due]
    return f"the operator runs and looks at {' and '.join(looked) or 'no tag'}"
