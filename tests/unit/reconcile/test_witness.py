"""The look at the pods: what they are asked, and what else has to be asked for that (B15)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from imagerefresh.cluster.pods import Pods
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.view import View
from imagerefresh.reconcile.witness import Witness
from imagerefresh.reference import Reference
from imagerefresh.registry import Credential, RegistryClient, RegistrySettings
from unit.plan.builders import D1, D2, D3, WAITING, Json, a_memory, a_target
from unit.plan.pods import a_member, a_pod
from unit.plan.telling import one
from unit.reconcile.runs import RESTART, a_run


class Nodes(Pods):
    """Pods as they are given; none may be listed if there are None."""

    def __init__(self, pods: Sequence[dict[str, Json]] | None) -> None:
        self.pods = pods

    async def find(
        self,
        namespace: str,
        selector: Mapping[str, Any],
    ) -> list[dict[str, Any]] | None:
        assert (namespace, selector) == ("shop", {"matchLabels": {"app": "web"}})
        return None if self.pods is None else list(self.pods)


@dataclass
class Shelf(RegistryClient):
    """An image of some digests."""

    holds: frozenset[str] | None
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(RegistrySettings(user_agent="test"))

    async def digests(
        self,
        reference: Reference,
        digest: str,
        credentials: Sequence[Credential] = (),  # noqa: ARG002 the client's signature
    ) -> frozenset[str] | None:
        self.asked.append(f"{reference} {digest}")
        return self.holds


def a_view() -> View:
    target = a_target(selector={"matchLabels": {"app": "web"}})
    return one(a_memory(D2, recorded=D1), D2, kind=RESTART, target=target)


async def hear(pods: Sequence[dict[str, Json]] | None, shelf: Shelf) -> Evidence:
    witness = Witness(Nodes(pods), shelf)
    found = await witness.hear(a_run(), a_view(), {"web": D2})
    assert list(found) == [("web", D2)]
    return found["web", D2]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        (None, Evidence.UNKNOWN),
        ([], Evidence.UNKNOWN),
        ([a_pod("")], Evidence.UNKNOWN),
        ([a_pod(D3), a_pod("")], Evidence.UNKNOWN),
        ([a_pod(D3), a_pod(D2)], Evidence.AGREES),
    ],
    ids=["not allowed", "none", "untold", "partly untold", "the very digest"],
)
async def test_the_registry_is_not_asked_where_pods_tell_enough(
    pods: Sequence[dict[str, Json]] | None, expected: Evidence
) -> None:
    shelf = Shelf(frozenset({D1, D2, D3}))
    assert (await hear(pods, shelf), shelf.asked) == (expected, [])


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([a_member("StatefulSet", "web-1", name="web-1")], "pod web-1"),
        ([], "pod web-2"),
        (None, "pod web-2"),
    ],
    ids=["seen", "none", "not allowed"],
)
async def test_pods_tell_better_which_of_them_is_broken(
    pods: Sequence[dict[str, Json]] | None, expected: str
) -> None:
    """B19: the status only says how many there are of which template."""
    view = a_view()
    target = {**view.target, "kind": "StatefulSet", "status": {"updateRevision": "web-3"}}
    view = replace(view, target=target, health=WAITING)
    witness = Witness(Nodes(pods), Shelf(None))
    found = await witness.name_broken_pod(a_run(), view)
    assert found.health.broken_pod == expected


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        (frozenset({D2, D3}), Evidence.AGREES),
        (frozenset({D2}), Evidence.DIFFERS),
        (None, Evidence.UNKNOWN),
    ],
    ids=["a platform's", "another image's", "registry down"],
)
async def test_another_digest_may_be_the_same_image(
    holds: frozenset[str] | None, expected: Evidence
) -> None:
    shelf = Shelf(holds)
    assert await hear([a_pod(D3)], shelf) is expected
    assert shelf.asked == [f"registry.example.com/example/web:prod {D2}"]
