"""Which copy of an image's state holds (B22), and that no text on a target can confuse it."""

import json
from dataclasses import dataclass, replace
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.api.names import record_annotation, stamp_annotation, state_annotation
from imagerefresh.api.policy import ActionType
from imagerefresh.api.status import ImageStatus
from imagerefresh.plan.memory import (
    Memory,
    Recollection,
    from_status,
    parse_state,
    recollect,
    state_text,
)
from imagerefresh.plan.template import Carried, Stamp, read
from unit.plan.builders import (
    D1,
    D2,
    D3,
    EARLIER,
    GROUP,
    LATE_TIME,
    Json,
    a_memory,
    a_target,
    an_image,
    annotated,
)

NAME, REFERENCE = "web", "registry.example.com/example/web:prod"
OTHER_TOOL = "other.example.com"
FLOATING: Final = Carried(containers=("web",))


def known(asked: str | None = D2, recorded: str | None = D1, **fields: Json) -> Memory:
    """What is remembered of the image of these tests."""
    return a_memory(asked, recorded, **{"reference": REFERENCE, **fields})


def in_status(memory: Memory) -> ImageStatus:
    """An image's entry in the policy's status that mirrors a memory."""
    return ImageStatus(
        name=NAME,
        reference=memory.reference,
        asked=memory.asked,
        asked_time=memory.asked_time,
        adopted=memory.adopted,
        recorded=memory.recorded,
        failed=memory.failed,
        serial=memory.serial,
        handled_retry_at=memory.handled_retry_at,
        set_back_times=list(memory.set_back_times),
        deadline_seen=memory.deadline_seen,
    )


def recall(
    annotations: dict[str, str] | None = None,
    status: Memory | ImageStatus | None = None,
    carried: Carried = FLOATING,
    *,
    reference: str = REFERENCE,
    prefix: str = GROUP,
) -> Recollection:
    """What is recollected of the image of these tests."""
    return recollect(
        name=NAME,
        reference=reference,
        prefix=prefix,
        annotations=annotations or {},
        status=in_status(status) if isinstance(status, Memory) else status,
        carried=carried,
    )


OLDER: Final = known(D1, D1, serial=3)
NEWER: Final = known(D2, D1, serial=5, failed=D2, deadline_seen=LATE_TIME)


@dataclass(frozen=True)
class Store:
    """What stands where, and what holds."""

    on_target: dict[str, str]
    status: Memory | None
    holds: Memory
    is_lost: bool = False


STORES: Final = {
    "both alike": Store(annotated(NAME, NEWER), NEWER, NEWER),
    "higher on the target: the status write was lost": Store(annotated(NAME, NEWER), OLDER, NEWER),
    "lower on the target: a rewind": Store(annotated(NAME, OLDER), NEWER, NEWER, is_lost=True),
    "none on the target: stripped": Store({}, NEWER, NEWER, is_lost=True),
    "only the state is stripped, a record left alone says nothing": Store(
        {record_annotation(GROUP, NAME): D3}, NEWER, NEWER, is_lost=True
    ),
    "none in status: the policy is new": Store(annotated(NAME, NEWER), None, NEWER),
    "nowhere: a first observation": Store({}, None, Memory(reference=REFERENCE)),
    "alike, a person edited the record": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): D3},
        NEWER,
        replace(NEWER, recorded=D3),
    ),
    "alike, a person proved what is asked": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): D2},
        NEWER,
        replace(NEWER, recorded=D2, failed=None),
    ),
    "alike, the record is missing": Store(
        {state_annotation(NAME): state_text(NEWER)}, NEWER, NEWER, is_lost=True
    ),
    "alike, the record is garbled": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): "v1.2"},
        NEWER,
        NEWER,
        is_lost=True,
    ),
    "alike, nothing was recorded yet": Store(
        annotated(NAME, known(D1, None)), known(D1, None), known(D1, None)
    ),
    "higher on the target, its record was rewound": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): D3},
        OLDER,
        replace(NEWER, recorded=D3),
    ),
    "lower on the target, the record with it": Store(
        {**annotated(NAME, OLDER), record_annotation(GROUP, NAME): D3},
        NEWER,
        NEWER,
        is_lost=True,
    ),
}


@pytest.mark.parametrize("case", STORES)
def test_the_copy_with_the_higher_serial_holds_whole(case: str) -> None:
    """B22."""
    store = STORES[case]
    assert recall(store.on_target, store.status) == Recollection(store.holds, store.is_lost)


