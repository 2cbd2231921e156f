import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from imagerefresh.reference import Reference
from imagerefresh.registry import (
    Credential,
    RegistryClient,
    RegistrySettings,
    RequestRecord,
    Resolved,
    Trouble,
    TroubleReason,
    manifests,
)
from unit.registry.scripted import (
    INDEX,
    Reply,
    ScriptedRegistry,
    Seen,
    challenge,
    digest_of,
    errors,
    manifest,
    token,
)

DIGEST = digest_of(INDEX)
ONE = Credential('secret "one"', username="one", password="pass-one")
TWO = Credential('secret "two"', username="two", password="pass-two")
THREE = Credential('secret "three"', identity_token="identity-three")
SECRETS = ("pass-one", "pass-two", "identity-three", "b25lOnBhc3Mtb25l", "dHdvOnBhc3MtdHdv")
ARTIFACT = json.dumps(
    {"mediaType": manifests.OCI_MANIFEST, "config": {"mediaType": "application/vnd.x"}}
).encode()


async def resolved(
    client: RegistryClient,
    reference: Reference,
    credentials: Sequence[Credential] = (),
    fresh_since: float | None = None,
) -> Resolved:
    since = time.monotonic() if fresh_since is None else fresh_since
    found = await client.resolve(reference, credentials, fresh_since=since)
    assert isinstance(found, Resolved), found
    return found


async def trouble(
    client: RegistryClient, reference: Reference, credentials: Sequence[Credential] = ()
) -> Trouble:
    found = await client.resolve(reference, credentials, fresh_since=time.monotonic())
    assert isinstance(found, Trouble), found
    return found


def by_user(registry: ScriptedRegistry, **passwords: Reply) -> None:
    """Serve the tag behind a token service that answers each user as told."""
    registry.on_tag(
        "HEAD",
        lambda seen: manifest() if seen.authorization == "Bearer good" else registry.bearer(),
    )

    def answer(seen: Seen) -> Reply:
        if seen.method == "POST":
            return passwords["identity"]
        return passwords[
            {None: "nobody", "Basic b25lOnBhc3Mtb25l": "one"}.get(seen.authorization, "two")
        ]

    registry.on("GET", "/token", answer)
    registry.on("POST", "/token", answer)


def tokens_asked(registry: ScriptedRegistry) -> list[str | None]:
    return [
        "identity" if seen.method == "POST" else seen.authorization
        for seen in registry.seen
        if seen.path == "/token"
    ]


GOOD, DENIED = token("good"), errors(401, "UNAUTHORIZED", "incorrect")


# Sharing.


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


