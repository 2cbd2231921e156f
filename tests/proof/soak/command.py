"""A crowd of policies, random moves, edits, failures and kills; then quiet, and what came of it.

In the end no update was lost (what a tag serves is recorded, or failed), none repeated, and none
recorded unproven.
"""

import argparse
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from proof.soak.crowd import Member, crowd
from proof.soak.history import BAD, Deeds
from proof.soak.observer import Observer
from proof.soak.people import POLICY, Person, Publisher
from proof.soak.unsettled import find_unsettled
from proof.world import World, complaints, world
from testbed.waiting import wait_until
from testbed.watch import Watch
from testbed.workloads import RESOURCES

KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet")
SEED: Final = 11
COMPONENTS: Final = ("pod-evidence",)
"""Of deploy/: the operator may look into pods."""
PATIENCE: Final = 300.0
"""Seconds until all must be settled, at the begin and at the end."""
PACE: Final = 0.01
MOST_PATIENT: Final = 2.0
"""Deeds a second and policy, but one in so many seconds at least."""
EDITS: Final = 0.25
BAD_MOVES: Final = 0.12
MOVES_BACK: Final = 0.08
"""Shares of the deeds."""
KILL_EVERY: Final = 30.0
OUTAGE_EVERY: Final = 40.0
OUTAGE: Final = 12.0
SUSPENSION: Final = 25.0
"""Seconds, on average."""
COUNTED: Final = (
    "asked",
    "asked again after an edit",
    "recorded",
    "failed or rejected",
    "set back or rolled back",
    "kills",
    "outages of the registry",
    "lost",
    "repeated",
    "unproven",
)
_WRITERS: Final = 4


