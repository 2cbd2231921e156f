"""The text of a state on a target, and that no text there can confuse us (B22)."""

import json
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.api.names import record_annotation, state_annotation
from imagerefresh.plan.memory import Memory, Recollection, from_status, parse_state, state_text
from unit.plan.builders import D1, D2, D3, EARLIER, GROUP, LATE_TIME, Json
from unit.plan.recalling import NAME, NEWER, REFERENCE, in_status, known, recall

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


@settings(max_examples=100)
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


def test_the_latest_set_backs_are_kept() -> None:
    """B17: as many as count, and as status can hold."""
    times = [f"2026-02-03T12:0{minute}:00Z" for minute in range(5)]
    document = {"serial": 9, "asked": D1, "setBackTimes": ["garbage", *times]}
    memory = parse_state(json.dumps(document))
    assert memory is not None
    assert memory.set_back_times == tuple(times[-3:])


def test_a_state_is_one_compact_line_without_what_is_absent() -> None:
    assert state_text(Memory(reference="r", serial=1, asked=D1)) == (
        f'{{"reference":"r","serial":1,"asked":"{D1}"}}'
    )
