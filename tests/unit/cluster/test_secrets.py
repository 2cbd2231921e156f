"""Reading pull secrets and ServiceAccounts, and what stands in the way (B10)."""

import asyncio
import base64

import pytest

from imagerefresh.cluster.connection import Connection
from imagerefresh.cluster.errors import ClusterError
from imagerefresh.cluster.secrets import KEPT_FOR, PullSecret, PullSecrets, Unreadable, secret_names
from unit.cluster.scripted import ScriptedServer, says, status

CONTENT = b'{"auths": {}}'
FORBIDDEN = status(
    403, 'secrets "regcred" is forbidden: User "it" cannot get resource "secrets" in API group ""'
)
RIGHT = "the right to get secrets named regcred (see deploy/components/pull-secrets)"
TYPES = "kubernetes.io/dockercfg or kubernetes.io/dockerconfigjson"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def secrets(connection: Connection, clock: Clock) -> PullSecrets:
    return PullSecrets(connection, clock)


def secret(content: bytes = CONTENT, kind: str = "dockerconfigjson") -> dict[str, object]:
    data = {f".{kind}": base64.b64encode(content).decode()}
    return {"type": f"kubernetes.io/{kind}", "data": data}


def paths(server: ScriptedServer) -> list[str]:
    return [f"{request.method} {request.path}" for request in server.requests]


@pytest.mark.parametrize("kind", ["dockerconfigjson", "dockercfg"])
async def test_the_content_of_a_secret(
    server: ScriptedServer, secrets: PullSecrets, kind: str
) -> None:
    server.answers = [says(200, secret(kind=kind))]
    found = await secrets.secret("shop", "regcred", 1000.0)
    assert found == PullSecret(CONTENT, is_legacy=kind == "dockercfg")
    assert paths(server) == ["GET /api/v1/namespaces/shop/secrets/regcred"]


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        (404, status(404, "not found"), 'secret "regcred" does not exist'),
        (
            403,
            FORBIDDEN,
            f'secret "regcred" may not be read: the operator needs {RIGHT}',
        ),
        (
            400,
            status(400, "no"),
            'secret "regcred" can\'t be read: no (HTTP 400)',
        ),
        (
            200,
            {"data": {".dockerconfigjson": "e30="}},
            f'secret "regcred" is of type Opaque: a pull secret is of type {TYPES}',
        ),
        (
            200,
            {"type": "kubernetes.io/dockerconfigjson"},
            'secret "regcred" has nothing under the key .dockerconfigjson',
        ),
        (
            200,
            {"type": "kubernetes.io/dockercfg", "data": {".dockerconfigjson": "e30="}},
            'secret "regcred" has nothing under the key .dockercfg',
        ),
        (
            200,
            {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "?"}},
            'secret "regcred" can\'t be decoded',
        ),
    ],
)
async def test_what_cannot_be_used_is_named(
    server: ScriptedServer, secrets: PullSecrets, code: int, body: object, message: str
) -> None:
    server.answers = [says(code, body)]
    found = await secrets.secret("shop", "regcred", 1000.0)
    assert found == Unreadable(message, is_missing=code == 404)


@pytest.mark.parametrize("code", [401, 429, 500, 503])
async def test_an_api_server_in_trouble_is_no_trouble_of_the_secret(
    server: ScriptedServer, secrets: PullSecrets, code: int
) -> None:
    """B29: the run is broken off, and the next question is asked anew."""
    server.answers = [says(code)]
    with pytest.raises(ClusterError):
        await secrets.secret("shop", "regcred", 1000.0)
    server.answers = [says(200, secret())]
    assert await secrets.secret("shop", "regcred", 1000.0) == PullSecret(CONTENT)


async def test_the_secrets_of_a_service_account(
    server: ScriptedServer, secrets: PullSecrets
) -> None:
    server.answers = [says(200, {"imagePullSecrets": [{"name": "one"}, {}, {"name": "two"}]})]
    assert await secrets.account_secrets("shop", "default", 1000.0) == ("one", "two")
    assert paths(server) == ["GET /api/v1/namespaces/shop/serviceaccounts/default"]


async def test_a_service_account_may_have_none_or_be_out_of_reach(
    server: ScriptedServer, secrets: PullSecrets
) -> None:
    server.answers = [
        says(200, {"imagePullSecrets": None}),
        says(404, status(404, "not found")),
        says(403, FORBIDDEN),
    ]
    assert await secrets.account_secrets("shop", "a", 1000.0) == ()
    missing = await secrets.account_secrets("shop", "b", 1000.0)
    assert missing == Unreadable('ServiceAccount "b" does not exist', is_missing=True)
    assert isinstance(await secrets.account_secrets("shop", "c", 1000.0), Unreadable)


async def test_policies_of_one_turn_share_a_request(
    server: ScriptedServer, secrets: PullSecrets, clock: Clock
) -> None:
    """B27: also when they ask at the same time; and refusals are shared, too."""
    server.answers = [says(404, status(404, "not found")), says(200, secret())]
    asked = [secrets.secret("shop", "regcred", 1000.0) for _ in range(5)]
    assert len(set(await asyncio.gather(*asked))) == 1
    clock.now += 5
    assert isinstance(await secrets.secret("shop", "regcred", 1000.0), Unreadable)
    assert len(server.requests) == 1


async def test_the_next_turn_sees_a_change(
    server: ScriptedServer, secrets: PullSecrets, clock: Clock
) -> None:
    server.answers = [says(200, secret(b"old")), says(200, secret(b"new"))]
    assert await secrets.secret("shop", "regcred", 1000.0) == PullSecret(b"old")
    clock.now += 10
    assert await secrets.secret("shop", "regcred", 1010.0) == PullSecret(b"new")


async def test_nobody_gets_the_answer_for_another(
    server: ScriptedServer, secrets: PullSecrets
) -> None:
    """Not one of another namespace above all."""
    server.answers = [says(200, secret()), says(404, status(404, "not found"))]
    await secrets.secret("shop", "regcred", 1000.0)
    assert isinstance(await secrets.secret("other", "regcred", 1000.0), Unreadable)
    assert isinstance(await secrets.secret("shop", "other", 1000.0), Unreadable)
    assert isinstance(await secrets.account_secrets("shop", "regcred", 1000.0), Unreadable)


async def test_answers_are_not_kept_for_long(
    server: ScriptedServer, secrets: PullSecrets, clock: Clock
) -> None:
    """They may hold credentials."""
    server.answers = [says(200, secret())]
    await secrets.secret("shop", "regcred", 1000.0)
    clock.now += KEPT_FOR + 1
    await secrets.secret("shop", "other", 1000.0)
    await secrets.secret("shop", "regcred", 1000.0)
    assert len(server.requests) == 3


def test_nothing_of_a_secret_is_in_a_repr() -> None:
    assert "auths" not in repr(PullSecret(CONTENT))


def test_secret_names_of_a_pod() -> None:
    assert secret_names({}) == ()
    assert secret_names({"imagePullSecrets": [{"name": "a"}, {"name": ""}]}) == ("a",)
