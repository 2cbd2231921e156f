"""What a process costs and how often it asks, read where neither it nor the reading is disturbed.

The kernel counts processor time and memory, the registry's own access log the requests to it, and
the API server's audit log those to the API server.
"""

import math
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from testbed.audit import AuditLog

_TICKS = os.sysconf("SC_CLK_TCK")
_MANIFEST_REQUEST = re.compile(rb':(\d\d) [+-]\d{4}\] "(?:HEAD|GET) /v2/[^ "]+/manifests/')
"""With the second of its minute: the log has no finer time."""


@dataclass(frozen=True)
class Cost:
    """Of a stretch of time: `seconds` of wall clock and of processor time, and requests.

    `busiest_second` is the share of the registry requests that came in the same second of a turn.
    """

    seconds: float
    processor_seconds: float
    registry_requests: int
    busiest_second: float
    api_requests: int
    api_writes: int


class Meter:
    """Measures one operator process from its making to `read`."""

    def __init__(
        self, pid: int, registry_log: Path, audit: AuditLog, user: str, *, turn: int
    ) -> None:
        """`turn` is the interval of the policies, a part of a minute in seconds."""
        self._turn = turn
        self._pid, self._log, self._audit, self._user = pid, registry_log, audit, user
        self._position = registry_log.stat().st_size
        self._since = datetime.now(UTC)
        self._processor = processor_seconds(pid)
        self._began = time.monotonic()

    def read(self) -> Cost:
        """The cost since the beginning."""
        seconds = time.monotonic() - self._began
        processor = processor_seconds(self._pid) - self._processor
        with self._log.open("rb") as log:
            log.seek(self._position)
            times = _MANIFEST_REQUEST.findall(log.read())
        in_second = Counter(int(time) % self._turn for time in times)
        requests = self._audit.requests(self._user, since=self._since)
        return Cost(
            seconds,
            processor,
            len(times),
            max(in_second.values(), default=0) / max(len(times), 1),
            len(requests),
            sum(request.is_write for request in requests),
        )


def processor_seconds(pid: int) -> float:
    """User and system time of all threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_bytes(pid: int) -> int:
    """The memory that the process holds now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ranked = sorted(values)
    return ranked[math.ceil(len(ranked) * share) - 1]
