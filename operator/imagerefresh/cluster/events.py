"""Events about a policy, for `kubectl describe` and for people who watch (B27).

Best effort by design: an event that can't be written is dropped, and never fails or delays a run.
What must not be lost is in the policy's status.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote

from imagerefresh.api.names import API_VERSION, FIELD_MANAGER, KIND
from imagerefresh.cluster.connection import Connection, JsonObject
from imagerefresh.cluster.errors import ClusterError, Conflict

NOTE_LIMIT: Final = 1024
"""Bytes of UTF-8 that the API server takes for a note."""

QUEUE_LIMIT: Final = 1024
"""Events that may wait; more are dropped. A release that moves a few hundred workloads fits."""

_INSTANCE_LIMIT: Final = 128
_NAME_LIMIT: Final = 253

logger = logging.getLogger(__name__)


class EventType(StrEnum):
    """The two types that Kubernetes knows."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class _Waiting:
    path: str
    name: str
    body: JsonObject


class EventRecorder:
    """Writes events of events.k8s.io/v1 one after the other, in a task of its own.

    An event is named after its policy, reason and note: what repeats is counted on the event that
    is there already, also after a restart of the operator. It needs the verbs create and patch.
    """

    def __init__(
        self,
        connection: Connection,
        instance: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`instance` is the name of the pod or host. Must be made in a running event loop."""
        self._connection = connection
        self._instance = instance[:_INSTANCE_LIMIT]
        self._now = now
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue(QUEUE_LIMIT)
        self._in_trouble = False
        self._writer = asyncio.create_task(self._write_all(), name="events")

    def record(
        self, policy: Mapping[str, Any], kind: EventType, reason: str, action: str, note: str
    ) -> None:
        """Hands an event over and returns at once.

        `policy` is the object as it was read, `reason` and `action` are CamelCase words for why and
        what, and `note` is for people; of the note, the first NOTE_LIMIT bytes are kept.
        """
        metadata = policy["metadata"]
        namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
        note = cut(note, NOTE_LIMIT)
        digest = hashlib.sha256(f"{uid} {reason} {note}".encode()).hexdigest()[:16]
        event_name = f"{name[: _NAME_LIMIT - 17].rstrip('.-')}.{digest}"
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": namespace, "name": event_name},
            "eventTime": _micro_time(self._now()),
            "reportingController": FIELD_MANAGER,
            "reportingInstance": self._instance,
            "type": kind.value,
            "reason": reason,
            "action": action,
            "note": note,
            "regarding": {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "namespace": namespace,
                "name": name,
                "uid": uid,
            },
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{quote(namespace, '')}/events"
        try:
            self._waiting.put_nowait(_Waiting(path, event_name, body))
        except asyncio.QueueFull:
            self._complain("too many are waiting")

    async def close(self, deadline: float) -> None:
        """Writes what waits, for at most `deadline` seconds, and ends."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._waiting.join(), deadline)
        self._writer.cancel()
        await asyncio.gather(self._writer, return_exceptions=True)

    async def _write_all(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                await self._write(event)
                self._in_trouble = False
            except ClusterError as error:
                self._complain(str(error))
            except Exception:
                logger.exception("an event was dropped")
            finally:
                self._waiting.task_done()

    async def _write(self, event: _Waiting) -> None:
        try:
            await self._connection.request("POST", event.path, body=event.body)
        except Conflict:
            await self._count_again(event)

    async def _count_again(self, event: _Waiting) -> None:
        """Raises the count of the event that is there.

        An empty patch reads it, since the Role has no need for the verb get.
        """
        stored = await self._patch(event, {})
        count = (stored.get("series") or {}).get("count", 1) + 1
        series = {"count": count, "lastObservedTime": event.body["eventTime"]}
        await self._patch(event, {"series": series})

    async def _patch(self, event: _Waiting, patch: JsonObject) -> JsonObject:
        return await self._connection.request(
            "PATCH",
            f"{event.path}/{event.name}",
            body=patch,
            content_type="application/merge-patch+json",
        )

    def _complain(self, why: str) -> None:
        """Once per stretch of trouble, not once per event."""
        if not self._in_trouble:
            self._in_trouble = True
            logger.warning("events are not written for now: %s", why)


def cut(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8, cut between characters."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    ellipsis = "…"
    return encoded[: limit - len(ellipsis.encode())].decode(errors="ignore") + ellipsis


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
