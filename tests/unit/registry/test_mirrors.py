"""Other places that may answer for a registry."""

import pytest

from unit.registry.conftest import Ruled
from unit.registry.resolving import DIGEST, ONE, SECRETS, resolved
from unit.registry.scripted import (
    INDEX,
    Reply,
    ScriptedRegistry,
    errors,
    manifest,
    token,
)


async def test_a_mirror_is_asked_first_and_gets_no_credentials(
    registry: ScriptedRegistry, other: ScriptedRegistry, ruled: Ruled
) -> None:
    """B10: credentials are for the registry that they were matched to."""
    path = "/v2/hub/team/app/manifests"
    other.on("HEAD", f"{path}/prod", other.bearer())
    other.on("GET", "/token", token())
    other.on(
        "HEAD",
        f"{path}/prod",
        lambda seen: manifest() if seen.authorization == "Bearer t0ken" else other.bearer(),
    )
    other.on("GET", f"{path}/{DIGEST}", manifest())
    client = await ruled(
        f"hosts: {{'{registry.host}': {{allowLoopback: true}}, "
        f"'{other.host}': {{allowLoopback: true}}}}\n"
        f"mirrors: [{{prefix: '{registry.host}', location: '{other.host}/hub'}}]"
    )
    assert (await resolved(client, registry.reference, (ONE,))).digest == DIGEST
    assert await client.inspect(registry.reference, DIGEST, (ONE,)) is None
    assert registry.seen == []
    sent = repr([(dict(seen.headers), seen.query, seen.body) for seen in other.seen])
    assert not any(secret in sent for secret in SECRETS)


@pytest.mark.parametrize(
    "reply", [Reply(404), Reply(401), errors(403, "DENIED", "no"), Reply(429), Reply(500)]
)
async def test_where_a_mirror_has_no_answer_the_registry_is_asked(
    registry: ScriptedRegistry, other: ScriptedRegistry, ruled: Ruled, reply: Reply
) -> None:
    other.on_tag("HEAD", reply)
    other.on_tag("GET", reply)
    other.on("GET", f"/v2/team/app/manifests/{DIGEST}", reply)
    registry.on_tag("HEAD", manifest())
    registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", manifest())
    client = await ruled(
        f"hosts: {{'{registry.host}': {{allowLoopback: true}}, "
        f"'{other.host}': {{allowLoopback: true}}}}\n"
        f"mirrors: [{{prefix: '{registry.host}', location: '{other.host}'}}]"
    )
    assert (await resolved(client, registry.reference)).digest == DIGEST
    assert await client.inspect(registry.reference, DIGEST) is None
    assert other.seen != []


async def test_a_mirror_that_lies_about_a_digest_is_passed_over(
    registry: ScriptedRegistry, other: ScriptedRegistry, ruled: Ruled
) -> None:
    other.on("GET", f"/v2/team/app/manifests/{DIGEST}", manifest(INDEX + b" "))
    registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", manifest())
    client = await ruled(
        f"hosts: {{'{registry.host}': {{allowLoopback: true}}, "
        f"'{other.host}': {{allowLoopback: true}}}}\n"
        f"mirrors: [{{prefix: '{registry.host}', location: '{other.host}'}}]"
    )
    assert await client.inspect(registry.reference, DIGEST) is None
    assert len(registry.seen) == 1
