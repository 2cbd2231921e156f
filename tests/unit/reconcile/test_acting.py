"""What admission made of a patch (B29). The patch itself is tested on a real API server."""

from typing import Final

import pytest

from imagerefresh.plan.decide import decide
from imagerefresh.reconcile.acting import unmet
from unit.plan.builders import D1, D2, VARIABLE, Json, a_memory, a_target, patched
from unit.plan.telling import one

TARGET: Final = a_target(variable=D1)
PATCH: Final = decide(one(a_memory(D1, D1), D2)).patch
VALUE: Final = f"spec.template.spec.containers[api].env[{VARIABLE}].value"


def test_what_was_stored_as_it_was_sent() -> None:
    assert list(unmet(PATCH, patched(TARGET, PATCH))) == []


def test_more_than_was_sent_is_no_difference() -> None:
    stored = patched(TARGET, PATCH)
    stored["metadata"]["annotations"]["other"] = "x"
    for container in stored["spec"]["template"]["spec"]["containers"]:
        container["resources"] = {"limits": {"cpu": "1"}}
    stored["spec"]["template"]["spec"]["containers"].insert(0, {"name": "sidecar", "image": "i"})
    assert list(unmet(PATCH, stored)) == []


def test_a_changed_value_is_named_by_its_path() -> None:
    stored = patched(patched(TARGET, PATCH), decide(one(a_memory(D2, D2), D1)).patch)
    assert VALUE in list(unmet(PATCH, stored))


def test_a_patch_that_was_dropped_is_unmet_throughout() -> None:
    assert len(list(unmet(PATCH, TARGET))) == 4  # state, record, stamp and value


@pytest.mark.parametrize(
    ("patch", "stored", "paths"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": 1}, {}, ["a"]),
        ({"a": None}, {}, []),
        ({"a": None}, {"a": "there"}, ["a"]),
        ({"a": {"b": 1}}, {"a": None}, ["a.b"]),
        ({"a": {"b": 1}}, {"a": "text"}, ["a.b"]),
        ({"a": {"b": 1}}, None, ["a.b"]),
        ({"l": [{"name": "x", "v": 1}]}, {"l": [{"name": "y"}, {"name": "x", "v": 1}]}, []),
        ({"l": [{"name": "x", "v": 1}]}, {"l": [{"name": "x", "v": 2}]}, ["l[x].v"]),
        ({"l": [{"name": "x", "v": 1}]}, {"l": [{"name": "y"}]}, ["l[x].name", "l[x].v"]),
        ({"l": [{"name": "x", "v": 1}]}, {"l": None}, ["l[x].name", "l[x].v"]),
        ({"l": [{"name": "x", "v": 1}]}, {"l": ["x", 7]}, ["l[x].name", "l[x].v"]),
        ({"l": []}, {}, []),
        ({}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {}, ["a", "b"]),
    ],
)
def test_paths(patch: Json, stored: Json, paths: list[str]) -> None:
    assert list(unmet(patch, stored)) == paths
