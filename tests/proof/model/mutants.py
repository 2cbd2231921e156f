"""The operator, broken on purpose in one place at a time: the search has to find out.

What can be broken in general is the decision table, row by row. The others are faults that anybody
could make: in what is remembered, and in what is written.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from imagerefresh.api.names import GROUP, record_annotation, state_annotation
from imagerefresh.plan import decide, memory, steps
from imagerefresh.plan.case import Case
from imagerefresh.plan.decide import TABLE, Row
from imagerefresh.plan.memory import Memory, Recollection, recollect
from imagerefresh.plan.steps import Step
from imagerefresh.plan.template import Stamp, carries
from imagerefresh.reconcile import seeing

if TYPE_CHECKING:
    from imagerefresh.api.status import ImageStatus

OUTSIDE_THE_MODEL: Final = {
    "unsteady": "tags that go back and forth within an hour, see tests/unit/plan/rows_asking.py",
    "wait": "policies that take turns, see tests/proof/test_histories.py",
    "mutated": "admission that changes writes, see tests/unit/reconcile/test_mutations.py",
}
"""Rows that no world of the model meets, and what proves them instead."""


@dataclass(frozen=True)
class Mutant:
    """One fault. Inside of `install()` the operator has it."""

    name: str
    install: Callable[[], AbstractContextManager[Any]]


def all_mutants() -> Iterator[Mutant]:
    """Each row of the table broken in each way, and other faults."""
    yield from row_mutants()
    yield from other_mutants()


def row_mutants() -> Iterator[Mutant]:
    """Each row left out, made to hold always, and made to do nothing."""
    for place, row in enumerate(TABLE):
        if row.name in OUTSIDE_THE_MODEL:
            continue
        before, after = TABLE[:place], TABLE[place + 1 :]
        yield _table(f"{row.name}: left out", (*before, *after))
        if after and row.step is not Step.EXAMINE:  # it would look at pods for ever
            yield _table(f"{row.name}: always", (*before, replace(row, holds=_always), *after))
        if row.step not in (Step.NOTHING, Step.CONFIRM):  # without, a turn would confirm later
            idle = replace(row, step=Step.NOTHING)
            yield _table(f"{row.name}: does nothing", (*before, idle, *after))


def swapped_rows() -> Iterator[Mutant]:
    """Neighbours in the table, each in the other's place. Many never hold together: those may stay
    unnoticed.
    """
    for place, (row, other) in enumerate(pairwise(TABLE[:-1])):
        if not {row.name, other.name} & set(OUTSIDE_THE_MODEL):
            table = (*TABLE[:place], other, row, *TABLE[place + 2 :])
            yield _table(f"{row.name} after {other.name}", table)


def other_mutants() -> Iterator[Mutant]:
    """Faults beside the table."""
    yield Mutant("memory: the older copy holds", lambda: _recollecting(_older))
    yield Mutant("memory: the record is ignored", lambda: _recollecting(_without_record))
    yield Mutant("memory: status is ignored", lambda: _recollecting(_without_status))
    yield Mutant("memory: the target is ignored", lambda: _recollecting(_without_target))
    yield Mutant("steps: the serial is not raised", _with_old_serial)
    yield Mutant("steps: the stamp has no serial", _with_bare_stamp)
    yield Mutant("case: nothing is held", lambda: _case("held", lambda _: None))
    yield Mutant("case: a floating restart carries anything", lambda: _case("carries_asked", _any))
    yield Mutant("case: an old deadline is a verdict", _with_any_deadline)
    yield Mutant("case: a retry is never handled", _with_endless_retry)
    yield Mutant("case: neighbours are not awaited", _without_neighbours)


def _always(_: Case) -> bool:
    return True


def _table(name: str, rows: tuple[Row, ...]) -> Mutant:
    return Mutant(name, lambda: patch.object(decide, "TABLE", rows))


def _case(name: str, broken: Callable[[Case], Any]) -> AbstractContextManager[Any]:
    return patch.object(Case, name, property(broken))


def _any(case: Case) -> bool:
    return carries(case.own.image, case.own.carried, case.memory.asked)


def _with_any_deadline() -> AbstractContextManager[Any]:
    right: Callable[[Case], bool] = vars(Case)["has_failed"].fget

    def broken(case: Case) -> bool:
        unseen = replace(case.own, memory=replace(case.memory, deadline_seen=None))
        return right(replace(case, own=unseen))

    return _case("has_failed", broken)


def _with_endless_retry() -> AbstractContextManager[Any]:
    def broken(case: Case) -> bool:
        return case.view.retry_at is not None and (case.memory.is_held or case.has_failed)

    return _case("is_retry_pending", broken)


def _without_neighbours() -> AbstractContextManager[Any]:
    return _case("is_asked_next", lambda _: False)


def _with_old_serial() -> AbstractContextManager[Any]:
    def broken(known: Memory) -> str:
        return memory.state_text(replace(known, serial=max(known.serial - 1, 1)))

    return patch.object(decide, "state_text", broken)


def _with_bare_stamp() -> AbstractContextManager[Any]:
    return patch.object(steps, "_stamp", lambda _, digest: Stamp(1, digest))


Looking = Callable[..., Recollection]


def _recollecting(broken: Looking) -> AbstractContextManager[Any]:
    return patch.object(seeing, "recollect", broken)


def _older(*, name: str, annotations: Mapping[str, str], **more: Any) -> Recollection:
    status: ImageStatus | None = more.pop("status")
    on_target = memory.parse_state(annotations.get(state_annotation(name)))
    if on_target and status and on_target.serial < status.serial:
        status = None
    elif on_target and status and on_target.serial > status.serial:
        annotations = _less(annotations, state_annotation(name))
    return recollect(name=name, annotations=annotations, status=status, **more)


def _without_record(*, name: str, annotations: Mapping[str, str], **more: Any) -> Recollection:
    annotations = _less(annotations, record_annotation(GROUP, name))
    return recollect(name=name, annotations=annotations, **more)


def _without_status(**more: Any) -> Recollection:
    return recollect(**{**more, "status": None})


def _without_target(*, name: str, annotations: Mapping[str, str], **more: Any) -> Recollection:
    annotations = _less(annotations, state_annotation(name))
    return recollect(name=name, annotations=annotations, **more)


def _less(annotations: Mapping[str, str], key: str) -> dict[str, str]:
    return {each: text for each, text in annotations.items() if each != key}
