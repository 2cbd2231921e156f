"""What the tests of runs share."""

import pytest

from imagerefresh.reconcile.pacer import Pacer
from unit.reconcile.builders import Clocks
from unit.reconcile.paces import looked, paced


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def pacer(clocks: Clocks) -> Pacer:
    return looked(paced(clocks), clocks)
