"""Each field of a policy meets each kind of change (B3)."""

import pytest

from imagerefresh import crdgen
from proof.objects.schema_changes import FieldChange, field_changes, sample_changes
from proof.objects.steps import EXAMPLE, steps
from proof.objects.subject import new_policy
from schema_documents import ABSENT, STATUS, Json, fields

REGISTRY = "127.0.0.1:5000"
SCHEMA = crdgen.custom_resource_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
SPEC = new_policy(EXAMPLE, "Deployment", REGISTRY)["spec"]
DOCUMENTS = {"spec": SPEC, "status": STATUS}


def places(part: str, kind: str) -> set[str]:
    """The fields that a kind of change meets, as `spec.images[].tag`."""
    met = set()
    for change in field_changes(SCHEMA, {part: DOCUMENTS[part]}):
        if change.kind == kind:
            for path in change.values:
                parts = path.split(".")
                met.add("".join("[]" if each.isdigit() else f".{each}" for each in parts)[1:])
    return met


@pytest.mark.parametrize("part", DOCUMENTS)
@pytest.mark.parametrize("kind", ["null", "empty", "wrong type"])
def test_each_field_meets(part: str, kind: str) -> None:
    all_fields = {name for name, _ in fields(SCHEMA) if name.split(".")[0] == part}
    assert all_fields - places(part, kind) == set()


@pytest.mark.parametrize("part", DOCUMENTS)
def test_each_field_that_is_there_is_removed(part: str) -> None:
    absent = {"spec.schedule", "spec.timeZone", "spec.targetRef.apiVersion"}
    assert places(part, "null") - places(part, "removed") <= absent


@pytest.mark.parametrize("part", DOCUMENTS)
def test_each_bound_is_met_and_passed(part: str) -> None:
    bounded = {
        name
        for name, member in fields(SCHEMA)
        if name.split(".")[0] == part and {"maxLength", "maxItems", "minimum"} & member.keys()
        if "enum" not in member
    }
    assert bounded - places(part, "bound") == set()


@pytest.mark.parametrize(
    ("path", "value", "changed"),
    [
        ("spec.a", 1, {"spec": {"a": 1, "b": [{"c": 3}]}}),
        ("spec.a", ABSENT, {"spec": {"b": [{"c": 3}]}}),
        ("spec.none", ABSENT, {"spec": {"a": 2, "b": [{"c": 3}]}}),
        ("spec.b.0.c", None, {"spec": {"a": 2, "b": [{"c": None}]}}),
        ("spec.b.0", ABSENT, {"spec": {"a": 2, "b": []}}),
        ("spec.new.deep", 1, {"spec": {"a": 2, "b": [{"c": 3}], "new": {"deep": 1}}}),
        ("spec", ABSENT, {}),
    ],
)
def test_a_change_is_made_in_a_copy(path: str, value: Json, changed: Json) -> None:
    document = {"spec": {"a": 2, "b": [{"c": 3}]}}
    assert FieldChange("changed", {path: value}).apply(document) == changed
    assert document == {"spec": {"a": 2, "b": [{"c": 3}]}}


def test_samples_ask_no_registry_but_ours() -> None:
    hosts = {
        str(value)
        for change in sample_changes(REGISTRY)
        for path, value in change.values.items()
        if path.endswith("registry") and change.kind == "good by its rule"
    }
    hosts |= {
        image["registry"]
        for change in sample_changes(REGISTRY)
        for image in change.values.get("spec.images", [])
    }
    assert {host for host in hosts if len(host) < 64} == {
        REGISTRY,
        "localhost:5000",
        "[::1]",
    }


def test_steps_are_always_the_same() -> None:
    first, second = (
        [(step.kind, step.name, step.of) for step in steps(REGISTRY)] for _ in range(2)
    )
    assert first == second
