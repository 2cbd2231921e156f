"""What running pods say about a digest (B15)."""

from typing import Final

import pytest

from imagerefresh.plan.evidence import Evidence, broken_pod, running_digests, weigh
from unit.plan.builders import D1, D2, D3, Json, a_target
from unit.plan.pods import HASH, a_member, a_pod

DEPLOYMENT: Final = a_target()


def seen(*pods: Json, target: Json = DEPLOYMENT) -> list[str | None]:
    return running_digests(target, pods, {"web"})


@pytest.mark.parametrize(
    ("image_id", "expected"),
    [
        (f"registry.example.com/example/web@{D1}", D1),
        (f"mirror.example.com:5000/other@{D1}", D1),
        (f"docker-pullable://example/web@{D1}", D1),
        (f"docker://{D1}", D1),
        (D1, D1),
        ("", None),
        ("registry.example.com/example/web:prod", None),
        ("sha256:short", None),
    ],
)
def test_a_digest_is_found_in_an_image_id_whatever_its_form(
    image_id: str, expected: str | None
) -> None:
    assert seen(a_pod(image_id)) == [expected]


def test_init_containers_are_looked_at_too() -> None:
    assert seen(a_pod(part="initContainerStatuses")) == [D1]


@pytest.mark.parametrize(
    "other",
    [
        a_pod(D2, container="side"),
        a_pod(D2, phase="Pending"),
        a_pod(D2, phase="Failed"),
        a_pod(D2, deletionTimestamp="2026-02-03T12:00:00Z"),
        a_pod(D2, owner=[]),
        a_pod(D2, owner=[{"kind": "ReplicaSet", "name": f"web-{HASH}", "uid": "r"}]),
        a_pod(
            D2,
            owner=[{"kind": "ReplicaSet", "name": f"other-{HASH}", "uid": "o", "controller": True}],
        ),
        a_pod(D2, owner=[{"kind": "Job", "name": f"web-{HASH}", "uid": "j", "controller": True}]),
    ],
    ids=[
        "container",
        "not yet",
        "not any more",
        "ends",
        "nobody's",
        "owned, not controlled",
        "another's",
        "a job's",
    ],
)
def test_other_pods_say_nothing(other: Json) -> None:
    assert seen(a_pod(), other) == [D1]


def test_pods_of_two_templates_of_a_deployment_say_nothing() -> None:
    """Which of them is the present one can't be told."""
    old = {"kind": "ReplicaSet", "name": "web-old", "uid": "r0", "controller": True}
    assert seen(a_pod(), a_pod(D2, labels={"pod-template-hash": "old"}, owner=[old])) == []


@pytest.mark.parametrize(("kind", "expected"), [("StatefulSet", [D1]), ("DaemonSet", [])])
def test_a_stateful_set_says_which_template_is_the_present_one(
    kind: str, expected: list[str]
) -> None:
    target = {**DEPLOYMENT, "kind": kind, "status": {"updateRevision": "web-2"}}
    pods = a_member(kind, "web-2"), a_member(kind, "web-1", D2)
    assert seen(*pods, target=target) == expected
    assert seen(pods[0], target=target) == [D1]


def test_a_pod_without_status_is_not_looked_at() -> None:
    bare = {"metadata": {"name": "web-1"}}
    assert seen(bare, a_pod()) == [D1]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([a_member("StatefulSet", "web-1", name=f"web-{each}") for each in (10, 9)], "web-9"),
        ([a_member("StatefulSet", "web-2", name="web-0")], None),
        ([a_member("StatefulSet", "web-1", name="web-0", is_ready=True)], None),
        ([a_pod(name="web-0")], None),
        ([], None),
    ],
    ids=["two", "of the present template", "ready", "another's", "none"],
)
def test_the_pod_that_an_ordered_rollout_waits_for(
    pods: list[dict[str, Json]], expected: str | None
) -> None:
    """B19: the lowest of an older template that is not ready."""
    target = {**DEPLOYMENT, "kind": "StatefulSet", "status": {"updateRevision": "web-2"}}
    assert broken_pod(target, pods) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([D1], Evidence.AGREES),
        ([D2, D1], Evidence.AGREES),
        ([None, D2], Evidence.AGREES),
        ([D3, D3], Evidence.DIFFERS),
        ([D3, None], Evidence.UNKNOWN),
        ([None], Evidence.UNKNOWN),
        ([], Evidence.UNKNOWN),
    ],
)
def test_unknown_is_no_disproof(found: list[str | None], expected: Evidence) -> None:
    """An image has several digests; one pod that runs one of them is enough."""
    assert weigh(found, {D1, D2}) is expected
