"""The decision table, row by row; the examples are in `rows`."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.api.policy import ActionType
from imagerefresh.plan import decide as table
from imagerefresh.plan.case import Case
from imagerefresh.plan.decide import TABLE, Row, decide
from imagerefresh.plan.memory import parse_state
from imagerefresh.plan.template import read
from unit.plan.builders import (
    D1,
    D2,
    GROUP,
    LATE,
    a_memory,
    a_target,
    a_view,
    an_image,
    an_own,
    patched,
)
from unit.plan.examples import Carries, Example, field_after
from unit.plan.rows import EXAMPLES


def difference(example: Example) -> str | None:
    """What a decision does otherwise than the example says, by its effects alone."""
    view = example.view
    image, before = view.images[0].image, view.images[0].memory
    plan = decide(view)
    outcome = plan.outcomes[image.name]
    if outcome.memory != example.memory:
        return f"state is {outcome.memory}, not {example.memory}"
    if outcome.is_retry_pending != example.is_retry_pending:
        return f"a retry is pending: {outcome.is_retry_pending}"
    if (plan.confirm == {image.name}) != (example.row == "confirm"):
        return f"to be confirmed: {plan.confirm}"
    if example.after is None or outcome.patch is None:
        return None if (example.after, outcome.patch) == (None, None) else f"patch {outcome.patch}"
    after = patched(dict(view.target), plan.patch)
    annotations = after["metadata"]["annotations"]
    written = parse_state(annotations.get(state_annotation(image.name)))
    record = annotations.get(record_annotation(GROUP, image.name))
    if written is None or replace(written, recorded=record) != example.memory:
        return f"written is {written} with record {record}"
    if isinstance(example.template, Carries):
        return f"template {outcome.patch['spec']}" if "spec" in outcome.patch else None
    if field_after(example, after) != example.template:
        return f"the template carries {field_after(example, after)}"
    stamp = read(image, after).stamp
    expected = (before.serial + 1, example.memory.asked) if example.is_stamped else None
    found = (stamp.serial, stamp.digest) if stamp else None
    return None if found == expected else f"stamp {found}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_row(example: Example) -> None:
    row = decide(example.view).outcomes[example.view.images[0].image.name].row
    assert (row.name, difference(example)) == (example.row, None)


def test_every_row_has_an_example_and_names_its_rule() -> None:
    assert {example.row for example in EXAMPLES} == {row.name for row in TABLE}
    assert all(row.why.startswith("B") for row in TABLE)


def test_what_another_repository_left_as_a_record_goes() -> None:
    """B1, B22: or it would count as this image's from the next run on."""
    kept = {record_annotation(GROUP, "ingestor"): D1}
    target = a_target(variable=D1, annotations=kept)
    memory = a_memory(D1, None, adopted=True)
    view = a_view(target, an_own(an_image(ActionType.SET_ENV), target, memory, D2), health=LATE)
    after = patched(target, decide(view).patch)
    assert set(after["metadata"]["annotations"]) == {state_annotation("ingestor")}


def _never(_: Case) -> bool:
    return False


def _always(_: Case) -> bool:
    return True


BREAKS = [
    pytest.param(row, holds, id=f"{row.name} {holds.__name__[1:]} holds")
    for row in TABLE
    for holds in (_never, _always)
    if not (row is TABLE[-1] and holds is _always)
]


@pytest.mark.parametrize(("row", "holds"), BREAKS)
def test_a_broken_row_is_noticed(
    row: Row, holds: Callable[[Case], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The examples can fail: with any row broken, one of them shows another effect."""
    broken = tuple(replace(row, holds=holds) if each is row else each for each in TABLE)
    monkeypatch.setattr(table, "TABLE", broken)
    assert any(_shows(example) for example in EXAMPLES)


def _shows(example: Example) -> bool:
    try:
        return difference(example) is not None
    except (StopIteration, RuntimeError):  # no row holds
        return True
