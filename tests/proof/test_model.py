"""A sample of the exhaustive search; `python -m proof model` does all of it."""

import pytest

from proof.model.scopes import Scope, sample_scopes


@pytest.mark.parametrize("scope", list(sample_scopes()), ids=lambda scope: scope.name)
def test_nothing_is_wrong_in_any_world_that_can_be_reached(scope: Scope) -> None:
    """B11 to B22: each patch is allowed, and each world comes to rest as it should."""
    search = scope.search().explore()
    assert search.finding is None
    assert len(search.graph) > 100