GARBLED: Final = {
    "empty": "",
    "no JSON": "{",
    "no object": f'["{D1}"]',
    "a number": "7",
    "without a serial": json.dumps({"asked": D1}),
    "serial zero": json.dumps({"serial": 0, "asked": D1}),
    "a negative serial": json.dumps({"serial": -1, "asked": D1}),
    "serial true": json.dumps({"serial": True, "asked": D1}),
    "a serial in quotes": json.dumps({"serial": "9", "asked": D1}),
    "a broken serial": json.dumps({"serial": 9.5, "asked": D1}),
    "a serial that no schema takes": json.dumps({"serial": 10**30, "asked": D1}),
    "a serial without end": '{"serial":' + "9" * 5000 + "}",
    "NaN": '{"serial":NaN}',
    "without asked": json.dumps({"serial": 9}),
    "asked is no digest": json.dumps({"serial": 9, "asked": "v1.2"}),
    "asked is a digest cut short": json.dumps({"serial": 9, "asked": D1[:-1]}),
    "asked is a list": json.dumps({"serial": 9, "asked": [D1]}),
    "deeper than any parser goes": "[" * 100_000,
}


@pytest.mark.parametrize("case", GARBLED)
def test_a_garbled_state_counts_as_missing(case: str) -> None:
    """B22: and the other copy holds, whatever serial it has."""
    text = GARBLED[case]
    assert parse_state(text) is None
    annotations = {state_annotation(NAME): text, record_annotation(GROUP, NAME): D3}
    assert recall(annotations, NEWER) == Recollection(NEWER, is_missing_on_target=True)


@pytest.mark.parametrize(
    ("member", "garbage"),
    [
        ("askedTime", "yesterday"),
        ("askedTime", ["2026-02-03T12:00:00Z"]),
        ("setBackTimes", "never"),
        ("setBackTimes", ["yesterday", 7, None]),
        ("failed", "v1.2"),
        ("failed", {"a": 1}),
        ("handledRetryAt", 7),
        ("deadlineSeen", False),
        ("adopted", "yes"),
        ("reference", 7),
        ("future", {"a": [1]}),
    ],
)
def test_a_garbled_member_counts_as_missing_alone(member: str, garbage: object) -> None:
    """B22: what is asked and its serial survive a bad neighbour."""
    whole = known(adopted=False, asked_time=None)
    document = json.loads(state_text(whole)) | {member: garbage}
    read_back = parse_state(json.dumps(document))
    reference = "" if member == "reference" else REFERENCE
    assert read_back == replace(whole, recorded=None, reference=reference)


TIMES = [
    EARLIER,
    "2026-02-03T12:00:00.5+01:00",
    "20260203T120000Z",
    "2026-02-03",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
]
texts = st.text(max_size=8) | st.sampled_from([D1, *TIMES])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
MEMBERS = [
    "serial",
    "asked",
    "askedTime",
    "failed",
    "handledRetryAt",
    "setBackTimes",
    "deadlineSeen",
    "adopted",
    "reference",
]
documents = st.fixed_dictionaries(
    {"serial": st.integers(1, 99) | st.integers(), "asked": st.sampled_from([D1, D2])},
    optional={
        member: texts | st.lists(texts, max_size=6) | json_values
        for member in MEMBERS
        if member not in ("serial", "asked")
    },
)


@settings(max_examples=200)
@given(documents | json_values)
def test_whatever_stands_on_a_target_can_be_told_in_status(document: Json) -> None:
    """B22: what is read of an annotation fits into status, and comes back from it as it was."""
    annotations = {state_annotation(NAME): json.dumps(document)}
    memory = recall(annotations).memory
    if memory.asked is None:
        return
    entry = in_status(memory)  # the model validates, as the API server does
    assert from_status(entry) == memory
    assert recall(annotations, entry).memory == memory


@st.composite
def _memories(draw: st.DrawFn) -> Memory:
    digests = st.none() | st.sampled_from([D1, D2, D3])
    return known(
        draw(st.sampled_from([D1, D2])),
        draw(digests),
        failed=draw(digests),
        serial=draw(st.integers(1, 2**40)),
        adopted=draw(st.booleans()),
        asked_time=draw(st.sampled_from([None, EARLIER])),
        handled_retry_at=draw(st.none() | st.text(min_size=1, max_size=9)),
        deadline_seen=draw(st.sampled_from([None, LATE_TIME])),
        set_back_times=tuple(draw(st.lists(st.just(EARLIER), max_size=3))),
    )


@settings(max_examples=50)
@given(_memories())
def test_a_state_is_read_back_as_it_was_written(memory: Memory) -> None:
    assert parse_state(state_text(memory)) == replace(memory, recorded=None)
    assert from_status(in_status(memory)) == memory


def test_a_state_is_one_compact_line_without_what_is_absent() -> None:
    assert state_text(Memory(reference="r", serial=1, asked=D1)) == (
        f'{{"reference":"r","serial":1,"asked":"{D1}"}}'
    )


