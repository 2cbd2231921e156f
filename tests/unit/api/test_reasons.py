import re

import pytest

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageState


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_a_word_with_a_meaning_and_a_remedy(reason: Reason) -> None:
    assert re.fullmatch(r"([A-Z][a-z]+)+", reason)
    assert reason.name == reason.value == str(reason)
    assert reason.meaning.endswith(".")
    assert reason.remedy.endswith(".")


def test_a_reason_is_found_by_its_text() -> None:
    assert Reason("UpToDate") is Reason.UpToDate


def test_states_and_reasons_read_alike() -> None:
    """A reader of status should not meet two spellings of one thing."""
    shared = {str(state).lower() for state in ImageState} & {str(each).lower() for each in Reason}
    spelt = {str(state) for state in ImageState} & {str(each) for each in Reason}
    assert len(shared) == len(spelt)
