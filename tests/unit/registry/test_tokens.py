import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from yarl import URL

from imagerefresh.registry import Credential, tokens
from imagerefresh.registry.login import ANONYMOUS, Login, login_for
from imagerefresh.registry.outcomes import DeniedError, RegistryError, TroubleReason
from imagerefresh.registry.tokens import TokenScope, TokenSource
from imagerefresh.registry.transport import Transport
from unit.registry.scripted import Reply, ScriptedRegistry, Seen, errors, token

USER = login_for(Credential("secret a", username="us\u00e9r", password="p:\u00e4ss"))
IDENTITY = login_for(Credential("secret b", identity_token="refresh-me"))
BASIC = "Basic " + base64.b64encode("us\u00e9r:p:\u00e4ss".encode()).decode()


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tokens, "time", clock)
    return clock


@pytest.fixture
async def source(transport: Transport) -> AsyncIterator[TokenSource]:
    source = TokenSource(transport)
    yield source
    await source.close()


@pytest.fixture
def scope(registry: ScriptedRegistry) -> TokenScope:
    return TokenScope(
        "registry.test", URL(f"{registry.url}/token"), "svc", "repository:team/app:pull"
    )


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


@pytest.mark.parametrize(
    ("expires_in", "good_until", "expired_at"),
    [
        (300, 1289, 1290),
        (60, 1053, 1054),
        (3600, 4589, 4590),
        (10**12, 87389, 87390),
        # One minute unless more is promised.
        (None, 1053, 1054),
        (0, 1053, 1054),
        (-5, 1053, 1054),
        (5, 1053, 1054),
        ("300", 1053, 1054),
        (True, 1053, 1054),
        (float("nan"), 1053, 1054),
    ],
)
async def test_expiry(
    registry: ScriptedRegistry,
    source: TokenSource,
    scope: TokenScope,
    clock: Clock,
    expires_in: object,
    good_until: float,
    expired_at: float,
) -> None:
    """On our own clock: what the server says of its own time does not matter."""
    issued = "2001-01-01T00:00:00Z"
    registry.on("GET", "/token", token("a", expires_in=expires_in, issued_at=issued), token("b"))
    assert (await source.get(scope, ANONYMOUS)).used is False
    clock.now = good_until
    kept = await source.get(scope, ANONYMOUS)
    assert (kept.value, kept.used) == ("a", True)
    clock.now = expired_at
    assert (await source.get(scope, ANONYMOUS)).value == "b"


async def test_tokens_are_kept_apart_by_all_they_depend_on(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    """B10: nobody gets a token that another's credential, or another registry, has earned."""
    registry.on("GET", "/token", *(token(str(number)) for number in range(10)))
    other = login_for(Credential("secret a", username="us\u00e9r", password="other"))
    same = login_for(Credential("another name", username="us\u00e9r", password="p:\u00e4ss"))
    keys = [
        (scope, ANONYMOUS),
        (scope, USER),
        (scope, other),
        (replace(scope, registry="elsewhere.test"), USER),
        (replace(scope, scope="repository:team/other:pull"), USER),
        (replace(scope, service="else"), USER),
    ]
    values = [(await source.get(*key)).value for key in keys]
    assert len(set(values)) == len(keys)
    assert (await source.get(scope, same)).value == values[1]


async def test_callers_share_one_exchange_that_outlives_them(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    hold = asyncio.Event()
    registry.on("GET", "/token", replace(token("abc"), hold=hold))
    tasks = [asyncio.create_task(source.get(scope, USER)) for _ in range(5)]
    await registry.asked(1)
    tasks[0].cancel()
    hold.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert {getattr(one, "value", None) for one in found[1:]} == {"abc"}
    assert len(registry.seen) == 1


async def test_only_the_refused_token_is_dropped(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    registry.on("GET", "/token", token("a"), token("b"))
    await source.get(scope, USER)
    source.drop(scope, USER, "older")
    assert (await source.get(scope, USER)).value == "a"
    source.drop(scope, USER, "a")
    assert (await source.get(scope, USER)).value == "b"


async def test_a_wrong_password_is_tried_once_for_all_scopes(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope, clock: Clock
) -> None:
    """B10: or an account gets locked."""
    registry.on("GET", "/token", errors(401, "UNAUTHORIZED", "incorrect password"))
    for repository in ("app", "app", "other"):
        with pytest.raises(DeniedError, match="incorrect password"):
            await source.get(replace(scope, scope=repository), USER)
    assert len(registry.seen) == 1
    clock.now += 45
    with pytest.raises(DeniedError):
        await source.get(scope, USER)
    assert len(registry.seen) == 2


@pytest.mark.parametrize(
    ("status", "login"), [(400, USER), (403, USER), (400, ANONYMOUS), (401, ANONYMOUS)]
)
async def test_a_denied_scope_says_nothing_about_others(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope, status: int, login: Login
) -> None:
    """B8: some registries deny at the token service already; their words are kept."""

    def answer(seen: Seen) -> Reply:
        allowed = ("scope", "repository:team/app:pull") in seen.query
        return token() if allowed else errors(status, "DENIED", "(or it may not exist)")

    registry.on("GET", "/token", answer)
    for _ in range(2):
        with pytest.raises(DeniedError) as caught:
            await source.get(replace(scope, scope="repository:team/other:pull"), login)
        assert caught.value.text == "(or it may not exist)"
    await source.get(scope, login)
    assert len(registry.seen) == 2


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


async def test_nothing_shows_a_token(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    """B10."""
    registry.on("GET", "/token", token("s3cret"))
    kept = await source.get(scope, USER)
    shown = repr([kept, USER, IDENTITY, list(source._kept._entries.items())])
    for secret in ("s3cret", "refresh-me", BASIC.removeprefix("Basic "), "\u00e4ss"):
        assert secret not in shown
