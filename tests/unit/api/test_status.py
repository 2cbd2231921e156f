from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import (
    MESSAGE_LENGTH,
    Condition,
    ConditionType,
    ImageState,
    ImageStatus,
    RolloutProgress,
    Status,
    parse_status,
)
from schema_documents import NOON, STATUS

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*STATUS, "type", "name", "state"]), inner, max_size=4)
    ),
    max_leaves=20,
)


def test_a_whole_status_is_read_and_written_as_it_was() -> None:
    status = parse_status(STATUS)
    assert status.to_json() == STATUS
    image = status.images[0]
    assert (image.state, image.reason) == (ImageState.HELD, Reason.RolloutFailed)
    assert (image.serial, image.set_back_times) == (7, [NOON, NOON])
    assert status.conditions[0].type is ConditionType.READY
    assert status.target_uid == "1-2"


@pytest.mark.parametrize("raw", [None, {}, {"images": None}, {"future": {"a": 1}}])
def test_a_new_policy_has_an_empty_status(raw: dict[str, Any] | None) -> None:
    assert parse_status(raw) == Status()
    assert Status().to_json() == {}


def test_what_is_absent_or_false_is_not_stored() -> None:
    image = ImageStatus(name="web", state=ImageState.PENDING)
    assert Status(images=[image]).to_json() == {
        "images": [{"name": "web", "state": "Pending", "serial": 0}]
    }
    assert Status(rollout=RolloutProgress()).to_json()["rollout"]["updated"] == 0


@pytest.mark.parametrize(
    ("field", "garbage"),
    [
        ("state", "Dreaming"),
        ("reason", "Because"),
        ("askedTime", "yesterday"),
        ("serial", -1),
        ("serial", "many"),
        ("adopted", [1]),
        ("latest", {"a": 1}),
        ("setBackTimes", "never"),
    ],
)
def test_a_piece_that_cannot_be_read_is_dropped_alone(field: str, garbage: object) -> None:
    """B22: what is remembered of an image survives a bad neighbour."""
    [image] = STATUS["images"]
    read = parse_status({**STATUS, "images": [{**image, field: garbage}]})
    assert read == parse_status(
        {**STATUS, "images": [{key: image[key] for key in image if key != field}]}
    )
    assert read.images[0].recorded == "sha256:0"


def test_an_item_without_its_key_is_dropped_alone() -> None:
    [condition], [image] = STATUS["conditions"], STATUS["images"]
    nameless = {key: image[key] for key in image if key != "name"}
    read = parse_status(
        {
            **STATUS,
            "images": [nameless, image, "text", {}],
            "conditions": [{"type": "Stalled"}, condition, {"type": "Foreign"}, None],
        }
    )
    assert read == parse_status(STATUS)


@settings(deadline=None)
@given(json_values)
def test_nothing_stored_can_stop_a_policy(raw: Any) -> None:  # noqa: ANN401 any JSON value
    status = parse_status(raw)
    assert parse_status(status.to_json()) == status


@settings(deadline=None)
@given(st.sampled_from(sorted(STATUS)), json_values)
def test_one_bad_field_leaves_the_others(field: str, garbage: object) -> None:
    read = parse_status({**STATUS, field: garbage})
    without = {key: value for key, value in read.to_json().items() if key != field}
    assert without == {key: value for key, value in STATUS.items() if key != field}


def test_messages_are_cut_to_a_length_that_is_never_refused() -> None:
    image = ImageStatus(name="web", message="é" * 5000)
    assert image.message is not None
    assert len(image.message) == MESSAGE_LENGTH
    assert image.message.endswith("é…")


def test_times_are_stored_in_utc_and_whole_seconds() -> None:
    condition = Condition(
        type=ConditionType.READY,
        status="True",
        reason=Reason.UpToDate,
        last_transition_time="2026-02-03T13:00:00.250+01:00",
    )
    assert condition.last_transition_time == NOON


def test_a_time_without_a_zone_is_no_time() -> None:
    with pytest.raises(ValidationError, match="must be an RFC 3339 time"):
        Status(last_check_time="2026-02-03T12:00:00")
