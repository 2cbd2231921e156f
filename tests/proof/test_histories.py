"""A sample of `python -m proof histories`, which bites where the model has one policy only."""

from unittest.mock import patch

import pytest
from hypothesis import Phase, settings

from imagerefresh.plan import decide
from proof.histories import FULL, try_histories

SAMPLE = settings(FULL, derandomize=True, database=None, max_examples=15, stateful_step_count=30)


def test_histories_hold() -> None:
    try_histories(SAMPLE)


def test_policies_that_do_not_wait_for_each_other_are_noticed() -> None:
    """B23."""
    impatient = tuple(row for row in decide.TABLE if row.name != "wait")
    with patch.object(decide, "TABLE", impatient), pytest.raises(AssertionError, match="B23"):
        try_histories(settings(SAMPLE, max_examples=500, phases=[Phase.generate]))
