"""The operator's half of each rule; the API server's is asked the same in tests/cluster."""

import pytest

from imagerefresh.api.policy import InvalidSpec, parse_spec
from schema_documents import changed, shown
from schema_samples import SAMPLES


@pytest.mark.parametrize(
    ("path", "value"),
    [(path, value) for each in SAMPLES for path in each.paths for value in each.good],
)
def test_takes(path: str, value: object) -> None:
    parse_spec(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [(path, value, each.message) for each in SAMPLES for path in each.paths for value in each.bad],
)
def test_refuses_and_says_why(path: str, value: object, message: str) -> None:
    """B3."""
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(changed(path, value))
    assert message in str(caught.value)
    assert str(caught.value).startswith(shown(path))
