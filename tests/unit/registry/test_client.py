import asyncio
import time
from dataclasses import replace

from imagerefresh.registry import (
    RegistryClient,
    RegistrySettings,
    RequestRecord,
    Trouble,
    TroubleReason,
)
from unit.registry.resolving import (
    ARTIFACT,
    DIGEST,
    ONE,
    resolved,
)
from unit.registry.scripted import (
    Reply,
    ScriptedRegistry,
    digest_of,
    manifest,
)


async def test_what_a_caller_accepts_is_not_asked_again(
    registry: ScriptedRegistry, client: RegistryClient, records: list[RequestRecord]
) -> None:
    """B5, B6: one request per image and turn."""
    registry.on_tag("HEAD", manifest())
    turn = time.monotonic()
    first = await resolved(client, registry.reference, fresh_since=turn)
    assert turn <= first.sent_at <= time.monotonic()
    pinned = registry.reference.with_digest(f"sha256:{'0' * 64}")
    for reference in (registry.reference, pinned):
        assert await resolved(client, reference, fresh_since=turn) == first
    assert len(registry.seen) == len(records) == 1
    later = await resolved(client, registry.reference, fresh_since=time.monotonic())
    assert later.sent_at > first.sent_at
    assert len(registry.seen) == 2


async def test_a_thousand_callers_share_one_request(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B6."""
    hold = asyncio.Event()
    registry.on_tag("HEAD", replace(manifest(), hold=hold))
    turn = time.monotonic()
    tasks = [
        asyncio.create_task(resolved(client, registry.reference, (ONE,), turn)) for _ in range(1000)
    ]
    await registry.asked(1)
    tasks[0].cancel()
    hold.set()
    found = await asyncio.gather(*tasks[1:])
    assert {one.digest for one in found} == {DIGEST}
    assert len(registry.seen) <= 2  # the caller that went away was the one that asked


async def test_a_look_that_must_be_later_is_a_request_of_its_own(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B14."""
    hold = asyncio.Event()
    registry.on_tag("HEAD", replace(manifest(), hold=hold), manifest(ARTIFACT))
    first = asyncio.create_task(resolved(client, registry.reference))
    await registry.asked(1)
    assert (await resolved(client, registry.reference)).digest == digest_of(ARTIFACT)
    hold.set()
    assert (await first).digest == DIGEST


async def test_trouble_is_shared_as_well(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    turn = time.monotonic()
    registry.on_tag("HEAD", Reply(404))
    for _ in range(3):
        found = await client.resolve(registry.reference, fresh_since=turn)
        assert isinstance(found, Trouble)
    assert registry.methods() == [
        "HEAD /v2/team/app/manifests/prod",
        "GET /v2/team/app/manifests/prod",
    ]


async def test_inspect_asks_once_for_what_never_changes(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B5."""
    registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", manifest())
    for _ in range(2):
        assert await client.inspect(registry.reference, DIGEST) is None
    assert len(registry.seen) == 1


async def test_inspect_tells_an_artifact(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B5."""
    digest = digest_of(ARTIFACT)
    registry.on("GET", f"/v2/team/app/manifests/{digest}", manifest(ARTIFACT))
    for _ in range(2):
        found = await client.inspect(registry.reference, digest)
        assert found is not None
        assert (found.reason, found.transient) == (TroubleReason.NotAnImage, False)
        assert "artifact" in found.message
        assert digest in found.message
    assert len(registry.seen) == 1


async def test_trouble_while_inspecting_is_not_kept(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B7."""
    path = f"/v2/team/app/manifests/{DIGEST}"
    registry.on("GET", path, *([Reply(500)] * 3), manifest(ARTIFACT), manifest())
    for word in ("HTTP 500", "does not match"):
        found = await client.inspect(registry.reference, DIGEST)
        assert found is not None
        assert found.reason is TroubleReason.RegistryUnavailable
        assert word in found.message
    assert await client.inspect(registry.reference, DIGEST) is None


async def test_a_body_that_resolving_needed_is_not_asked_for_again(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B5: where HEAD tells no digest."""
    registry.on_tag("HEAD", Reply(200))
    registry.on_tag("GET", manifest(ARTIFACT))
    found = await resolved(client, registry.reference, (ONE,))
    assert found.digest == digest_of(ARTIFACT)
    verdict = await client.inspect(registry.reference, found.digest, (ONE,))
    assert verdict is not None
    assert verdict.reason is TroubleReason.NotAnImage
    assert len(registry.seen) == 2


async def test_close_ends_what_is_in_flight(registry: ScriptedRegistry) -> None:
    client = RegistryClient(RegistrySettings("imagerefresh/test", allow_insecure_loopback=True))
    registry.on_tag("HEAD", Reply(hold=asyncio.Event()))
    task = asyncio.create_task(client.resolve(registry.reference, fresh_since=time.monotonic()))
    await registry.asked(1)
    await client.close()
    found = await asyncio.wait_for(task, 30)
    assert isinstance(found, Trouble)
    assert found.transient


def test_a_client_can_be_made_where_no_loop_runs() -> None:
    RegistryClient(RegistrySettings("imagerefresh/test"))
