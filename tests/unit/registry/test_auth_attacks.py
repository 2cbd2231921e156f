"""Where credentials must not go: asserted on what the other side received."""

import pytest

from imagerefresh.registry import Credential
from imagerefresh.registry.login import ANONYMOUS, login_for
from imagerefresh.registry.outcomes import RegistryError, TroubleReason
from unit.registry.asking import BASIC, USER, Asker, guarded
from unit.registry.conftest import Names
from unit.registry.scripted import Reply, ScriptedRegistry, challenge, token


async def test_credentials_do_not_go_to_a_foreign_realm(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    """B10: 127.0.0.1 and localhost are two hosts here."""
    foreign = registry.url.replace("127.0.0.1", "localhost")
    registry.on("GET", "/x", guarded(registry.bearer(realm=f"{foreign}/token"), "Bearer abc"))
    registry.on("GET", "/token", token("abc"))
    identity = login_for(Credential("b", identity_token="refresh-me"))
    for login in (USER, identity):
        with pytest.raises(RegistryError, match="localhost") as caught:
            await ask(login)
        assert caught.value.reason is TroubleReason.RegistryMisconfigured
    assert {seen.authorization for seen in registry.seen} == {None}
    assert registry.methods() == ["GET /x", "GET /x"][: len(registry.seen)]
    # Without credentials there is nothing to steal.
    assert (await ask(ANONYMOUS)).status == 200


@pytest.mark.parametrize(
    "realm",
    [
        "https://evil.test/token",
        "http://evil.test/token",
        "https://169.254.169.254/token",
        "http://169.254.169.254/token",
        "https://metadata.example.com/token",
        "https://user:pass@127.0.0.1/token",
    ],
)
async def test_attacks_by_realm(
    registry: ScriptedRegistry, ask: Asker, names: Names, realm: str
) -> None:
    """B10, B28: also a name that leads to a metadata service."""
    names.addresses["metadata.example.com"] = ["169.254.169.254"]
    names.addresses["evil.test"] = ["127.0.0.1"]
    registry.on("GET", "/x", registry.bearer(realm=realm))
    with pytest.raises(RegistryError) as caught:
        await ask(USER)
    assert caught.value.reason is TroubleReason.RegistryMisconfigured
    assert registry.methods() == ["GET /x"]
    assert "evil.test" not in names.asked


async def test_a_realm_whose_name_leads_to_a_metadata_service_is_refused_without_credentials_too(
    registry: ScriptedRegistry, ask: Asker, names: Names
) -> None:
    """B28."""
    names.addresses["metadata.example.com"] = ["169.254.169.254"]
    registry.on("GET", "/x", registry.bearer(realm="https://metadata.example.com/token"))
    with pytest.raises(RegistryError, match="metadata service") as caught:
        await ask(ANONYMOUS)
    assert caught.value.reason is TroubleReason.RegistryMisconfigured


async def test_a_host_that_a_redirect_led_to_gets_an_anonymous_token_at_most(
    registry: ScriptedRegistry, other: ScriptedRegistry, ask: Asker
) -> None:
    """B10: lscr.io leads to ghcr.io, which challenges for itself."""
    registry.on("GET", "/x", guarded(registry.bearer(), "never"))
    registry.on("GET", "/token", token("first"))
    redirect = Reply(307, (("Location", f"{other.url}/y"),))
    registry.on("GET", "/x", registry.bearer(), redirect)
    other.on("GET", "/y", guarded(other.bearer(scope="repository:y:pull"), "Bearer second"))
    other.on("GET", "/token", token("second"))
    assert (await ask(USER)).body == b"ok"
    assert [seen.authorization for seen in registry.seen] == [None, BASIC, "Bearer first"]
    assert other.methods() == ["GET /y", "GET /token", "GET /y"]
    assert [seen.authorization for seen in other.seen] == [None, None, "Bearer second"]


async def test_a_host_that_a_redirect_led_to_never_gets_basic(
    registry: ScriptedRegistry, other: ScriptedRegistry, ask: Asker
) -> None:
    """B10."""
    registry.on(
        "GET", "/x", challenge("Basic realm=x"), Reply(307, (("Location", f"{other.url}/y"),))
    )
    other.on("GET", "/y", challenge("Basic realm=x"))
    assert (await ask(USER)).status == 401
    assert [seen.authorization for seen in other.seen] == [None]
