"""What the API server takes and refuses, rule by rule and bound by bound, and what it says (B3).

Of each spec the operator is asked the same: it must be able to read what the API server takes, and
what that refuses may have been stored before the rule.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imagerefresh import crdgen
from imagerefresh.api.model import VALIDATIONS
from imagerefresh.api.policy import InvalidSpec, Spec, parse_spec
from imagerefresh.api.status import Status, parse_status
from schema_documents import ABSENT, STATUS, changed, fields, replaced, shown, spec
from schema_samples import SAMPLES
from testbed.api import ApiError, path
from testbed.controlplane import ControlPlane
from testbed.workloads import RESOURCES

Json = Any
Document = Mapping[str, Json]

POLICIES: Final = RESOURCES["ImageRefreshPolicy"]
SPEC_SCHEMA: Final = crdgen.structural(Spec, with_defaults=True)
STATUS_SCHEMA: Final = crdgen.structural(Status, with_defaults=False)


SCHEDULED: Final = {
    **{key: value for key, value in spec().items() if key != "interval"},
    "schedule": "0 3 * * *",
    "timeZone": "UTC",
}


def stored_spec(control_plane: ControlPlane, raw: Document) -> Document:
    """The spec as a new policy would have it, if it is taken."""
    policy = {
        "apiVersion": "imagerefresh.dev/v1alpha1",
        "kind": "ImageRefreshPolicy",
        "metadata": {"name": "sample"},
        "spec": raw,
    }
    target = path(POLICIES, "default") + "?dryRun=All"
    stored: Document = control_plane.api.request("POST", target, policy)["spec"]
    return stored


def assert_spec_refused(
    control_plane: ControlPlane, raw: Document, place: str, message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        stored_spec(control_plane, raw)
    assert refused.value.code == 422
    assert shown(place) in str(refused.value)
    assert message in str(refused.value)
    with pytest.raises(InvalidSpec):
        parse_spec(raw)


def stored_status(control_plane: ControlPlane, policy: str, raw: Document) -> Document:
    """The status as the policy would have it, if it is taken."""
    target = path(POLICIES, "default", policy, "status") + "?dryRun=All"
    patch = [{"op": "add", "path": "/status", "value": raw}]
    answer = control_plane.api.request("PATCH", target, patch, "application/json-patch+json")
    stored: Document = answer["status"]
    return stored


@pytest.fixture(scope="module")
def policy(control_plane: ControlPlane) -> Iterator[str]:
    """Name of a policy in the namespace default."""
    created = control_plane.api.create(
        POLICIES,
        {
            "apiVersion": "imagerefresh.dev/v1alpha1",
            "kind": "ImageRefreshPolicy",
            "metadata": {"generateName": "sample-", "namespace": "default"},
            "spec": spec(),
        },
    )
    yield created["metadata"]["name"]
    control_plane.api.delete(POLICIES, "default", created["metadata"]["name"])


# The rules.


@pytest.mark.parametrize(
    ("place", "value"),
    [(place, value) for each in SAMPLES for place in each.paths for value in each.good],
)
def test_takes(control_plane: ControlPlane, place: str, value: Json) -> None:
    raw = changed(place, value)
    assert parse_spec(stored_spec(control_plane, raw)) == parse_spec(raw)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (place, value, each.message)
        for each in SAMPLES
        for place in each.paths
        for value in each.bad
    ],
)
def test_refuses_and_says_what_to_do(
    control_plane: ControlPlane, place: str, value: Json, message: str
) -> None:
    assert_spec_refused(control_plane, changed(place, value), place, message)


def test_there_are_samples_for_every_rule() -> None:
    """But for the one on changes, which is tried in test_schema_changes."""
    tried = tuple(each.message for each in SAMPLES)
    for name, schema in [("", SPEC_SCHEMA), *fields(SPEC_SCHEMA)]:
        for rule in schema.get(VALIDATIONS, []):
            assert rule["rule"] == "self == oldSelf" or rule["message"].startswith(tried), name


@pytest.mark.parametrize(
    ("place", "alphabet"),
    [
        ("interval", "0123579hms. -"),
        ("images.0.name", "aB0-_."),
        ("images.0.registry", "aB0-_.:[]/"),
        ("images.0.repository", "aB0-_./:"),
        ("images.0.tag", "aB0-_.:"),
        ("images.1.action.setEnv.variable", "aB0-_.="),
        ("annotationPrefix", "aB0-_./"),
        ("schedule", "01239*,-/ "),
        ("timeZone", "UTCaE/+-_0:"),
    ],
)
@settings(
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_both_halves_of_a_rule_agree(
    control_plane: ControlPlane, place: str, alphabet: str, data: st.DataObject
) -> None:
    """The operator reads what the API server takes, and refuses what that would refuse now."""
    text = st.text(alphabet, max_size=12)
    if place == "schedule":
        text = st.lists(st.text("01239*,-/", max_size=4), min_size=4, max_size=6).map(" ".join)
    base = SCHEDULED if place in ("schedule", "timeZone") else spec()
    raw = replaced(base, place, data.draw(text))
    try:
        parse_spec(raw)
    except InvalidSpec:
        with pytest.raises(ApiError, match="must be"):
            stored_spec(control_plane, raw)
    else:
        stored_spec(control_plane, raw)


# Types, bounds and enumerations: what breaks them is made from the schema itself.


Breach = tuple[str, Json, str]


def bad_values(schema: Document, value: Json) -> Iterator[tuple[Json, str]]:
    """What breaks each keyword at a place that has a good value, and what is said then."""
    kind = schema["type"]
    type_name = schema.get("format", kind) if kind == "string" else kind
    yield 7 if kind in ("string", "boolean") else "text", f"must be of type {type_name}"
    if "enum" in schema:
        yield "Nonsense", "Unsupported value"
    if type_name == "date-time":
        yield "yesterday", "must be of type date-time"
    if "minimum" in schema:
        yield schema["minimum"] - 1, f"greater than or equal to {schema['minimum']}"
    if "maxLength" in schema:
        yield "a" * (schema["maxLength"] + 1), f"more than {schema['maxLength']}"
    if "maxItems" in schema:
        yield value[:1] * (schema["maxItems"] + 1), f"at most {schema['maxItems']} items"
    if "minItems" in schema:
        yield [], "should have at least"
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        yield value + value[:1], "Duplicate value"


def places(schema: Document, value: Json, here: str = "") -> Iterator[tuple[str, Document, Json]]:
    """Every place in a value, with its schema."""
    if here:
        yield here, schema, value
    for name, member in schema.get("properties", {}).items():
        if name in value:
            yield from places(member, value[name], f"{here}.{name}" if here else name)
    for number, item in enumerate(value if "items" in schema else []):
        yield from places(schema["items"], item, f"{here}.{number}")


def breaches(schema: Document, document: Document) -> list[Breach]:
    """The place, the bad value and the message for every keyword of a schema."""
    found: list[Breach] = [(name, ABSENT, "Required value") for name in schema.get("required", [])]
    for place, member, value in places(schema, document):
        found += [(place, bad, message) for bad, message in bad_values(member, value)]
        found += [
            (f"{place}.{name}", ABSENT, "Required value") for name in member.get("required", [])
        ]
    return found


@pytest.mark.parametrize(("place", "value", "message"), breaches(SPEC_SCHEMA, spec()))
def test_spec_is_bounded(
    control_plane: ControlPlane, place: str, value: Json, message: str
) -> None:
    assert_spec_refused(control_plane, replaced(spec(), place, value), place, message)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [each for each in breaches(SPEC_SCHEMA, SCHEDULED) if each[0] in ("schedule", "timeZone")],
)
def test_schedule_is_bounded(
    control_plane: ControlPlane, place: str, value: Json, message: str
) -> None:
    assert_spec_refused(control_plane, replaced(SCHEDULED, place, value), place, message)


@pytest.mark.parametrize(("place", "value", "message"), breaches(STATUS_SCHEMA, STATUS))
def test_status_is_bounded(
    control_plane: ControlPlane, policy: str, place: str, value: Json, message: str
) -> None:
    raw = replaced(STATUS, place, value)
    with pytest.raises(ApiError) as refused:
        stored_status(control_plane, policy, raw)
    assert refused.value.code == 422
    assert message in str(refused.value)
    parse_status(raw)


def test_every_list_may_be_as_long_as_its_bound(control_plane: ControlPlane) -> None:
    """That of the images is among the samples."""
    names = [f"{number:02}" for number in range(20)]
    raw = changed("imagePullSecrets", [{"name": name} for name in names])
    raw["images"][0]["action"]["restart"]["containers"] = names
    assert stored_spec(control_plane, raw)["imagePullSecrets"] == raw["imagePullSecrets"]


def test_every_field_is_tried() -> None:
    seen = {re.sub(r"\.\d+", "[]", place) for place, _, _ in places(SPEC_SCHEMA, spec())}
    seen |= {re.sub(r"\.\d+", "[]", place) for place, _, _ in places(SPEC_SCHEMA, SCHEDULED)}
    assert {name for name, _ in fields(SPEC_SCHEMA)} <= seen
    seen = {re.sub(r"\.\d+", "[]", place) for place, _, _ in places(STATUS_SCHEMA, STATUS)}
    assert {name for name, _ in fields(STATUS_SCHEMA)} <= seen


def test_status_is_stored_as_it_is_sent(control_plane: ControlPlane, policy: str) -> None:
    """Nothing pruned, nothing added: else each run would find it changed and write again (B27)."""
    assert stored_status(control_plane, policy, STATUS) == STATUS
    assert stored_status(control_plane, policy, {}) == {}
    least = parse_status({"images": [{"name": "web"}], "rollout": {}}).to_json()
    assert stored_status(control_plane, policy, least) == least


def test_a_reason_or_state_of_a_newer_operator_is_taken(
    control_plane: ControlPlane, policy: str
) -> None:
    raw = replaced(replaced(STATUS, "images.0.reason", "Newer"), "images.0.state", "Newer")
    assert stored_status(control_plane, policy, raw) == raw


def test_nulls_count_as_absent(control_plane: ControlPlane) -> None:
    """At every place that may be absent: there the default holds, if there is one."""
    raw = spec()
    raw |= dict.fromkeys(SPEC_SCHEMA["properties"].keys() - set(SPEC_SCHEMA["required"]))
    raw["targetRef"]["apiVersion"] = None
    raw["images"][0] |= {"pinned": None}
    raw["images"][0]["action"] |= {"restart": None, "setEnv": None, "setImage": None}
    stored = stored_spec(control_plane, raw)
    assert stored["targetRef"]["apiVersion"] == "apps/v1"
    assert stored["images"][0]["action"] == {"type": "Restart"}
    assert {name for name in SPEC_SCHEMA["properties"] if name not in stored} == {
        "interval",
        "schedule",
        "timeZone",
        "imagePullSecrets",
    }
    assert parse_spec(stored) == parse_spec(raw)


@pytest.mark.parametrize("place", ["images.0", "images.0.tag", "images.0.action", "targetRef.name"])
def test_nulls_are_refused_where_something_must_be(control_plane: ControlPlane, place: str) -> None:
    raw = changed(place, None)
    with pytest.raises(ApiError) as refused:
        stored_spec(control_plane, raw)
    assert shown(place) in str(refused.value)
    with pytest.raises(InvalidSpec):
        parse_spec(raw)