async def test_nobody_reads_through_another_credential(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B10: cached answers and verdicts are kept apart by credential."""
    by_user(registry, one=GOOD, two=DENIED, nobody=DENIED)
    registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", registry.bearer())
    since = time.monotonic()
    await resolved(client, registry.reference, (ONE,), since)
    impostor = replace(ONE, password="guess", username="two")
    for credentials in ((TWO,), (impostor,), ()):
        found = await client.resolve(registry.reference, credentials, fresh_since=since)
        assert isinstance(found, Trouble)
        assert found.reason is TroubleReason.ImageNotFoundOrDenied


# Credentials.


async def test_credentials_are_tried_in_order_then_none(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B10: what was refused is named."""
    by_user(registry, one=DENIED, identity=errors(403, "DENIED", "no"), two=DENIED, nobody=GOOD)
    found = await resolved(client, registry.reference, (ONE, THREE, TWO))
    assert found.digest == DIGEST
    assert found.rejected == ('secret "one"', 'secret "three"', 'secret "two"')
    assert tokens_asked(registry) == [
        "Basic b25lOnBhc3Mtb25l",
        "identity",
        "Basic dHdvOnBhc3MtdHdv",
        None,
    ]


async def test_the_first_accepted_credential_ends_the_search(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B10."""
    by_user(registry, one=DENIED, two=GOOD)
    found = await resolved(client, registry.reference, (ONE, TWO, THREE))
    assert found.rejected == ('secret "one"',)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(500), TroubleReason.RegistryUnavailable),
        (Reply(429), TroubleReason.RateLimited),
        (Reply(404), TroubleReason.RegistryUnavailable),
        (Reply(302, (("Location", "/x"),)), TroubleReason.RegistryMisconfigured),
    ],
)
async def test_only_401_and_403_lead_to_the_next_credential(
    registry: ScriptedRegistry, client: RegistryClient, reply: Reply, reason: TroubleReason
) -> None:
    """B10."""
    by_user(registry, one=reply, two=GOOD, nobody=GOOD)
    found = await trouble(client, registry.reference, (ONE, TWO))
    assert found.reason is reason
    assert found.rejected == ()
    assert set(tokens_asked(registry)) == {"Basic b25lOnBhc3Mtb25l"}


async def test_a_missing_tag_ends_the_search(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B10: 404 is neither 401 nor 403."""
    registry.on_tag("GET", errors(404, "MANIFEST_UNKNOWN", "manifest unknown"))
    found = await trouble(client, registry.reference, (ONE, TWO))
    assert found.reason is TroubleReason.ImageNotFoundOrDenied
    assert found.rejected == ()
    assert len(registry.seen) == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_basic_credentials_are_tried_in_order_too(
    registry: ScriptedRegistry, client: RegistryClient, status: int
) -> None:
    """B10."""
    wanted = "Basic dHdvOnBhc3MtdHdv"

    def answer(seen: Seen) -> Reply:
        if seen.authorization == wanted:
            return manifest()
        return Reply(status) if seen.authorization else challenge("Basic realm=x")

    registry.on_tag("HEAD", answer)
    registry.on_tag("GET", answer)
    found = await resolved(client, registry.reference, (ONE, TWO))
    assert found.rejected == ('secret "one"',)


# What people read.


async def test_denied_says_what_to_do(registry: ScriptedRegistry, client: RegistryClient) -> None:
    """B8, B10: one reason at once, with the registry's words and the refused secrets."""
    by_user(registry, one=errors(403, "DENIED", "bad\x1b\nname"), nobody=Reply(403))
    found = await trouble(client, registry.reference, (ONE,))
    assert found == Trouble(
        TroubleReason.ImageNotFoundOrDenied,
        f"{registry.reference}: no such image, or no permission to read it (bad name); check the "
        'name and the tag, and the credentials of secret "one", which were refused',
        transient=False,
        rejected=('secret "one"',),
    )
    found = await trouble(client, replace(registry.reference, tag="other"))
    assert found.reason is TroubleReason.ImageNotFoundOrDenied
    assert found.message.endswith("a private image needs a pull secret")


@pytest.mark.parametrize(
    ("reply", "reason", "transient"),
    [
        (Reply(503), TroubleReason.RegistryUnavailable, True),
        (Reply(429, (("Retry-After", "60"),)), TroubleReason.RateLimited, True),
        (challenge("Negotiate"), TroubleReason.RegistryMisconfigured, False),
        (Reply(404), TroubleReason.ImageNotFoundOrDenied, False),
        (challenge("Basic realm=x"), TroubleReason.ImageNotFoundOrDenied, False),
    ],
)
async def test_trouble_is_the_same_from_turn_to_turn(
    registry: ScriptedRegistry,
    client: RegistryClient,
    reply: Reply,
    reason: TroubleReason,
    transient: bool,
) -> None:
    """B7, B8: or each turn would look like news."""
    registry.on_tag("HEAD", reply)
    found = [await trouble(client, registry.reference, (ONE,)) for _ in range(3)]
    assert {(one.reason, one.transient) for one in found} == {(reason, transient)}
    assert len({one.message for one in found}) == 1
    assert registry.host in found[0].message
    assert (found[0].retry_at is not None) is (reason is TroubleReason.RateLimited)


async def test_a_limited_host_is_left_alone_by_all_and_others_are_not(
    registry: ScriptedRegistry, other: ScriptedRegistry, client: RegistryClient
) -> None:
    """B9."""
    registry.on_tag("HEAD", Reply(429, (("Retry-After", "60"),)))
    other.on_tag("HEAD", manifest())
    for tag in ("prod", "prod", "next"):
        found = await trouble(client, replace(registry.reference, tag=tag))
        assert found.reason is TroubleReason.RateLimited
        assert found.retry_at is not None
        assert found.retry_at - time.monotonic() > 55
    assert len(registry.seen) == 1
    assert (await resolved(client, other.reference)).digest == DIGEST


async def test_loopback_and_foreign_places_are_misconfiguration(registry: ScriptedRegistry) -> None:
    """B28: a policy that names one is told so; nothing is sent."""
    client = RegistryClient(RegistrySettings("imagerefresh/test"))
    for host in (registry.host, registry.host.replace("127.0.0.1", "localhost"), "169.254.169.254"):
        found = await trouble(client, replace(registry.reference, registry=host), (ONE,))
        assert (found.reason, found.transient) == (TroubleReason.RegistryMisconfigured, False)
    await client.close()
    assert not registry.seen


async def test_credentials_appear_nowhere(
    registry: ScriptedRegistry,
    client: RegistryClient,
    records: list[RequestRecord],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B10: not in results, records, reprs and logs."""
    caplog.set_level(0)
    by_user(registry, one=DENIED, identity=DENIED, two=DENIED, nobody=DENIED)
    found = await trouble(client, registry.reference, (ONE, TWO, THREE))
    shown = repr([found, records, ONE, TWO, THREE, vars(client)]) + caplog.text
    assert 'secret "two"' in shown
    for secret in SECRETS:
        assert secret not in shown


# Whether it is an image.


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


async def test_inspect_tries_credentials_too(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B10."""
    by_user(registry, one=DENIED, two=GOOD, nobody=DENIED)
    registry.on(
        "GET",
        f"/v2/team/app/manifests/{DIGEST}",
        lambda seen: manifest() if seen.authorization == "Bearer good" else registry.bearer(),
    )
    assert await client.inspect(registry.reference, DIGEST, (ONE, TWO)) is None
    found = await client.inspect(registry.reference, DIGEST, (ONE,))
    assert found is not None
    assert found.reason is TroubleReason.ImageNotFoundOrDenied


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


# Life.


async def test_close_ends_what_is_in_flight(registry: ScriptedRegistry) -> None:
    client = RegistryClient(RegistrySettings("imagerefresh/test", allow_insecure_loopback=True))
    registry.on_tag("HEAD", Reply(hold=asyncio.Event()))
    task = asyncio.create_task(client.resolve(registry.reference, fresh_since=time.monotonic()))
    await registry.asked(1)
    await client.close()
    found = await asyncio.wait_for(task, 5)
    assert isinstance(found, Trouble)
    assert found.transient


def test_a_client_can_be_made_where_no_loop_runs() -> None:
    RegistryClient(RegistrySettings("imagerefresh/test"))
