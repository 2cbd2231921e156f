import pytest

from imagerefresh.registry import Credential
from imagerefresh.registry.login import ANONYMOUS, login_for
from imagerefresh.registry.outcomes import DeniedError, RegistryError, TroubleReason
from unit.registry.asking import BASIC, SCOPE, USER, Asker, guarded
from unit.registry.scripted import Reply, ScriptedRegistry, challenge, errors, token


async def test_a_registry_that_asks_for_nothing_gets_nothing(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    """B10: no credential before a challenge; and no ping."""
    registry.on("GET", "/x", Reply(200, (), b"ok"))
    assert (await ask(USER)).body == b"ok"
    (seen,) = registry.seen
    assert seen.authorization is None
    assert len(ask.sent) == 1


async def test_bearer_is_learnt_once_and_then_brought_along(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    registry.on("GET", "/x", guarded(registry.bearer(scope=SCOPE), "Bearer abc"))
    registry.on("GET", "/token", token("abc"))
    assert (await ask(USER)).status == 200
    assert (await ask(USER)).status == 200
    assert registry.methods() == ["GET /x", "GET /token", "GET /x", "GET /x"]
    assert [seen.authorization for seen in registry.seen] == [
        None,
        BASIC,
        "Bearer abc",
        "Bearer abc",
    ]
    assert len(ask.sent) == 3  # the token's request tells nothing about the question


async def test_the_scope_is_the_challenged_one(registry: ScriptedRegistry, ask: Asker) -> None:
    """ACR wants `metadata_read` for some things; what was challenged once is asked at once."""
    registry.on(
        "GET", "/x", guarded(registry.bearer(scope="other:scope:metadata_read"), "Bearer abc")
    )
    registry.on("GET", "/token", token("abc"))
    await ask()
    await ask(USER)
    scopes = [dict(seen.query)["scope"] for seen in registry.seen if seen.path == "/token"]
    assert scopes == ["other:scope:metadata_read"] * 2
    assert registry.methods()[3:] == ["GET /token", "GET /x"]


async def test_without_a_challenged_scope_the_usual_one_is_asked(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    registry.on("GET", "/x", guarded(registry.bearer(), "Bearer abc"))
    registry.on("GET", "/token", token("abc"))
    await ask()
    assert dict(registry.seen[1].query)["scope"] == SCOPE


async def test_a_demand_is_the_guess_for_the_next_repository(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    registry.on("GET", "/x", guarded(registry.bearer(scope=SCOPE), "Bearer abc"))
    registry.on("GET", "/token", token("abc"))
    await ask()
    await ask(scope="repository:team/other:pull")
    assert registry.methods()[3:] == ["GET /token", "GET /x"]
    assert dict(registry.seen[3].query)["scope"] == "repository:team/other:pull"


async def test_a_denied_guess_lets_the_registry_speak_for_itself(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    """The usual scope is only a guess, and one repository may be open to all."""
    registry.on("GET", "/x", guarded(registry.bearer(scope="a:b:c"), "Bearer abc"))
    registry.on(
        "GET",
        "/token",
        lambda seen: token("abc") if ("scope", "a:b:c") in seen.query else Reply(403),
    )
    await ask(scope="repository:team/first:pull")
    registry.seen.clear()
    assert (await ask(scope="repository:team/second:pull")).status == 200
    assert registry.methods() == ["GET /token", "GET /x", "GET /x"]  # the token for a:b:c is kept
    registry.on("GET", "/x", Reply(200, (), b"open"))
    assert (await ask(scope="repository:team/third:pull")).body == b"open"


async def test_a_token_service_that_has_moved_is_found_again(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    registry.on("GET", "/x", guarded(registry.bearer(), "Bearer abc"))
    registry.on("GET", "/token", token("abc", expires_in=60), Reply(404))
    await ask()
    registry.on("GET", "/x", guarded(registry.bearer(realm=f"{registry.url}/new"), "Bearer new"))
    registry.on("GET", "/new", token("new"))
    with pytest.raises(RegistryError, match="HTTP 404"):
        await ask(USER)
    assert (await ask(USER)).status == 200


async def test_from_bearer_to_basic(registry: ScriptedRegistry, ask: Asker) -> None:
    registry.on("GET", "/x", guarded(registry.bearer(scope="a:b:c"), "Bearer abc"))
    registry.on("GET", "/token", token("abc"))
    await ask(USER)
    registry.on("GET", "/x", guarded(challenge("Basic realm=x"), BASIC))
    assert (await ask(USER)).status == 200
    registry.seen.clear()
    assert (await ask(USER)).status == 200
    assert [seen.authorization for seen in registry.seen] == [BASIC]


@pytest.mark.parametrize("expired", [Reply(400), Reply(401), None])
async def test_an_expired_token_is_renewed_once(
    registry: ScriptedRegistry, ask: Asker, expired: Reply | None
) -> None:
    """ECR Public says 400 without a challenge; what was demanded before is known."""
    registry.on("GET", "/x", guarded(registry.bearer(), "Bearer a"))
    registry.on("GET", "/token", token("a"), token("b"))
    await ask(USER)
    registry.on("GET", "/x", guarded(expired or registry.bearer(), "Bearer b"))
    registry.seen.clear()
    assert (await ask(USER)).status == 200
    assert registry.methods() == ["GET /x", "GET /token", "GET /x"]
    assert registry.seen[-1].authorization == "Bearer b"


async def test_a_request_is_authorised_anew_at_most_once(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    registry.on("GET", "/x", registry.bearer())
    registry.on("GET", "/token", token())
    assert (await ask(USER)).status == 401
    assert registry.methods() == ["GET /x", "GET /token", "GET /x"]
    registry.seen.clear()
    assert (await ask(USER)).status == 401
    assert registry.methods() == ["GET /x", "GET /token", "GET /x"]


async def test_a_fresh_token_that_is_refused_is_not_asked_for_again(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    registry.on("GET", "/x", registry.bearer(scope=SCOPE))
    registry.on("GET", "/token", token())
    await ask()
    registry.seen.clear()
    assert (await ask(USER)).status == 401
    assert registry.methods() == ["GET /token", "GET /x"]


async def test_another_realm_replaces_the_known_one(registry: ScriptedRegistry, ask: Asker) -> None:
    registry.on("GET", "/x", guarded(registry.bearer(), "Bearer a"))
    registry.on("GET", "/token", token("a"))
    await ask()
    moved = registry.bearer(realm=f"{registry.url}/new")
    registry.on("GET", "/x", guarded(moved, "Bearer b"))
    registry.on("GET", "/new", token("b"))
    assert (await ask()).status == 200
    registry.seen.clear()
    assert (await ask()).status == 200
    assert registry.methods() == ["GET /x"]


async def test_400_without_a_kept_token_is_just_that(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    registry.on("GET", "/x", Reply(400))
    assert (await ask(USER)).status == 400
    assert registry.methods() == ["GET /x"]


@pytest.mark.parametrize(
    "values",
    [
        ('Basic realm="x"',),
        ("Negotiate", 'BASIC realm="x"'),
        ('Bearer realm="http://internal.svc/token"', 'Basic realm="x"'),
        ("Bearer error=x, Basic realm=x",),
    ],
)
async def test_basic(registry: ScriptedRegistry, ask: Asker, values: tuple[str, ...]) -> None:
    """Where there is no Bearer challenge that can be used."""
    registry.on("GET", "/x", guarded(challenge(*values), BASIC))
    assert (await ask(USER)).status == 200
    assert (await ask(USER)).status == 200
    assert [seen.authorization for seen in registry.seen] == [None, BASIC, BASIC]
    assert (await ask(ANONYMOUS)).status == 401
    assert [seen.authorization for seen in registry.seen[3:]] == [None]


async def test_bearer_comes_before_basic(registry: ScriptedRegistry, ask: Asker) -> None:
    (bearer,) = registry.bearer().headers
    registry.on("GET", "/x", guarded(challenge('Basic realm="x"', bearer[1]), "Bearer abc"))
    registry.on("GET", "/token", token("abc"))
    assert (await ask(USER)).status == 200


async def test_a_refused_password_is_sent_once(registry: ScriptedRegistry, ask: Asker) -> None:
    registry.on("GET", "/x", challenge("Basic realm=x"))
    assert (await ask(USER)).status == 401
    assert (await ask(USER)).status == 401
    assert [seen.authorization for seen in registry.seen] == [None, BASIC, BASIC]


async def test_registry_token_is_sent_as_it_is(registry: ScriptedRegistry, ask: Asker) -> None:
    registry.on("GET", "/x", guarded(registry.bearer(), "Bearer mine"))
    login = login_for(Credential("c", registry_token="mine"))
    assert (await ask(login)).status == 200
    assert registry.methods() == ["GET /x", "GET /x"]
    unwritable = login_for(Credential("c", registry_token="mi\nne"))
    registry.on("GET", "/token", token("else"))
    assert (await ask(unwritable)).status == 401


async def test_unsupported_schemes_are_named(registry: ScriptedRegistry, ask: Asker) -> None:
    registry.on("GET", "/x", challenge("Negotiate", "NTLM"))
    with pytest.raises(RegistryError, match="negotiate, ntlm") as caught:
        await ask(USER)
    assert caught.value.reason is TroubleReason.RegistryMisconfigured


async def test_401_without_a_challenge_is_a_refusal(registry: ScriptedRegistry, ask: Asker) -> None:
    """The registry is asked for one where it is bound to have one, but not each time."""
    registry.on("GET", "/x", errors(401, "UNAUTHORIZED", "no"))
    for login in (USER, ANONYMOUS):
        assert (await ask(login)).status == 401
    assert registry.methods() == ["GET /x", "GET /v2/", "GET /x"]
    assert [seen.authorization for seen in registry.seen] == [None] * 3


async def test_a_challenge_may_be_found_at_the_base_only(
    registry: ScriptedRegistry, ask: Asker
) -> None:
    """The OCI distribution specification wants one there; the scope is then ours."""
    registry.on("GET", "/x", guarded(Reply(401), "Bearer abc"))
    registry.on("GET", "/v2/", registry.bearer())
    registry.on("GET", "/token", token("abc"))
    for _ in range(2):
        assert (await ask(USER)).status == 200
    assert registry.methods() == ["GET /x", "GET /v2/", "GET /token", "GET /x", "GET /x"]
    assert ("scope", SCOPE) in registry.seen[2].query
    assert registry.seen[1].authorization is None
    assert len(ask.sent) == 3  # that was none of the requests in question


async def test_the_base_of_a_registry_is_not_looked_for_elsewhere(
    registry: ScriptedRegistry, other: ScriptedRegistry, ask: Asker
) -> None:
    """B10: whoever a redirect leads to has no say in how the registry is logged in to."""
    registry.on("GET", "/x", Reply(401))
    registry.on("GET", "/v2/", Reply(307, (("Location", f"{other.url}/v2/"),)))
    other.on("GET", "/v2/", other.bearer())
    assert (await ask(USER)).status == 401
    assert not any(seen.authorization for seen in (*registry.seen, *other.seen))
    assert "GET /token" not in other.methods()


async def test_a_denial_at_the_token_service(registry: ScriptedRegistry, ask: Asker) -> None:
    """B8."""
    registry.on("GET", "/x", registry.bearer())
    registry.on("GET", "/token", errors(403, "DENIED", "requested access is denied"))
    with pytest.raises(DeniedError, match="requested access is denied"):
        await ask(USER)
