"""All digests by which an image may be known where it runs (B15)."""

import json
from dataclasses import replace

import pytest

from imagerefresh.registry import RegistryClient, RequestRecord, manifests
from unit.registry.resolving import ONE, TWO
from unit.registry.scripted import Reply, ScriptedRegistry, Seen, challenge, digest_of, manifest

CONFIGS = [f"sha256:{digit * 64}" for digit in "cd"]


def a_manifest(config: str) -> bytes:
    document = {"schemaVersion": 2, "config": {"digest": config}, "layers": []}
    return json.dumps(document).encode()


PARTS = [a_manifest(config) for config in CONFIGS]
ATTESTATION = a_manifest(f"sha256:{'e' * 64}")


def an_entry(body: bytes, **more: object) -> dict[str, object]:
    return {"mediaType": manifests.OCI_MANIFEST, "digest": digest_of(body), **more}


INDEX = json.dumps(
    {
        "schemaVersion": 2,
        "manifests": [
            *(an_entry(each, platform={"os": "linux", "architecture": "x"}) for each in PARTS),
            an_entry(ATTESTATION, platform={"os": "unknown", "architecture": "unknown"}),
        ],
    }
).encode()


def put(registry: ScriptedRegistry, *bodies: bytes) -> None:
    for body in bodies:
        path = f"/v2/team/app/manifests/{digest_of(body)}"
        kind = manifests.OCI_INDEX if body is INDEX else manifests.OCI_MANIFEST
        registry.on("GET", path, manifest(body, kind))


async def test_those_of_an_index_its_platforms_and_their_configs(
    registry: ScriptedRegistry, client: RegistryClient, records: list[RequestRecord]
) -> None:
    """An attestation is nothing that runs. Asked for once: it never changes."""
    put(registry, INDEX, *PARTS)
    for _ in range(2):
        found = await client.digests(registry.reference, digest_of(INDEX))
        assert found == frozenset({digest_of(INDEX), *map(digest_of, PARTS), *CONFIGS})
    assert len(records) == 3


async def test_those_of_an_image_for_one_platform(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    put(registry, PARTS[0])
    found = await client.digests(registry.reference, digest_of(PARTS[0]))
    assert found == frozenset({digest_of(PARTS[0]), CONFIGS[0]})


@pytest.mark.parametrize("reply", [Reply(500), Reply(404), manifest(ATTESTATION)])
async def test_part_of_them_is_nothing(
    registry: ScriptedRegistry, client: RegistryClient, reply: Reply
) -> None:
    """Trouble, or a body that is not what was asked for; it is tried again."""
    put(registry, INDEX, PARTS[0])
    path = f"/v2/team/app/manifests/{digest_of(PARTS[1])}"
    registry.on("GET", path, *([reply] * 3), manifest(PARTS[1], manifests.OCI_MANIFEST))
    assert await client.digests(registry.reference, digest_of(INDEX)) is None
    while (found := await client.digests(registry.reference, digest_of(INDEX))) is None:
        pass
    assert digest_of(PARTS[1]) in found


async def test_what_was_refused_once_is_not_tried_for_each_platform(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B10: each try may count towards the lock of an account."""
    bodies = {digest_of(body): body for body in (INDEX, *PARTS)}

    def answer(seen: Seen) -> Reply:
        if seen.authorization == "Basic dHdvOnBhc3MtdHdv":
            return manifest(bodies[seen.path.rpartition("/")[2]])
        return challenge("Basic realm=x")

    for digest in bodies:
        registry.on("GET", f"/v2/team/app/manifests/{digest}", answer)
    two = replace(TWO, source=ONE.source)  # another entry of the same secret
    found = await client.digests(registry.reference, digest_of(INDEX), (ONE, two))
    assert found is not None
    used = [seen.authorization for seen in registry.seen]
    assert used.count("Basic b25lOnBhc3Mtb25l") == 1


async def test_an_index_of_endless_platforms_is_not_walked_through(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """Each request may count as a pull, and whoever publishes an index writes what is in it."""
    entries = [an_entry(a_manifest(f"sha256:{number:064x}")) for number in range(200)]
    index = json.dumps({"mediaType": manifests.OCI_INDEX, "manifests": entries}).encode()
    put(registry, index)
    assert await client.digests(registry.reference, digest_of(index)) is None
    assert len(registry.seen) == 1