@dataclass
class Soak:
    """One soak: the world, its crowd, and what was done to it."""

    world: World
    members: list[Member]
    patience: float = PATIENCE
    dice: random.Random = field(default_factory=lambda: random.Random(SEED))
    deeds: Deeds = field(default_factory=Deeds)
    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(COUNTED, 0)))

    def __post_init__(self) -> None:
        self.observer = Observer(self.members)
        self.publisher = Publisher(self.world.registry, self.deeds)
        self.person = Person(self.world.namespace, self.world.registry, self.deeds)
        self.repositories = sorted({i.repository for each in self.members for i in each.images})

    def run(self, seconds: float) -> list[str]:
        """Everything from the first image to the end; returns what did not hold."""
        with ExitStack() as watches:
            for kind in KINDS:
                watches.enter_context(self._watch(kind))
            self._populate()
            self.operator = self.world.start_operator()
            wrong = self._wait_settled("at the begin")
            self._storm(seconds)
            wrong += self._wait_settled("in the end")
            self._heal()
            wrong += self._wait_settled("after all was healed", is_healed=True)
        problems, counts = self.observer.judge(self.deeds)
        self.counts.update(counts)
        logged = [line for log in self.world.logs for line in complaints(log)]
        return wrong + problems + [f"the operator logged: {line}" for line in logged]

    def summary(self, seconds: float) -> str:
        """What was done and what came of it, in numbers."""
        moves = sum(map(len, self.deeds.moves.values()))
        counts = {
            "policies": sum(len(each.policy_names) for each in self.members),
            "images": sum(len(each.images) for each in self.members),
            "moves of tags": moves,
            **self.counts,
            **{f"edits: {what}": count for what, count in sorted(self.person.done.items())},
        }
        lines = [f"{what:<34} {count:>6}" for what, count in counts.items()]
        return "\n".join([*lines, "", f"{seconds:.0f} s"])

    def _watch(self, kind: str) -> Watch:
        namespace = self.world.namespace
        return Watch(namespace.control_plane, RESOURCES[kind], namespace.name, self.observer.notice)

    def _populate(self) -> None:
        registry, namespace = self.world.registry.address, self.world.namespace
        for repository in self.repositories:
            self.publisher.publish(repository)

        def create(member: Member) -> None:
            namespace.create(member.target(registry))
            for policy in member.policies(registry):
                namespace.create(policy)

        with ThreadPoolExecutor(_WRITERS) as writers:
            list(writers.map(create, self.members))

    def _storm(self, seconds: float) -> None:
        """Deeds at random moments; failures and kills at random times, in a short storm too."""
        end = time.monotonic() + seconds
        kill_every, outage_every = min(KILL_EVERY, seconds / 2), min(OUTAGE_EVERY, seconds / 2)
        next_kill, next_outage = self._soon(kill_every), self._soon(outage_every)
        heal_at = float("inf")
        pause = threading.Event()
        while (now := time.monotonic()) < end:
            if now >= next_kill:
                self._kill()
                next_kill = self._soon(kill_every)
            if now >= heal_at:
                self.world.registry.front.heal()
                heal_at = float("inf")
            if now >= next_outage:
                self._fail()
                heal_at = self._soon(min(OUTAGE, outage_every))
                next_outage = self._soon(outage_every)
            self.person.resume(older_than=SUSPENSION)
            self._do_something()
            pause.wait(self.dice.expovariate(max(PACE * len(self.members), 1 / MOST_PATIENT)))

    def _soon(self, seconds: float) -> float:
        return time.monotonic() + self.dice.uniform(0.5, 1.5) * seconds

    def _do_something(self) -> None:
        chance = self.dice.random()
        repository = self.dice.choice(self.repositories)
        if chance < EDITS:
            edit = self.dice.choice(list(self.person.edits))
            self.person.edit(edit, self.dice.choice(self.members))
        elif chance < EDITS + BAD_MOVES:
            self.publisher.publish(repository, bad=True)
        elif chance < EDITS + BAD_MOVES + MOVES_BACK:
            self.publisher.go_back(repository)
        else:
            self.publisher.publish(repository)

    def _kill(self) -> None:
        self.operator.kill()
        self.counts["kills"] += 1
        self.operator = self.world.start_operator(wait=False)

    def _fail(self) -> None:
        if self.dice.random() < 0.5:
            self.world.registry.front.fail(HTTPStatus.INTERNAL_SERVER_ERROR)
        else:
            status = HTTPStatus.TOO_MANY_REQUESTS
            self.world.registry.front.fail(status, headers={"Retry-After": "3"})
        self.counts["outages of the registry"] += 1

    def _heal(self) -> None:
        """Publish a fix for all that can't run, and let what is held be tried again."""
        for repository in self.repositories:
            if self.deeds.serves(repository).startswith(BAD):
                self.publisher.publish(repository)
        for member in self.members:
            self.person.retry(member)

    def _wait_settled(self, when: str, *, is_healed: bool = False) -> list[str]:
        """Quiet: no more failures, and time; what is then not as it should be."""
        print(f"waiting until all are settled {when}", file=sys.stderr)
        self.world.registry.front.heal()
        self.person.resume()
        self.operator.wait_ready()
        for member in self.members:
            self.person.request(member)

        def unsettled() -> list[str]:
            namespace = self.world.namespace
            policies = {each["metadata"]["name"]: each for each in namespace.items(POLICY)}
            targets = {
                (kind, each["metadata"]["name"]): each | {"kind": kind}
                for kind in KINDS
                for each in namespace.items(kind)
            }
            return [
                f"{when}: {problem}"
                for member in self.members
                for problem in find_unsettled(
                    member,
                    [policies[name] for name in member.policy_names],
                    targets[member.kind, member.name],
                    self.deeds,
                    is_healed=is_healed,
                )
            ]

        try:
            wait_until(lambda: not unsettled(), timeout=self.patience, pause=1)
        except TimeoutError:
            lost = unsettled()
            self.counts["lost"] += len(lost)
            return lost
        return []


def main(arguments: list[str]) -> int:
    """Run a soak, print its summary; 0 if all held."""
    parser = argparse.ArgumentParser(prog="python -m proof soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of moves, edits and failures")
    parser.add_argument("--policies", type=int, default=100)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with world(*COMPONENTS) as it:
        soak = Soak(it, crowd(options.policies))
        wrong = soak.run(options.minutes * 60)
    print(soak.summary(time.monotonic() - began))
    for each in wrong:
        print(f"FAILED {each}", file=sys.stderr)
    return 1 if wrong else 0
