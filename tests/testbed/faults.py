"""A write on its way to the API server, and what can become of it."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeAlias

from testbed.api import Manifest


@dataclass
class Write:
    """A write as it came in; `number` counts from 1, `path` is the object's or the collection's.

    `resource` is plural, `subresource` and `name` may be empty. `status` is what the API server
    answered, and None as long as it has not.
    """

    number: int
    method: str
    path: str
    namespace: str
    resource: str
    name: str
    subresource: str
    body: object
    status: int | None = None


@dataclass(frozen=True)
class Refusal:
    """Answered with a Status, as the API server words it, and not done.

    `retry_after` is in seconds, for 429.
    """

    code: int
    reason: str
    message: str
    retry_after: int | None = None
    is_done: bool = field(default=False, init=False)

    def body(self) -> Manifest:
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        }

    def headers(self) -> Mapping[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


@dataclass(frozen=True)
class Cut:
    """The connection is closed instead of an answer; the write was done if `is_done`."""

    is_done: bool


@dataclass(frozen=True)
class Hold:
    """No answer until the client is gone; the write was done before that if `is_done`.

    `reached` is set when it is held.
    """

    is_done: bool
    reached: threading.Event = field(default_factory=threading.Event)


Fault: TypeAlias = Refusal | Cut | Hold
Plan: TypeAlias = Callable[[Write], Fault | None]
"""What is to become of a write. Called in the proxy's own thread, so it must not wait."""


FORBIDDEN = Refusal(
    HTTPStatus.FORBIDDEN,
    "Forbidden",
    "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: not now",
)
CONFLICT = Refusal(
    HTTPStatus.CONFLICT,
    "Conflict",
    "Operation cannot be fulfilled: the object has been modified; please apply your changes to the"
    " latest version and try again",
)
FAILURE = Refusal(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "InternalError",
    "Internal error occurred: etcdserver: trouble",
)
THROTTLE = Refusal(
    HTTPStatus.TOO_MANY_REQUESTS,
    "TooManyRequests",
    "too many requests, please try again later",
    retry_after=1,
)


def as_write(number: int, method: str, path: str, body: bytes) -> Write:
    """Takes apart a path such as /apis/apps/v1/namespaces/NAMESPACE/deployments/NAME/status."""
    parts = path.strip("/").split("/")
    length = 2 if parts[0] == "api" else 3
    root, rest = parts[:length], parts[length:]
    is_namespaced = len(rest) > 2 and rest[0] == "namespaces"
    scope, rest = (rest[:2], rest[2:]) if is_namespaced else ([], rest)
    resource, name, subresource = [*rest, "", "", ""][:3]
    return Write(
        number=number,
        method=method,
        path="/" + "/".join(filter(None, [*root, *scope, resource, name])),
        namespace=scope[1] if scope else "",
        resource=resource,
        name=name,
        subresource=subresource,
        body=json.loads(body) if body else None,
    )
