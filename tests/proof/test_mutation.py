"""The search of the model bites: a sample of `python -m proof mutation`."""

import pytest

from imagerefresh.plan.decide import TABLE
from proof.model.mutants import OUTSIDE_THE_MODEL, Mutant, all_mutants, row_mutants
from proof.mutation import SCOPES, catch

SAMPLE = (
    "paused: left out",
    "record before asking: left out",
    "neighbour first: left out",
    "move: left out",
    "contested: left out",
    "mismatch: left out",
    "drift: left out",
    "steps: the serial is not raised",
)


def test_each_row_of_the_table_is_broken() -> None:
    broken = {mutant.name.partition(":")[0] for mutant in row_mutants()}
    assert broken | set(OUTSIDE_THE_MODEL) == {row.name for row in TABLE}


@pytest.mark.parametrize(
    "mutant",
    [mutant for mutant in all_mutants() if mutant.name in SAMPLE],
    ids=lambda mutant: mutant.name,
)
def test_a_broken_operator_is_caught(mutant: Mutant) -> None:
    assert catch(mutant, SCOPES[:8]).rule


def test_the_operator_as_it_is_is_not() -> None:
    """Or what catches the others would prove nothing."""
    assert not any(scope.search().explore().finding for scope in SCOPES[:4])
