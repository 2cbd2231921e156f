import time
from dataclasses import replace

import pytest

from imagerefresh.registry import (
    RegistryClient,
    RegistrySettings,
    Trouble,
    TroubleReason,
)
from unit.registry.resolving import DIGEST, ONE, by_user, resolved, trouble
from unit.registry.scripted import (
    Reply,
    ScriptedRegistry,
    challenge,
    errors,
    manifest,
)


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
    before = time.monotonic()
    for tag in ("prod", "prod", "next"):
        found = await trouble(client, replace(registry.reference, tag=tag))
        assert found.reason is TroubleReason.RateLimited
        assert found.retry_at is not None
        assert found.retry_at - before >= 60
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
