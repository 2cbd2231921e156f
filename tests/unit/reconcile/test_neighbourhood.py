"""Which policies of this process act on one target (B23)."""

import pytest

from imagerefresh.reconcile.neighbourhood import Neighbourhood
from imagerefresh.reconcile.track import Track
from unit.plan.builders import D1, Json, a_memory, a_target
from unit.plan.telling import one, told, trouble
from unit.reconcile.builders import a_policy

PROVEN = a_memory(D1, recorded=D1)


def around(neighbourhood: Neighbourhood, policy: dict[str, Json]) -> list[str]:
    own, others = neighbourhood.around(policy, Track().spec(policy))
    assert own is None or own.age[1] == policy["metadata"]["uid"]
    return sorted(each.age[1] for each in others)


@pytest.fixture
def neighbourhood() -> Neighbourhood:
    """Two policies on one target, and one on another."""
    found = Neighbourhood()
    for uid, name in (("p1", "web"), ("p2", "web"), ("p3", "other")):
        ref = {"kind": "Deployment", "name": name}
        found.notice(a_policy(uid=uid, targetRef=ref), Track())
    return found


def test_those_of_one_target_are_neighbours(neighbourhood: Neighbourhood) -> None:
    assert around(neighbourhood, a_policy(uid="p1")) == ["p2"]
    assert around(neighbourhood, a_policy(uid="p4")) == ["p1", "p2"]
    assert len(neighbourhood) == 3


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_a_target_of_another_kind_is_another(neighbourhood: Neighbourhood, kind: str) -> None:
    policy = a_policy(uid="p1", targetRef={"kind": kind, "name": "web"})
    assert around(neighbourhood, policy) == []


def test_a_policy_that_is_deleted_or_invalid_is_none(neighbourhood: Neighbourhood) -> None:
    neighbourhood.forget("p2")
    assert around(neighbourhood, a_policy(uid="p1")) == []
    neighbourhood.notice(a_policy(uid="p1", images="none"), Track())
    assert around(neighbourhood, a_policy(uid="p2")) == []


@pytest.mark.parametrize(("variable", "expected"), [("v1", {"ingestor"}), (D1, set())])
def test_it_is_known_who_waits_for_a_person(variable: str, expected: set[str]) -> None:
    neighbourhood = Neighbourhood()
    policy = a_policy(status=told(one(PROVEN, D1, target=a_target(variable=variable))))
    neighbourhood.notice(policy, Track())
    own, _ = neighbourhood.around(policy, Track().spec(policy))
    assert own is not None
    assert own.blocked == expected


@pytest.mark.parametrize("is_troubled", [True, False])
def test_it_is_known_whose_tags_cannot_be_resolved(is_troubled: bool) -> None:
    neighbourhood = Neighbourhood()
    troubles = {"ingestor": trouble()} if is_troubled else {}
    policy = a_policy(status=told(one(PROVEN, None), troubles=troubles))
    neighbourhood.notice(policy, Track())
    own, _ = neighbourhood.around(policy, Track().spec(policy))
    assert own is not None
    assert own.unresolved == ({"ingestor"} if is_troubled else frozenset())
