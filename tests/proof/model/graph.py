"""The graph of visited worlds: how each was reached, and where it goes if nobody disturbs it."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from proof.model.world import World


@dataclass
class Graph:
    """Worlds by the order in which they were found. They are known by their fingerprints."""

    steps: int = 0
    longest: int = 0
    """Steps that a quiet world takes at most until it rests; known once circles were looked for."""
    _places: dict[int, int] = field(default_factory=dict)
    _origins: "array[int]" = field(default_factory=lambda: array("q"))
    _names: list[str] = field(default_factory=list)
    _ends: "array[int]" = field(default_factory=lambda: array("q"))
    """Of the stretch of each world in `_targets`."""
    _targets: "array[int]" = field(default_factory=lambda: array("q"))
    _stretches: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._origins)

    def add(self, world: World, origin: int, name: str) -> int | None:
        """The place of a world that was not there before; None if it was."""
        self.steps += 1
        place = len(self._origins)
        if self._places.setdefault(hash(world), place) != place:
            return None
        self._origins.append(origin)
        self._names.append(name)
        return place

    def place(self, world: World) -> int:
        """The place of a known world."""
        return self._places[hash(world)]

    def knows(self, world: World) -> bool:
        """Whether a world was found already."""
        return hash(world) in self._places

    def lead(self, place: int, targets: Iterable[int]) -> None:
        """Notes where a quiet world goes from a place."""
        start = len(self._targets)
        self._targets.extend(targets)
        self._stretches[place] = start, len(self._targets)

    def history(self, place: int) -> tuple[str, ...]:
        """The events that led to a world."""
        events = []
        while place >= 0 and self._names[place]:
            events.append(self._names[place])
            place = self._origins[place]
        return tuple(reversed(events))

    def find_circle(self) -> tuple[str, ...] | None:
        """A history into a circle in which a quiet world would go for ever; None if there is none.

        Takes away worlds that go nowhere any more until none is left; their distance to the end is
        counted on the way.
        """
        waits = array("q", bytes(8 * len(self)))
        sources: list[list[int]] = [[] for _ in range(len(self))]
        for place, (start, end) in self._stretches.items():
            waits[place] = end - start
            for target in self._targets[start:end]:
                sources[target].append(place)
        layer = [place for place in range(len(self)) if not waits[place]]
        done = len(layer)
        while layer:
            before = []
            for target in layer:
                for place in sources[target]:
                    waits[place] -= 1
                    if not waits[place]:
                        before.append(place)
            self.longest += bool(before)
            done += len(before)
            layer = before
        if done == len(self):
            return None
        return self._circle_from(next(place for place in range(len(self)) if waits[place]), waits)

    def _circle_from(self, place: int, waits: "array[int]") -> tuple[str, ...]:
        seen: list[int] = []
        while place not in seen:
            seen.append(place)
            start, end = self._stretches[place]
            place = next(target for target in self._targets[start:end] if waits[target])
        circle = seen[seen.index(place) :]
        places = ", ".join(map(str, circle))
        return (*self.history(place), f"a circle of {len(circle)} worlds ({places})")
