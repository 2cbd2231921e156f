"""What the API server's audit log says about the requests of ServiceAccounts.

Only metadata is logged, and only for ServiceAccounts: the operator under test is one, the test
bed's own programs are not.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True)
class AuditedRequest:
    """One request. `code` is the HTTP status, `time` when it came in; names may be empty."""

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    time: datetime
    user_agent: str

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES


class AuditLog:
    """Reads on from where it stopped, so that polling it is cheap."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._position = 0
        self._requests: dict[str, AuditedRequest] = {}  # by audit ID: a watch has two entries

    def requests(
        self, user: str | None = None, *, since: datetime | None = None
    ) -> list[AuditedRequest]:
        """The requests that `user` made at or after `since`, in the order of their answers.

        A watch appears when it is answered, not when it ends. A request may appear a moment after
        its client has seen the answer.
        """
        self._read_on()
        return [
            request
            for request in self._requests.values()
            if (user is None or request.user == user) and (since is None or request.time >= since)
        ]

    def _read_on(self) -> None:
        for line in self._new_lines():
            entry = json.loads(line)
            self._requests.setdefault(entry["auditID"], _request(entry))

    def _new_lines(self) -> Iterator[bytes]:
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):  # still being written
                    return
                self._position += len(line)
                yield line


def service_account_user(namespace: str, name: str) -> str:
    """The user name under which the API server knows a ServiceAccount."""
    return f"system:serviceaccount:{namespace}:{name}"


def _request(entry: dict[str, Any]) -> AuditedRequest:
    target = entry.get("objectRef", {})
    return AuditedRequest(
        user=entry["user"]["username"],
        verb=entry["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", entry["requestURI"]),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=entry.get("responseStatus", {}).get("code", 0),
        time=datetime.fromisoformat(entry["requestReceivedTimestamp"]),
        user_agent=entry.get("userAgent", ""),
    )