class TestAnotherTarget:
    """B22, another UID: status speaks of another object, so it is left out of account."""

    def test_with_annotations_they_hold(self) -> None:
        assert recall(annotated(NAME, OLDER), None) == Recollection(OLDER)

    def test_without_any_it_is_met_anew(self) -> None:
        assert recall().memory.is_first_observation


class TestBothCopiesLost:
    """B22: may cost one rollout, no more: our own pin, then stamp or field, then the record."""

    def test_our_own_pin(self) -> None:
        target = a_target(pin=D3, stamps={stamp_annotation("web"): f"8 {D2}"})
        found = recall(carried=read(an_image(ActionType.RESTART), target))
        assert (found.memory.asked, found.memory.serial) == (D3, 8)
        assert found.is_missing_on_target

    def test_the_stamp(self) -> None:
        found = recall(carried=replace(FLOATING, stamp=Stamp(8, D2)))
        assert (found.memory.asked, found.memory.serial) == (D2, 8)
        assert not found.memory.adopted

    def test_the_field_that_we_stamped(self) -> None:
        found = recall(carried=Carried(D2, stamp=Stamp(8, D2)))
        assert (found.memory.asked, found.memory.recorded) == (D2, None)

    def test_the_record(self) -> None:
        found = recall({record_annotation(GROUP, NAME): D1})
        assert (found.memory.asked, found.memory.recorded) == (D1, D1)

    def test_a_garbled_state_and_a_record(self) -> None:
        found = recall({state_annotation(NAME): "{", record_annotation(GROUP, NAME): D1})
        assert found.memory.is_proven

    def test_a_foreign_digest_in_the_field_is_no_memory(self) -> None:
        """B18: it is a first observation, which adopts it."""
        assert recall(carried=Carried(D2)).memory.is_first_observation


class TestTakingOver:
    """A target that another tool annotated is taken over without a restart."""

    ANNOTATIONS: Final = {record_annotation(OTHER_TOOL, NAME): D1}

    def test_the_record_of_another_tool_is_what_is_asked_and_proven(self) -> None:
        found = recall(self.ANNOTATIONS, prefix=OTHER_TOOL)
        assert found.memory.is_proven
        assert (found.memory.asked, found.is_missing_on_target) == (D1, True)

    def test_not_under_another_prefix(self) -> None:
        assert recall(self.ANNOTATIONS).memory.is_first_observation

    def test_a_field_that_differs_from_the_record_is_adopted(self) -> None:
        found = recall(self.ANNOTATIONS, carried=Carried(D2), prefix=OTHER_TOOL)
        assert (found.memory.asked, found.memory.recorded) == (D2, D1)
        assert found.memory.adopted

    def test_a_changed_prefix_takes_the_record_along(self) -> None:
        memory = known(D1, D1)
        found = recall(annotated(NAME, memory), memory, prefix=OTHER_TOOL)
        assert found == Recollection(memory, is_missing_on_target=True)

    def test_a_changed_prefix_meets_another_tools_record(self) -> None:
        memory = known(D1, D1)
        annotations = {**annotated(NAME, memory), record_annotation(OTHER_TOOL, NAME): D2}
        assert recall(annotations, memory, prefix=OTHER_TOOL).memory.recorded == D2


@pytest.mark.parametrize("status", [None, NEWER], ids=["status lost", "status kept"])
def test_another_reference_drops_a_hold(status: Memory | None) -> None:
    """B1: and what was asked before stays, so that the new tag counts as a move."""
    found = recall(annotated(NAME, NEWER), status, reference="registry.example.com/example/web:1")
    assert (found.memory.failed, found.memory.asked) == (None, D2)
    assert found.memory.reference == "registry.example.com/example/web:1"


@pytest.mark.parametrize("carried", [FLOATING, Carried(D2), Carried(stamp=Stamp(3, D2))])
def test_a_status_that_lost_what_was_asked_falls_back(carried: Carried) -> None:
    """B22: an unparsable value counts as missing; nothing may be stuck for want of it."""
    entry = in_status(known()).model_copy(update={"asked": None})
    asked = recall(status=entry, carried=carried).memory.asked
    assert asked == (D1 if carried is FLOATING else D2)


@pytest.mark.parametrize("member", ["asked", "recorded", "failed"])
def test_a_status_with_something_else_than_a_digest(member: str) -> None:
    """B22: an unparsable value counts as missing."""
    entry = in_status(known(failed=D3)).model_copy(update={member: "v1.2"})
    memory = recall(annotated(NAME, OLDER), entry).memory
    assert "v1.2" not in (memory.asked, memory.recorded, memory.failed)
    assert memory.asked is not None
