"""A short soak: moves, edits, failures of the registry and kills, and no update lost or repeated.

B13, B14, B17, B21, B22. `python -m proof soak` runs a long one with many policies.
"""

from pathlib import Path

import pytest

from proof.soak.command import COMPONENTS, Soak
from proof.soak.crowd import crowd
from proof.world import World
from testbed.controlplane import ControlPlane
from testbed.registry import Registry

SECONDS = 15
DEADLINE = 15
"""Seconds that a rollout may make no progress: those of images that can't run take no longer."""
PATIENCE = 120.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_update_is_lost_repeated_or_unproven(
    control_plane: ControlPlane, registry: Registry, tmp_path: Path
) -> None:
    world = World(control_plane, registry, tmp_path, COMPONENTS)
    soak = Soak(world, crowd(8, deadline=DEADLINE), PATIENCE)
    try:
        assert soak.run(SECONDS) == []
        assert soak.counts["recorded"] > len(soak.members)
        assert soak.counts["kills"] > 0
    finally:
        world.stop()
        world.namespace.abandon()
