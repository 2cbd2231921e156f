"""A sample of the faults that `make proof` injects into every story: one story, some faults.

B13, B14, B22, B29. The operator is killed at each write, and each write is refused or cut off.
"""

import pytest

from proof.faults.images import Images
from proof.faults.kinds import Kind
from proof.faults.lane import lane
from proof.faults.prove import prove
from proof.faults.scenarios import MOVE
from proof.faults.table import table
from testbed.controlplane import ControlPlane
from testbed.registry import Registry

KINDS = (Kind.KILLED_BEFORE, Kind.KILLED_AFTER, Kind.OLD_TARGET, Kind.FAILURE, Kind.CUT_AFTER)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_move_ends_the_same_whatever_becomes_of_each_write(
    control_plane: ControlPlane, registry: Registry
) -> None:
    """Nothing lost, nothing repeated: the same end, by the same one rollout."""
    with lane(control_plane, Images.publish(registry), MOVE) as found:
        report = prove(found, KINDS)
    assert report.is_proven, table(report, KINDS)
