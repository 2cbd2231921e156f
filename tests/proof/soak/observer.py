"""Keeps what the API server tells of the targets of a soak, and judges it in the end."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from proof.soak.crowd import Followed, Member
from proof.soak.history import (
    Deeds,
    Look,
    Repetition,
    asks,
    find_returned_twice,
    find_unproven,
    records,
    repetitions,
)
from testbed.api import Manifest


class Observer:
    """Of these members' targets. May be told by several watches at once."""

    def __init__(self, members: Sequence[Member]) -> None:
        """Begin with nothing seen."""
        self._members = {(each.kind, each.name): each for each in members}
        self._lock = threading.Lock()
        self._looks: dict[tuple[str, str, str], list[Look]] = defaultdict(list)
        """By kind, name and UID of a target."""

    def notice(self, target: Manifest) -> None:
        """Take in a target as it is now."""
        kind, metadata = target["kind"], target["metadata"]
        member = self._members.get((kind, metadata["name"]))
        if member is not None:
            look = member.look(time.monotonic(), target)
            with self._lock:
                self._looks[kind, metadata["name"], metadata["uid"]].append(look)

    def judge(self, deeds: Deeds) -> tuple[list[str], Counter[str]]:
        """What must not be, and how often what happened."""
        problems: list[str] = []
        counts: Counter[str] = Counter()
        for (kind, name, _), looks in self._looks.items():
            member = self._members[kind, name]
            for image in member.images:
                unproven = list(find_unproven(looks, image.name, image.repository, deeds))
                asked = _repetitions(looks, member, image, deeds)
                repeated = [str(each) for each in asked if each.is_wrong]
                repeated += find_returned_twice(looks, image.name, name, deeds)
                found = (*unproven, *repeated)
                problems += [f"{name}, {image.name}: {problem}" for problem in found]
                counts["unproven"] += len(unproven)
                counts["repeated"] += len(repeated)
                counts["asked again after an edit"] += sum(each.is_excused for each in asked)
                counts.update(_count(looks, image.name))
        return problems, counts


def _repetitions(
    looks: Sequence[Look], member: Member, image: Followed, deeds: Deeds
) -> list[Repetition]:
    neighbours = [each.repository for each in member.images if each != image]
    place = (looks, image.name, image.repository, member.name, deeds)
    return list(repetitions(*place, neighbours=neighbours))


def _count(looks: Sequence[Look], image: str) -> Counter[str]:
    own = asks(looks, image)
    failed = {look.marks[image].failed for look in looks}
    return Counter(
        {
            "asked": sum(not ask.is_return for ask in own),
            "recorded": sum(1 for _ in records(looks, image)),
            "failed or rejected": len(failed - {None}),
            "set back or rolled back": sum(ask.is_return for ask in own),
        }
    )
