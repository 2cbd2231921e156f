import time
from dataclasses import replace

import pytest

from imagerefresh.registry import (
    RegistryClient,
    RequestRecord,
    Trouble,
    TroubleReason,
)
from unit.registry.resolving import (
    DENIED,
    DIGEST,
    GOOD,
    ONE,
    SECRETS,
    THREE,
    TWO,
    by_user,
    resolved,
    tokens_asked,
    trouble,
)
from unit.registry.scripted import (
    Reply,
    ScriptedRegistry,
    Seen,
    challenge,
    errors,
    manifest,
)


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


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
async def test_one_password_is_refused_once(
    registry: ScriptedRegistry, client: RegistryClient, scheme: str
) -> None:
    """B10: under two names it is one all the same, and each try may count towards a lock."""
    if scheme == "bearer":
        by_user(registry, one=errors(403, "DENIED", "no"), two=DENIED, nobody=DENIED)
    else:
        for method in ("HEAD", "GET"):
            registry.on_tag(method, challenge("Basic realm=x"))
    found = await trouble(client, registry.reference, (ONE, replace(ONE, source="again"), TWO))
    assert found.rejected == ('secret "one"', "again", 'secret "two"')
    used = [seen.authorization for seen in registry.seen]
    assert used.count("Basic b25lOnBhc3Mtb25l") == 1


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


async def test_a_missing_tag_ends_the_search(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """B10: 404 is neither 401 nor 403."""
    registry.on_tag("GET", errors(404, "MANIFEST_UNKNOWN", "manifest unknown"))
    found = await trouble(client, registry.reference, (ONE, TWO))
    assert found.reason is TroubleReason.ImageNotFoundOrDenied
    assert found.rejected == ()
    assert len(registry.seen) == 2
