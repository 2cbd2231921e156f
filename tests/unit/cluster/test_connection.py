import asyncio
import contextlib
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes_asyncio.client.configuration import Configuration

from imagerefresh.cluster import connection as module
from imagerefresh.cluster.connection import Connection, Heartbeat
from imagerefresh.cluster.errors import (
    ClusterError,
    NotConfigured,
    Throttled,
    Unauthorized,
    Unavailable,
)
from unit.cluster.scripted import (
    Answer,
    ScriptedServer,
    hangs,
    hangs_up,
    says,
    status,
    write_kubeconfig,
)

UNAUTHORIZED = says(401, status(401, "Unauthorized"))


def accepts(token: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        is_known = request.headers.get("Authorization") == f"Bearer {token}"
        return await (says(200, {"kind": "It"}) if is_known else UNAUTHORIZED)(request)

    return answer


async def test_the_token_of_the_file_is_sent_without_its_newline(
    server: ScriptedServer, connection: Connection
) -> None:
    await connection.request("GET", "/apis")
    assert server.authorizations == ["Bearer first-token"]
    assert server.requests[0].headers["User-Agent"].startswith("imagerefresh/")


async def test_a_rotated_token_is_read_again_and_the_request_repeated_once(
    server: ScriptedServer, connection: Connection
) -> None:
    """B29: 401 reads the rotated token again."""
    server.answers = [accepts("second-token")]
    server.token_file.write_text("second-token")
    assert await connection.request("PATCH", "/x", body={"a": 1}) == {"kind": "It"}
    assert server.authorizations == ["Bearer first-token", "Bearer second-token"]
    assert connection.heartbeat.failing_for() == 0
    await connection.request("GET", "/x")
    assert server.authorizations[2:] == ["Bearer second-token"]


async def test_a_token_that_stays_refused_is_tried_twice_and_not_shown(
    server: ScriptedServer, connection: Connection
) -> None:
    server.answers = [UNAUTHORIZED]
    with pytest.raises(Unauthorized) as raised:
        await connection.request("GET", "/x")
    assert server.authorizations == ["Bearer first-token"] * 2
    assert "first-token" not in f"{raised.value!r} {connection!r}"


async def test_a_token_file_that_is_gone_is_said(
    server: ScriptedServer, connection: Connection
) -> None:
    server.answers = [UNAUTHORIZED]
    server.token_file.unlink()
    with pytest.raises(Unauthorized, match="can't read the token again"):
        await connection.request("GET", "/x")


async def test_a_token_of_another_server_is_not_sent_to_this_one(
    server: ScriptedServer, connection: Connection
) -> None:
    server.answers = [UNAUTHORIZED]
    write_kubeconfig(server.kubeconfig, {"server": "http://127.0.0.1:1"}, {"token": "others"})
    with pytest.raises(Unauthorized, match="another server"):
        await connection.request("GET", "/x")
    assert server.authorizations == ["Bearer first-token"]


async def test_many_requests_with_an_old_token_read_it_again_once(
    server: ScriptedServer, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = 0
    load = connection._load

    async def counting() -> Configuration:
        nonlocal loads
        loads += 1
        return await load()

    monkeypatch.setattr(connection, "_load", counting)
    server.answers = [accepts("second-token")]
    server.token_file.write_text("second-token")
    await asyncio.gather(*(connection.request("GET", f"/{n}") for n in range(20)))
    assert loads == 1


async def test_throttling_is_handed_on_with_the_wait_that_the_server_wants(
    server: ScriptedServer, connection: Connection
) -> None:
    """B29: 429 and Retry-After are honoured, so not answered with another request."""
    server.answers = [says(429, status(429, "slow down"), {"Retry-After": "7"})]
    with pytest.raises(Throttled, match="slow down") as raised:
        await connection.request("GET", "/x")
    assert raised.value.retry_after == 7
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [says(503, "<html>proxy</html>"), hangs_up, says(200, "no JSON"), says(200, "[1]")],
    ids=["503", "hang-up", "text", "list"],
)
async def test_trouble_of_the_server_is_unavailable(
    server: ScriptedServer, connection: Connection, answer: Answer
) -> None:
    server.answers = [answer]
    with pytest.raises(Unavailable):
        await connection.request("PATCH", "/x", body={})
    assert len(server.requests) == 1


async def test_a_server_that_does_not_answer_in_time_is_unavailable(
    server: ScriptedServer, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REQUEST_TIMEOUT", 0.05)
    server.answers = [hangs]
    with pytest.raises(Unavailable, match="no answer"):
        await connection.request("GET", "/x")


async def test_nobody_at_the_address_is_unavailable(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    write_kubeconfig(kubeconfig, {"server": "http://127.0.0.1:1"}, {"token": "hush"})
    connection = await Connection.open(kubeconfig=str(kubeconfig))
    try:
        with pytest.raises(Unavailable, match="can't reach the API server") as raised:
            await connection.request("GET", "/x")
    finally:
        await connection.close()
    assert "hush" not in str(raised.value)


async def test_each_request_is_counted_with_its_outcome(server: ScriptedServer) -> None:
    counted: list[tuple[str, str]] = []
    connection = await Connection.open(
        kubeconfig=str(server.kubeconfig),
        on_request=lambda verb, code: counted.append((verb, code)),
    )
    server.answers = [says(200), UNAUTHORIZED, says(404), hangs_up]
    try:
        await connection.request("GET", "/x")
        for _ in range(2):
            with pytest.raises(ClusterError):
                await connection.request("PATCH", "/x", body={})
    finally:
        await connection.close()
    assert counted == [
        ("GET", "200"),
        ("PATCH", "401"),
        ("PATCH", "404"),
        ("PATCH", "unreachable"),
    ]


async def test_proxies_and_netrc_of_the_environment_are_left_alone(
    server: ScriptedServer,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    await connection.request("GET", "/x")
    assert server.authorizations == ["Bearer first-token"]


@pytest.mark.parametrize(
    "content", [None, "", "{", "users: [{name: it, user: {token: hush}}]", "[hush]"]
)
async def test_without_a_usable_configuration_it_says_where_it_looked(
    tmp_path: Path, content: str | None
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    if content is not None:
        kubeconfig.write_text(content)
    with pytest.raises(NotConfigured) as raised:
        await Connection.open(kubeconfig=str(kubeconfig))
    assert str(kubeconfig) in str(raised.value)
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "is_alive"),
    [
        (says(200), True),
        (says(403, status(403, "no")), True),
        (says(404), True),
        (says(409), True),
        (says(429), True),
        (UNAUTHORIZED, False),
        (says(500), False),
        (hangs_up, False),
    ],
)
async def test_a_refusal_is_a_sign_of_life_and_an_outage_is_none(
    server: ScriptedServer, connection: Connection, answer: Answer, *, is_alive: bool
) -> None:
    """B29."""
    server.answers = [answer]
    for _ in range(2):
        with contextlib.suppress(ClusterError):
            await connection.request("GET", "/x")
    assert (connection.heartbeat.failing_for() == 0) is is_alive
    assert (connection.heartbeat.last_success is not None) is is_alive


async def test_nothing_can_be_had_from_a_closed_connection(connection: Connection) -> None:
    """B29: a run that outlives it while all begins anew is broken off, without a traceback."""
    await connection.close()
    with pytest.raises(Unavailable, match="closed"):
        await connection.request("GET", "/x")
    assert connection.heartbeat.failing_for() == 0


def test_the_heartbeat_measures_from_the_first_to_the_latest_failure() -> None:
    """B29: no success for five minutes; but a quiet process, that makes no calls, is alive."""
    heartbeat = Heartbeat()
    assert heartbeat.failing_for() == 0
    heartbeat.succeeded(100)
    heartbeat.failed(200)
    assert heartbeat.failing_for() == 0
    heartbeat.failed(350)
    heartbeat.failed(510)
    assert heartbeat.failing_for() == 310
    heartbeat.succeeded(511)
    assert heartbeat.failing_for() == 0
    assert heartbeat.last_success == 511
