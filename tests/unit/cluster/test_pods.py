"""Listing the pods of a target, where that is allowed (B15, B28)."""

import asyncio

import pytest

from imagerefresh.cluster.connection import Connection
from imagerefresh.cluster.errors import ClusterError
from imagerefresh.cluster.pods import PERMISSION_HOLDS, Pods, label_selector
from unit.cluster.scripted import ScriptedServer, says, status

SELECTOR = {"matchLabels": {"app": "web"}}
ALLOWED = says(201, {"status": {"allowed": True}})
DENIED = says(201, {"status": {"allowed": False}})
POD = {"metadata": {"name": "web-1"}}
FOUND = says(200, {"items": [POD]})
FORBIDDEN = says(
    403, status(403, 'pods is forbidden: User "it" cannot list resource "pods" in API group ""')
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pods(connection: Connection, clock: Clock) -> Pods:
    return Pods(connection, clock)


def paths(server: ScriptedServer) -> list[str]:
    return [f"{request.method} {request.path.rpartition('/')[2]}" for request in server.requests]


async def test_pods_are_listed_if_that_is_allowed(server: ScriptedServer, pods: Pods) -> None:
    server.answers = [ALLOWED, FOUND]
    assert await pods.find("shop", SELECTOR) == [POD]
    assert paths(server) == ["POST selfsubjectaccessreviews", "GET pods"]
    asked = server.bodies[0]["spec"]["resourceAttributes"]
    assert (asked["namespace"], asked["verb"], asked["resource"]) == ("shop", "list", "pods")
    assert server.requests[1].path == "/api/v1/namespaces/shop/pods"
    assert server.requests[1].query["labelSelector"] == "app=web"


async def test_nothing_is_tried_that_is_not_allowed(server: ScriptedServer, pods: Pods) -> None:
    """B28: no forbidden request."""
    server.answers = [DENIED]
    assert await pods.find("shop", SELECTOR) is None
    assert await pods.find("shop", SELECTOR) is None
    assert paths(server) == ["POST selfsubjectaccessreviews"]


async def test_a_permission_is_asked_for_again_after_a_while(
    server: ScriptedServer, pods: Pods, clock: Clock
) -> None:
    server.answers = [DENIED, ALLOWED, FOUND, FOUND]
    assert await pods.find("shop", SELECTOR) is None
    clock.now += PERMISSION_HOLDS
    assert await pods.find("shop", SELECTOR) == [POD]
    assert await pods.find("shop", SELECTOR) == [POD]
    assert paths(server).count("POST selfsubjectaccessreviews") == 2


async def test_policies_that_prove_at_the_same_moment_ask_once(
    server: ScriptedServer, pods: Pods
) -> None:
    server.answers = [DENIED]
    assert await asyncio.gather(*(pods.find("shop", SELECTOR) for _ in range(9))) == [None] * 9
    assert len(server.requests) == 1


async def test_each_namespace_has_its_own(server: ScriptedServer, pods: Pods) -> None:
    server.answers = [DENIED, ALLOWED, FOUND]
    assert await pods.find("shop", SELECTOR) is None
    assert await pods.find("other", SELECTOR) == [POD]


async def test_a_permission_that_was_taken_away_is_noticed(
    server: ScriptedServer, pods: Pods
) -> None:
    server.answers = [ALLOWED, FORBIDDEN]
    assert await pods.find("shop", SELECTOR) is None
    assert await pods.find("shop", SELECTOR) is None
    assert len(server.requests) == 2


async def test_where_nobody_may_ask_nothing_is_allowed(server: ScriptedServer, pods: Pods) -> None:
    server.answers = [FORBIDDEN]
    assert await pods.find("shop", SELECTOR) is None
    assert len(server.requests) == 1


async def test_an_api_server_in_trouble_says_nothing_about_pods(
    server: ScriptedServer, pods: Pods
) -> None:
    """B29: the run is broken off, and nothing recorded by chance."""
    server.answers = [ALLOWED, says(500, status(500, "etcd is down"))]
    with pytest.raises(ClusterError, match="etcd is down"):
        await pods.find("shop", SELECTOR)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"matchLabels": {"app": "web", "tier": "front"}}, "app=web,tier=front"),
        (
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["a", "b"]},
                    {"key": "zone", "operator": "NotIn", "values": ["x"]},
                    {"key": "live", "operator": "Exists"},
                    {"key": "old", "operator": "DoesNotExist"},
                ],
            },
            "app=web,tier in (a,b),zone notin (x),live,!old",
        ),
        ({}, ""),
    ],
)
def test_a_label_selector_is_written_as_a_list_takes_it(selector: object, text: str) -> None:
    assert isinstance(selector, dict)
    assert label_selector(selector) == text
