"""Each quirk that is known of registries in the field has a row, or a reason why it has none."""

import time

import pytest

from imagerefresh.registry import RegistryClient, Resolved, Trouble, TroubleReason
from unit.registry import quirks_answers, quirks_auth
from unit.registry.conftest import Names
from unit.registry.quirks import LAST, NOT_APPLICABLE, QUIRKS, Found, Outcome, Scene
from unit.registry.scripted import ScriptedRegistry

ROWS = (quirks_answers, quirks_auth)  # they fill the table


def test_every_number_is_accounted_for() -> None:
    assert not QUIRKS.keys() & NOT_APPLICABLE.keys()
    assert sorted([*QUIRKS, *NOT_APPLICABLE]) == list(range(1, LAST + 1))
    assert all(NOT_APPLICABLE.values())


@pytest.mark.parametrize("number", sorted(QUIRKS))
async def test_quirk(
    registry: ScriptedRegistry,
    other: ScriptedRegistry,
    names: Names,
    client: RegistryClient,
    number: int,
) -> None:
    scene = Scene(registry, other, names)
    row = QUIRKS[number]
    check = row.play(scene)
    found, outcome = await _ask(client, scene)
    assert outcome == row.outcome, found
    if check is not None:
        assert check(found), (found, registry.methods(), other.methods())


async def _ask(client: RegistryClient, scene: Scene) -> tuple[Found, Outcome]:
    """Look at the tag, then at what it stands for, as far as the registry serves that."""
    found: Found | None = None
    for _ in range(scene.turns):
        found = await client.resolve(
            scene.reference, scene.credentials, fresh_since=time.monotonic()
        )
    assert found is not None
    if isinstance(found, Trouble):
        return found, found.reason
    path = ("GET", f"/v2/{scene.reference.repository}/manifests/{found.digest}")
    if path in scene.registry._scripts:
        verdict = await client.inspect(scene.reference, found.digest, scene.credentials)
        if verdict is not None:
            assert verdict.reason in TroubleReason
            return verdict, verdict.reason
    assert isinstance(found, Resolved)
    return found, found.digest
