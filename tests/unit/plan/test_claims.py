"""Which of two policies may act on one part of a target (B23)."""

from collections.abc import Mapping

import pytest

from imagerefresh.api.policy import Spec, parse_spec
from imagerefresh.plan.claims import Claimant, conflicts

RESTART = {"type": "Restart"}
VARIABLE = {"type": "SetEnv", "setEnv": {"container": "api", "variable": "DIGEST"}}
OTHER_VARIABLE = {"type": "SetEnv", "setEnv": {"container": "api", "variable": "OTHER"}}
FIELD = {"type": "SetImage", "setImage": {"container": "api"}}


def a_spec(name: str, action: Mapping[str, object], repository: str = "example/web") -> Spec:
    image = {"name": name, "registry": "ghcr.io", "repository": repository, "tag": "prod"}
    target = {"kind": "Deployment", "name": "web"}
    return parse_spec({"targetRef": target, "images": [{**image, "action": action}]})


def a_policy(name: str, created: str, spec: Spec) -> Claimant:
    return Claimant(name, (created, name), spec)


OLDER, YOUNGER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        (a_spec("a", RESTART), a_spec("b", RESTART), "restart of ghcr.io/example/web:prod"),
        (a_spec("a", VARIABLE), a_spec("b", VARIABLE, "example/x"), "variable api/DIGEST"),
        (a_spec("a", FIELD), a_spec("b", FIELD), "image api"),
        (a_spec("a", RESTART), a_spec("a", VARIABLE), "rename this one"),
        (a_spec("a", RESTART), a_spec("b", RESTART, "example/x"), None),
        (a_spec("a", VARIABLE), a_spec("b", OTHER_VARIABLE), None),
        (a_spec("a", VARIABLE), a_spec("b", FIELD), None),
    ],
)
def test_the_younger_of_two_with_one_claim_is_in_conflict(
    first: Spec, second: Spec, clash: str | None
) -> None:
    older, younger = a_policy("old", OLDER, first), a_policy("new", YOUNGER, second)
    found = conflicts(younger, [older])
    assert conflicts(older, [younger]) == {}
    if clash is None:
        assert found == {}
    else:
        assert clash in found[second.images[0].name].message
        assert "the older policy old" in found[second.images[0].name].message


def test_a_tie_is_broken_by_uid() -> None:
    spec = a_spec("a", RESTART)
    one, two = a_policy("1", OLDER, spec), a_policy("2", OLDER, spec)
    assert conflicts(one, [two]) == {}
    assert set(conflicts(two, [one])) == {"a"}
