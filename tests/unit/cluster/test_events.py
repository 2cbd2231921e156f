import logging
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from imagerefresh.cluster import events
from imagerefresh.cluster.connection import Connection
from imagerefresh.cluster.events import EventRecorder, EventType, cut
from unit.cluster.scripted import ScriptedServer, hangs, says, status

POLICY = {"metadata": {"namespace": "shop", "name": "web", "uid": "u-1"}}
DEADLINE = 5.0


@pytest.fixture
async def recorder(connection: Connection) -> AsyncIterator[EventRecorder]:
    recorder = EventRecorder(connection, "host-1")
    yield recorder
    await recorder.close(0)


def record(recorder: EventRecorder, note: str = "asked", **metadata: str) -> None:
    policy: dict[str, Any] = {"metadata": POLICY["metadata"] | metadata}
    recorder.record(policy, EventType.NORMAL, "Asked", "Patch", note)


def names(server: ScriptedServer) -> list[str]:
    return [body["metadata"]["name"] for body in server.bodies]


async def test_the_name_is_made_of_policy_reason_and_note(
    server: ScriptedServer, recorder: EventRecorder
) -> None:
    """What repeats meets the event that is there; everything else gets its own."""
    record(recorder)
    record(recorder)
    record(recorder, note="another")
    record(recorder, uid="u-2")
    await recorder.close(DEADLINE)
    first, second, *others = names(server)
    assert first == second
    assert len({first, *others}) == 3


@pytest.mark.parametrize("name", ["web", "a.b", "x" * 253, "x" * 235 + "." + "y" * 17])
async def test_the_name_is_valid_for_every_name_of_a_policy(
    server: ScriptedServer, recorder: EventRecorder, name: str
) -> None:
    record(recorder, name=name)
    await recorder.close(DEADLINE)
    [event_name] = names(server)
    assert len(event_name) <= 253
    assert re.fullmatch(
        r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", event_name
    )


async def test_a_refusal_is_logged_once_and_again_after_it_had_worked(
    server: ScriptedServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    refused = says(403, status(403, "no events for you"))
    server.answers = [refused, refused, says(201), refused]
    for number in range(4):
        record(recorder, str(number))
    await recorder.close(DEADLINE)
    assert len(server.requests) == 4
    assert [r.levelno for r in caplog.records if "no events for you" in r.message] == [
        logging.WARNING
    ] * 2


async def test_a_full_queue_drops_and_says_so_once(
    server: ScriptedServer,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(events, "QUEUE_LIMIT", 2)
    recorder = EventRecorder(connection, "host-1")
    for number in range(10):
        record(recorder, str(number))
    await recorder.close(DEADLINE)
    assert len(server.requests) == 2
    assert len(caplog.records) == 1


async def test_closing_ends_at_its_deadline(
    server: ScriptedServer, recorder: EventRecorder
) -> None:
    server.answers = [hangs]
    record(recorder)
    await recorder.close(0.05)
    assert recorder._writer.done()


async def test_an_answer_that_nobody_expects_does_not_end_the_writer(
    server: ScriptedServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [says(409), says(200, {"series": "garbage"}), says(201)]
    record(recorder, "first")
    record(recorder, "second")
    await recorder.close(DEADLINE)
    assert [body.get("note") for body in server.bodies][-1] == "second"
    assert "an event was dropped" in caplog.text


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "…"),
        ("éééé", 8, "éééé"),
        ("ééééé", 8, "éé…"),
        ("aéééé", 8, "aéé…"),
        ("a😀😀😀", 9, "a😀…"),
    ],
)
def test_a_note_is_cut_between_characters(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected
    assert len(expected.encode()) <= limit
