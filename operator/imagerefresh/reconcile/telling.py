"""What a run tells: the policy's status, written once and only if it says something new, and the
events and log lines (B27).
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.errors import Conflict, NotFound
from imagerefresh.cluster.events import EventRecorder, EventType
from imagerefresh.plan.news import News
from imagerefresh.plan.summary import tells_something_new
from imagerefresh.reconcile.track import Track
from imagerefresh.telemetry.metrics import Metrics

logger = logging.getLogger(__name__)
TRIES = 3


@dataclass(frozen=True, slots=True)
class Teller:
    """Writes status, events, log lines and counters."""

    cluster: Cluster
    events: EventRecorder
    metrics: Metrics

    def spread(self, policy: Mapping[str, Any], news: Iterable[News]) -> None:
        """Each of the news once: an event, a log line."""
        for item in news:
            kind = EventType.WARNING if item.is_warning else EventType.NORMAL
            self.events.record(policy, kind, item.reason, item.action, item.note)
            level = logging.WARNING if item.is_warning else logging.INFO
            logger.log(level, "%s: %s", item.reason, item.note)
            self._count(policy, item.reason)

    def _count(self, policy: Mapping[str, Any], reason: Reason) -> None:
        namespace, name = policy["metadata"]["namespace"], policy["metadata"]["name"]
        match reason:
            case Reason.Asked:
                self.metrics.asked(namespace, name)
            case Reason.Recorded:
                self.metrics.recorded(namespace, name)
            case Reason.RolloutFailed | Reason.Rejected | Reason.RolledBack | Reason.DigestMismatch:
                self.metrics.failed(namespace, name)
            case _:
                pass

    async def write(
        self, policy: Mapping[str, Any], track: Track, before: Status, after: Status
    ) -> None:
        """Writes the status if it tells something new. A policy that is gone or was replaced is
        left alone.
        """
        if not tells_something_new(before, after):
            track.news_told.clear()
            return
        try:
            stored = await self._patch_status(policy["metadata"], track.version(policy), after)
        except NotFound:
            track.is_gone = True
        else:
            track.has_written(stored, after)
            track.news_told.clear()

    async def _patch_status(
        self, metadata: Mapping[str, Any], version: str, status: Status
    ) -> dict[str, Any]:
        """Patches at the newest version; a policy of the same name is another policy."""
        namespace, name = metadata["namespace"], metadata["name"]
        for _ in range(TRIES):
            try:
                return await self.cluster.patch_status(namespace, name, status.to_json(), version)
            except Conflict:
                current = (await self.cluster.get_policy(namespace, name))["metadata"]
                if current["uid"] != metadata["uid"]:
                    raise NotFound("the policy was replaced") from None
                version = current["resourceVersion"]
        raise Conflict("the policy is being changed all the time")
