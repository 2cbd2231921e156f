import json
from dataclasses import replace

import pytest
from yarl import URL

from imagerefresh.registry import Credential
from imagerefresh.registry.login import ANONYMOUS, Login, login_for
from imagerefresh.registry.outcomes import DeniedError, RegistryError, TroubleReason
from imagerefresh.registry.tokens import TokenScope, TokenSource
from unit.registry.asking import BASIC, IDENTITY, USER
from unit.registry.scripted import Reply, ScriptedRegistry, token


async def test_anonymous_token(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    registry.on("GET", "/token", token("abc"))
    assert (await source.get(scope, ANONYMOUS)).value == "abc"
    (seen,) = registry.seen
    assert seen.query == [("service", "svc"), ("scope", "repository:team/app:pull")]
    assert seen.authorization is None
    assert seen.headers["User-Agent"] == "imagerefresh/test"


async def test_user_and_password_go_with_get_and_basic_in_utf8(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    registry.on("GET", "/token", token())
    await source.get(scope, USER)
    (seen,) = registry.seen
    assert seen.authorization == BASIC


async def test_the_query_of_the_realm_is_kept_and_scopes_are_separate(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    """A missing service is left out, two scopes of one challenge are two parameters."""
    registry.on("GET", "/token", token())
    url = URL(f"{registry.url}/token?tenant=a%2Fb", encoded=True)
    await source.get(replace(scope, service_url=url, service="", scope="a:b:c *"), ANONYMOUS)
    assert registry.seen[0].query == [("tenant", "a/b"), ("scope", "a:b:c"), ("scope", "*")]


@pytest.mark.parametrize(
    "login",
    [
        IDENTITY,
        login_for(Credential("c", username="<token>", password="refresh-me")),
        login_for(Credential("d", username="u", password="p", identity_token="refresh-me")),
    ],
)
async def test_identity_token_is_posted(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope, login: Login
) -> None:
    registry.on("POST", "/token", Reply(200, (), b'{"access_token": "abc"}'))
    assert (await source.get(scope, login)).value == "abc"
    (seen,) = registry.seen
    form = dict(pair.split("=") for pair in seen.body.split("&"))
    assert form == {
        "grant_type": "refresh_token",
        "refresh_token": "refresh-me",
        "client_id": "imagerefresh",
        "service": "svc",
        "scope": "repository%3Ateam%2Fapp%3Apull",
    }
    assert seen.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert seen.authorization is None
    assert not seen.query


async def test_what_is_posted_is_posted_once(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    """A refresh token may be good for one use: what became of a failed one nobody knows."""
    registry.on("POST", "/token", Reply(503), Reply(200, (), b'{"access_token": "abc"}'))
    with pytest.raises(RegistryError) as caught:
        await source.get(scope, IDENTITY)
    assert caught.value.reason is TroubleReason.RegistryUnavailable
    assert registry.methods() == ["POST /token"]


@pytest.mark.parametrize("status", [404, 405])
async def test_without_post_user_and_password_are_used_if_there_are_any(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope, status: int
) -> None:
    registry.on("POST", "/token", Reply(status))
    registry.on("GET", "/token", token("abc"))
    both = login_for(Credential("d", username="u", password="p", identity_token="refresh-me"))
    assert (await source.get(scope, both)).value == "abc"
    assert registry.methods() == ["POST /token", "GET /token"]
    with pytest.raises(RegistryError) as caught:
        await source.get(scope, IDENTITY)
    assert caught.value.reason is TroubleReason.RegistryUnavailable
    assert registry.methods() == ["POST /token", "GET /token", "POST /token"]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ({"token": "a"}, "a"),
        ({"access_token": "b"}, "b"),
        ({"token": "a", "access_token": "b"}, "b"),
        ({"token": "a", "access_token": ""}, "a"),
        ({"token": "a", "access_token": None}, "a"),
    ],
)
async def test_either_name_of_the_token_will_do(
    registry: ScriptedRegistry,
    source: TokenSource,
    scope: TokenScope,
    body: dict[str, object],
    value: str,
) -> None:
    registry.on("GET", "/token", Reply(201, (), json.dumps(body).encode()))
    assert (await source.get(scope, ANONYMOUS)).value == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"<html>",
        b'{"token": 5}',
        b'{"token": "a\\nX: y"}',
        b'{"token": ""}',
        b"[" * 9999,
    ],
)
async def test_no_token_is_transient_and_the_body_is_not_shown(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope, body: bytes
) -> None:
    """B7, B8."""
    registry.on("GET", "/token", Reply(200, (), body))
    with pytest.raises(RegistryError) as caught:
        await source.get(scope, ANONYMOUS)
    assert caught.value.reason is TroubleReason.RegistryUnavailable
    assert caught.value.message.startswith(
        f"token service {registry.host}: an answer without a token;"
    )


@pytest.mark.parametrize("status", [301, 302, 307])
async def test_redirects_of_the_token_service_are_not_followed(
    registry: ScriptedRegistry,
    other: ScriptedRegistry,
    source: TokenSource,
    scope: TokenScope,
    status: int,
) -> None:
    """B10: asserted on what the other side received."""
    registry.on("GET", "/token", Reply(status, (("Location", f"{other.url}/token"),)))
    registry.on("POST", "/token", Reply(status, (("Location", f"{other.url}/token"),)))
    for login in (USER, IDENTITY, ANONYMOUS):
        with pytest.raises(RegistryError) as caught:
            await source.get(scope, login)
        assert caught.value.reason is TroubleReason.RegistryMisconfigured
    assert not other.seen


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(500), TroubleReason.RegistryUnavailable),
        (Reply(404), TroubleReason.RegistryUnavailable),
        (Reply(429, (("Retry-After", "60"),)), TroubleReason.RateLimited),
    ],
)
async def test_trouble_at_the_token_service_is_no_denial(
    registry: ScriptedRegistry,
    source: TokenSource,
    scope: TokenScope,
    reply: Reply,
    reason: TroubleReason,
) -> None:
    """B7, B9."""
    registry.on("GET", "/token", reply)
    with pytest.raises(RegistryError) as caught:
        await source.get(scope, USER)
    assert not isinstance(caught.value, DeniedError)
    assert caught.value.reason is reason
