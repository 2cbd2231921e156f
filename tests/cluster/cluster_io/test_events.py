import logging

import pytest

from imagerefresh.cluster.connection import Connection
from imagerefresh.cluster.events import NOTE_LIMIT, EventRecorder, EventType
from testbed.api import Manifest
from testbed.audit import service_account_user
from testbed.namespace import Namespace
from testbed.waiting import eventually

DEADLINE = 20.0


async def record(connection: Connection, policy: Manifest, *notes: str, by: str = "host") -> None:
    """What one process records in its life."""
    recorder = EventRecorder(connection, by)
    for note in notes:
        recorder.record(policy, EventType.WARNING, "Failed", "Hold", note)
    await recorder.close(DEADLINE)


async def test_an_event_says_who_what_and_about_whom(
    connection: Connection, namespace: Namespace, web_policy: Manifest
) -> None:
    """B27, and what `kubectl describe` shows."""
    await record(connection, web_policy, "app: sha256:1 did not become healthy")
    [event] = namespace.items("Event")
    assert event["regarding"] == {
        "apiVersion": "imagerefresh.dev/v1alpha1",
        "kind": "ImageRefreshPolicy",
        "namespace": namespace.name,
        "name": "web",
        "uid": web_policy["metadata"]["uid"],
    }
    said = {
        key: event[key]
        for key in ("type", "reason", "action", "reportingController", "reportingInstance")
    }
    assert said == {
        "type": "Warning",
        "reason": "Failed",
        "action": "Hold",
        "reportingController": "imagerefresh",
        "reportingInstance": "host",
    }
    assert "series" not in event
    described = namespace.kubectl("describe", "irp", "web")
    assert "app: sha256:1 did not become healthy" in described


async def test_what_repeats_is_counted_also_by_the_next_process(
    connection: Connection, namespace: Namespace, web_policy: Manifest
) -> None:
    await record(connection, web_policy, "again", "again", "other", "again")
    await record(connection, web_policy, "again", by="another-host")
    counts = {
        event["note"]: event.get("series", {}).get("count") for event in namespace.items("Event")
    }
    assert counts == {"again": 4, "other": None}


@pytest.mark.parametrize("character", ["x", "é", "\N{GRINNING FACE}"])
async def test_a_note_of_any_length_is_accepted(
    connection: Connection, namespace: Namespace, web_policy: Manifest, character: str
) -> None:
    await record(connection, web_policy, character * NOTE_LIMIT + character)
    [event] = namespace.items("Event")
    assert NOTE_LIMIT - 4 < len(event["note"].encode()) <= NOTE_LIMIT


async def test_it_creates_and_patches_and_nothing_else(
    connection: Connection, namespace: Namespace, web_policy: Manifest, account: str
) -> None:
    """B28: least privilege."""
    await record(connection, web_policy, "again", "again")
    user = service_account_user(namespace.name, account)

    def requests() -> list[tuple[str, str, int]]:
        made = namespace.control_plane.audit.requests(user)
        return [(request.verb, request.resource, request.code) for request in made]

    expected = [
        ("create", "events", 201),
        ("create", "events", 409),
        ("patch", "events", 200),
        ("patch", "events", 200),
    ]
    eventually(lambda: requests() == expected, describe=lambda: f"{requests()}")


async def test_events_that_the_role_forbids_are_dropped_with_one_warning(
    connection: Connection, web_policy: Manifest, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = {"metadata": web_policy["metadata"] | {"namespace": "kube-system"}}
    await record(connection, elsewhere, "one", "two", "three")
    [warning] = [entry for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert "cannot create resource" in warning.message
