import asyncio
from dataclasses import dataclass, replace

import pytest

from imagerefresh.registry import Credential, tokens
from imagerefresh.registry.login import ANONYMOUS, Login, login_for
from imagerefresh.registry.outcomes import DeniedError
from imagerefresh.registry.tokens import TokenScope, TokenSource
from unit.registry.asking import BASIC, IDENTITY, USER
from unit.registry.scripted import Reply, ScriptedRegistry, Seen, errors, token


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


async def test_nothing_shows_a_token(
    registry: ScriptedRegistry, source: TokenSource, scope: TokenScope
) -> None:
    """B10."""
    registry.on("GET", "/token", token("s3cret"))
    kept = await source.get(scope, USER)
    shown = repr([kept, USER, IDENTITY, list(source._kept._entries.items())])
    for secret in ("s3cret", "refresh-me", BASIC.removeprefix("Basic "), "\u00e4ss"):
        assert secret not in shown
