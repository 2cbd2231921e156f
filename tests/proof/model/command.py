"""The exhaustive part of the proof: all searches, and a table of what they went through."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import NamedTuple

from proof.model.scopes import Scope, all_scopes
from proof.model.table import table


class Verdict(NamedTuple):
    """What came of one search."""

    scope: str
    worlds: int
    steps: int
    runs: int
    longest: int
    seconds: float
    extent: str
    told: str
    """What is wrong and a history that leads to it; empty if nothing is."""


def go_through(scope: Scope) -> Verdict:
    """Does one search."""
    search = scope.search().explore()
    finding = search.finding
    return Verdict(
        scope=scope.name,
        worlds=len(search.graph),
        steps=search.graph.steps,
        runs=len(search.runs),
        longest=search.graph.longest,
        seconds=round(search.seconds, 1),
        extent="cut" if search.is_cut else "complete",
        told="\n    ".join((finding.rule, *finding.history)) if finding else "",
    )


def main(arguments: Sequence[str] = ()) -> int:
    """Prints a line for each search when it is done, then all of them; 1 if anything is wrong.

    Arguments choose the searches whose names contain them all.
    """
    began, verdicts = time.monotonic(), []
    scopes = sorted(_chosen(arguments), key=lambda scope: -scope.limit * len(scope.setting.actions))
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for done in as_completed([pool.submit(go_through, scope) for scope in scopes]):
            verdicts.append(done.result())
            print(_line(verdicts[-1]), flush=True)
    verdicts.sort()
    total = Verdict(
        f"{len(verdicts)} searches",
        sum(each.worlds for each in verdicts),
        sum(each.steps for each in verdicts),
        sum(each.runs for each in verdicts),
        max(each.longest for each in verdicts),
        round(sum(each.seconds for each in verdicts), 1),
        f"{sum(each.extent == 'cut' for each in verdicts)} cut",
        "".join(each.told for each in verdicts),
    )
    head = ("search", "worlds", "steps", "sights", "rests within", "CPU s", "extent", "verdict")
    rows = [(*each[:-1], "WRONG" if each.told else "holds") for each in (*verdicts, total)]
    print(f"\n{table(head, rows)}\n")
    print(
        f"An event from outside is counted, what happens by itself is free. A cut search has seen"
        f" its nearest worlds only. {time.monotonic() - began:.0f} s."
    )
    return int(any(each.told for each in verdicts))


def _chosen(arguments: Sequence[str]) -> list[Scope]:
    return [each for each in all_scopes() if all(word in each.name for word in arguments)]


def _line(verdict: Verdict) -> str:
    told = f"WRONG: {verdict.told}" if verdict.told else "holds"
    return f"{verdict.scope}: {verdict.worlds:,} worlds, {verdict.extent}, {told}"
