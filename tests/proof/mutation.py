"""Whether the search bites: each fault has to be caught, by a rule or by a crash."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from proof.model.mutants import OUTSIDE_THE_MODEL, Mutant, all_mutants, swapped_rows
from proof.model.outside import (
    fight_events,
    people_events,
    registry_events,
    store_events,
    target_events,
    time_events,
    undo_events,
)
from proof.model.rendering import Setting
from proof.model.scopes import ANYONE, HOLD, RESTART, ROLLBACK, SET_ENV, UNDOING, Scope, Start
from proof.model.table import table

SCOPES = (
    Scope(Setting((SET_ENV, SET_ENV), HOLD), (), 0, Start.BEHIND),
    Scope(Setting((SET_ENV, SET_ENV), HOLD), (), 0, Start.PINNED),
    Scope(Setting((RESTART,), sees_pods=True), (), 0, Start.MIRRORED),
    Scope(Setting((RESTART,)), (), 0, Start.ROLLING),
    Scope(Setting((SET_ENV,), HOLD), (fight_events, store_events), 1, Start.CURRENT),
    Scope(Setting((SET_ENV,), HOLD), (fight_events,), 2, Start.FOUGHT),
    Scope(Setting((RESTART,), ROLLBACK, revisions=2), (target_events,), 1),
    Scope(Setting((RESTART,), ROLLBACK), ANYONE, 1),
    Scope(Setting((SET_ENV,), HOLD), (registry_events,), 1),
    Scope(Setting((SET_ENV,), HOLD), (people_events,), 1),
    Scope(Setting((RESTART,), ROLLBACK), (registry_events,), 2),
    Scope(Setting((RESTART,), sees_pods=True), (registry_events, time_events), 1, Start.UNLIKE),
    Scope(Setting((RESTART,), revisions=2), (registry_events, undo_events), 2),
    Scope(Setting((RESTART, SET_ENV), HOLD), (registry_events,), 1, most=2_000),
    Scope(Setting((SET_ENV,), ROLLBACK, revisions=2), (target_events,), 1, most=6_000),
    Scope(Setting((SET_ENV,), HOLD), ANYONE, 1, Start.FOUND),
    Scope(Setting((RESTART,), ROLLBACK, revisions=2), UNDOING, 2, most=15_000),
)
"""Quick ones first."""


class Catch(NamedTuple):
    """How a fault was noticed; `rule` is empty if it was not."""

    mutant: str
    rule: str
    scope: str
    events: int
    """Of the shortest history that shows it."""


def catch(mutant: Mutant, scopes: Iterable[Scope] = SCOPES) -> Catch:
    """Searches until the fault is noticed."""
    with mutant.install():
        for scope in scopes:
            search = scope.search()
            try:
                finding = search.explore().finding
            except Exception as error:  # noqa: BLE001 a fault may lead to any
                return Catch(mutant.name, f"it crashes: {type(error).__name__}", scope.name, 0)
            if finding:
                return Catch(mutant.name, finding.rule, scope.name, len(finding.history))
    return Catch(mutant.name, "", "", 0)


def _catch_at(place: int) -> Catch:
    """Mutants don't go from process to process, but their places do."""
    return catch((*all_mutants(), *swapped_rows())[place])


def main(_: Sequence[str] = ()) -> int:
    """Prints which rule catches which mutant; 1 if one escapes."""
    needed = len(list(all_mutants()))
    caught = []
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for found in pool.map(_catch_at, range(needed + len(list(swapped_rows())))):
            print(f"{found.mutant}: {found.rule or 'NOT CAUGHT'}", flush=True)
            caught.append(found)
    print()
    rows = [(each.mutant, each.rule or "NOT CAUGHT", each.scope, each.events) for each in caught]
    print(table(("broken", "caught by", "in", "events"), rows[:needed]))
    print(
        "\nNeighbours swapped: where two rows never hold together, their order makes no difference."
    )
    print(table(("broken", "caught by", "in", "events"), rows[needed:]))
    for name, where in OUTSIDE_THE_MODEL.items():
        print(f"not in the model: {name} ({where})")
    escaped = [each.mutant for each in caught[:needed] if not each.rule]
    print(f"{needed - len(escaped)} of {needed} mutants were caught; escaped: {escaped or 'none'}")
    return int(bool(escaped))
