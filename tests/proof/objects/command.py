"""Objects changed one field at a time while the operator runs, which must cope with all of it.

After each change a policy has converged, or a condition of it says why it can't; what the schema
refuses has changed nothing. The operator never ends and never logs an error. Then all is put back,
and the policy must converge again. Changes of a spec are made once more while the schema has no
rules, as in objects that were stored before those (B3).
"""

import argparse
import itertools
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Final

from proof.objects.steps import EXAMPLE, SEED, Step, steps
from proof.objects.subject import IMAGES, TAG, Subject
from proof.objects.verdict import Outcome, Settled
from proof.world import complaints, world
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.ruleless import no_rules

SUBJECTS: Final = {"Deployment": 9, "StatefulSet": 2, "DaemonSet": 2}
"""How many subjects of each kind are changed at the same time."""
STORED: Final = {"Deployment": 8}
"""The same, while the schema has no rules."""


@dataclass(frozen=True)
class Result:
    """What a step came to; `settled` is None if it failed, and `failure` says how."""

    step: Step
    settled: Settled | None
    failure: str = ""

    def __str__(self) -> str:
        return f"{self.step.kind}: {self.step.name} ({self.step.of}): {self.failure}"


def chosen(registry: str, count: int | None) -> list[Step]:
    """All steps, or so many of them, always the same, of every kind."""
    everything = list(steps(registry))
    if count is None:
        return everything
    by_kind: dict[str, list[Step]] = {}
    dice = random.Random(SEED)
    for step in dice.sample(everything, len(everything)):
        by_kind.setdefault(step.kind, []).append(step)
    turns = itertools.zip_longest(*by_kind.values())
    return [step for step in itertools.chain.from_iterable(turns) if step][:count]


def past_the_schema(todo: Sequence[Step]) -> list[Step]:
    """Those of the steps that change a spec, for when the schema has no rules."""
    return [
        replace(step, kind=step.kind.replace("spec:", "stored:"))
        for step in todo
        if step.kind.startswith("spec:")
    ]


def run(
    namespace: Namespace,
    registry: Registry,
    todo: Sequence[Step],
    subjects: Mapping[str, int],
    prefix: str = "subject",
) -> list[Result]:
    """Go through the steps on subjects of their kinds, which are changed side by side.

    The names of the subjects begin with `prefix`.
    """
    for image in IMAGES:
        registry.publish(f"{EXAMPLE}/{image}", TAG)
    names = map(f"{prefix}-{{}}".format, itertools.count(1))
    progress = _Progress(len(todo))
    with ThreadPoolExecutor(sum(subjects.values())) as threads:
        working = []
        for kind, count in subjects.items():
            queue: SimpleQueue[Step] = SimpleQueue()
            for step in todo:
                if step.of == kind:
                    queue.put(step)
            worker = _Worker(namespace, registry, kind, names, progress)
            working += [threads.submit(worker.work, queue) for _ in range(count)]
        return [result for worker in working for result in worker.result()]


@dataclass(frozen=True)
class _Worker:
    namespace: Namespace
    registry: Registry
    kind: str
    names: Iterator[str]
    progress: "_Progress"

    def work(self, queue: "SimpleQueue[Step]") -> list[Result]:
        """Go through a queue of steps; after one that failed, on a new subject."""
        results: list[Result] = []
        subject, name = None, ""
        while True:
            try:
                step = queue.get_nowait()
            except Empty:
                return results
            try:
                if subject is None:
                    name = next(self.names)
                    subject = Subject(self.namespace, self.registry, name, self.kind)
                result = Result(step, subject.endure(step.change))
            except (AssertionError, RuntimeError) as error:
                result = Result(step, None, f"{name}: {error}")
                subject = None
            self.progress.tell(result)
            results.append(result)


class _Progress:
    """Tells how far it is, and of each failure at once."""

    def __init__(self, steps: int) -> None:
        self._steps, self._done, self._began = steps, 0, time.monotonic()
        self._lock = threading.Lock()

    def tell(self, result: Result) -> None:
        with self._lock:
            self._done += 1
            seconds = time.monotonic() - self._began
            if result.settled is None:
                print(f"{seconds:6.0f} s  FAILED {result}", file=sys.stderr)
            if self._done % 100 == 0:
                print(f"{seconds:6.0f} s  {self._done} of {self._steps}", file=sys.stderr)


def failures(results: Sequence[Result], operator: OperatorProcess) -> list[str]:
    """What did not hold."""
    found = [str(each) for each in results if each.settled is None]
    if operator.exit_code is not None:
        found.append(f"the operator ended with {operator.exit_code}")
    elif operator.status_of("/healthz") != 200:
        found.append("the operator is not healthy")
    return found + [f"the operator logged: {line}" for line in complaints(operator.log)]


def table(results: Sequence[Result]) -> str:
    """How many steps of each kind came to what, and the reasons that were told."""
    lines = [
        f"{'change':<28} {'steps':>6} {'converged':>10} {'told':>6} {'refused':>8} {'failed':>7}"
    ]
    kinds = dict.fromkeys(each.step.kind for each in results)
    for kind in [*kinds, "all"]:
        own = [each for each in results if kind in ("all", each.step.kind)]
        count = Counter(each.settled.outcome if each.settled else "failed" for each in own)
        lines.append(
            f"{kind:<28} {len(own):>6} {count[Outcome.CONVERGED]:>10} {count[Outcome.TOLD]:>6}"
            f" {count[Outcome.REFUSED]:>8} {count['failed']:>7}"
        )
    told = Counter(
        each.settled.reason
        for each in results
        if each.settled and each.settled.outcome is Outcome.TOLD
    )
    lines += ["", "told: " + ", ".join(f"{reason} {n}" for reason, n in told.most_common())]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run all steps, or a sample; 0 if all held."""
    parser = argparse.ArgumentParser(prog="python -m proof objects", description=__doc__)
    parser.add_argument("--steps", type=int, help="a sample of so many; default: all")
    parser.add_argument("--only", default="", help="steps whose kind or name has this text")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with world() as it:
        todo = chosen(it.registry.address, options.steps)
        todo = [step for step in todo if options.only in f"{step.kind}: {step.name}"]
        operator = it.start_operator()
        results = run(it.namespace, it.registry, todo, SUBJECTS)
        with no_rules(it.namespace):
            stored = past_the_schema(todo)
            results += run(it.namespace, it.registry, stored, STORED, prefix="stored")
        wrong = failures(results, operator)
    print(table(results))
    print(f"\n{len(results)} changes in {time.monotonic() - began:.0f} s")
    for each in wrong:
        print(f"FAILED {each}", file=sys.stderr)
    return 1 if wrong else 0
