"""What can go wrong at the API server, so that no client library's exception leaves this package.

    ClusterError
    ├── NotConfigured   no API server is known: neither a service account nor a kubeconfig
    ├── NotFound        404: the object is not there
    ├── NotServed       404 in nobody's words: nothing is served at that path, or a proxy answered
    ├── Conflict        409: somebody else wrote first, or the name is taken
    ├── Refused         the answer is no: 403, 422, another 4xx, an admission webhook or policy
    ├── Throttled       429: come back after `retry_after` seconds
    ├── Unauthorized    401, even with a token read again
    └── Unavailable     5xx, a timeout, no connection, an answer that is not JSON

The text of each is one bounded line that may be shown to people: the words of a Kubernetes Status,
never the body of anything else (a proxy's error page may hold what nobody should see).
"""
# ruff: noqa: N818 (these are read as `except Conflict`, in the words of the API)

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

MESSAGE_LIMIT: Final = 512
"""Characters of the server's words that are kept: a policy's message with its name fits."""

DEFAULT_RETRY_AFTER: Final = 1.0
"""Seconds to wait after a 429 that does not say, as the API server asks when it does."""

_ADMISSION: Final = re.compile(
    r'^admission webhook ".*?" denied the request'
    r"|failed calling webhook|(Valid|Mut)atingAdmissionPolicy",
    re.DOTALL,
)
"""The words of admission control. A webhook chooses any status code for its denial, and a broken
one shows as a 500 of a server that is well: only the words tell."""

_FORBIDDEN_BY_RBAC: Final = re.compile(r'User "[^"]*" cannot \S+ resource ')
"""The words of an authorizer; an admission denial, also a 403, does not have them."""


class ClusterError(Exception):
    """Any failure of a call to the API server; its text is one bounded line, no credentials."""


class NotConfigured(ClusterError):
    """Neither a pod's service account nor a usable kubeconfig; only when connecting."""


class NotFound(ClusterError):
    """The object does not exist."""


class NotServed(ClusterError):
    """The server knows no such path, or something before it answered: says nothing of an object.

    The API server words the 404 of an object as a Status, and that of an unknown path not at all.
    """


class Conflict(ClusterError):
    """The resourceVersion is not the current one, or an object of this name exists already."""


class Refused(ClusterError):
    """The server or an admission webhook or policy says no; at once again would not help (B29).

    `forbidden_by_rbac` is true when the operator's own Role lacks the permission.
    """

    def __init__(self, message: str, *, forbidden_by_rbac: bool = False) -> None:
        super().__init__(message)
        self.forbidden_by_rbac = forbidden_by_rbac


class Throttled(ClusterError):
    """The server asks to wait `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unauthorized(ClusterError):
    """The token is not accepted, and reading it again did not help."""


class Unavailable(ClusterError):
    """The server can't answer now; nothing is known about what became of a write."""


_BY_CODE: Final[Mapping[int, type[ClusterError]]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.REQUEST_TIMEOUT: Unavailable,
    HTTPStatus.CONFLICT: Conflict,
}


def error_from_answer(code: int, headers: Mapping[str, str], body: bytes) -> ClusterError:
    """Translates an HTTP answer other than 2xx."""
    said = _status_message(body)
    message = f"{one_line(said)} (HTTP {code})" if said else f"HTTP {code} from the API server"
    if _ADMISSION.search(said):
        return Refused(message)
    if code == HTTPStatus.FORBIDDEN:
        return Refused(message, forbidden_by_rbac=bool(_FORBIDDEN_BY_RBAC.search(said)))
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return Throttled(message, retry_after=_retry_after(headers))
    is_refusal = HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR
    if code == HTTPStatus.NOT_FOUND and not said:
        return NotServed(message)
    return _BY_CODE.get(code, Refused if is_refusal else Unavailable)(message)


def one_line(text: str) -> str:
    """Bounded, on one line, without control characters."""
    start = text[: 4 * MESSAGE_LIMIT]
    line = " ".join("".join(c if c.isprintable() else " " for c in start).split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "…"


def _status_message(body: bytes) -> str:
    """The message of a Kubernetes Status, or an empty text for any other body."""
    try:
        status = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return ""
    message = status.get("message")
    return message if isinstance(message, str) else ""


def _retry_after(headers: Mapping[str, str]) -> float:
    """The API server sends whole seconds; anything else counts as absent."""
    text = headers.get("Retry-After", "")
    return float(text) if re.fullmatch(r"[0-9]{1,9}", text) else DEFAULT_RETRY_AFTER
