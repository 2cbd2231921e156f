"""The words in which the registry client speaks to the rest: settings, credentials, answers.

No I/O and no decisions. Nothing in here shows a secret in its repr.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class TroubleReason(StrEnum):
    """Why a reference has no digest for us now; the values appear in the status of policies."""

    ImageNotFoundOrDenied = "ImageNotFoundOrDenied"
    NotAnImage = "NotAnImage"
    RateLimited = "RateLimited"
    RegistryUnavailable = "RegistryUnavailable"
    RegistryMisconfigured = "RegistryMisconfigured"


_TRANSIENT = frozenset({TroubleReason.RateLimited, TroubleReason.RegistryUnavailable})


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the registry serves for a tag.

    Attributes:
        digest: the top-level digest, that of the index where there is one.
        media_type: of the manifest, without parameters; empty if the registry sent none.
        sent_at: `time.monotonic()` when the request was sent that this answers.
        rejected: sources of the credentials that the registry refused before one was accepted
            (or none was needed), in the order in which they were tried (B10).
        used: source of the credential that was accepted; "" if it came without one.
    """

    digest: str
    media_type: str
    sent_at: float
    rejected: tuple[str, ...] = ()
    used: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as the registry served it; the digest is that of the bytes."""

    digest: str
    media_type: str
    document: Mapping[str, object]
    sent_at: float


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why there is no digest.

    Attributes:
        reason: the kind of trouble.
        message: for people: what happened and what to do. It stays the same from one attempt to
            the next while the cause does: no times, request ids or changing addresses (B7).
        transient: it may pass by itself; False needs a person (B7, B8).
        retry_at: `time.monotonic()` before which asking again is pointless, if known.
        rejected: sources of the credentials that the registry refused, in order (B10).
    """

    reason: TroubleReason
    message: str
    transient: bool
    retry_at: float | None = None
    rejected: tuple[str, ...] = ()


class RegistryError(Exception):
    """Trouble on its way to the caller of `RegistryClient`, which returns it as a value."""

    def __init__(
        self, reason: TroubleReason, message: str, *, retry_at: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_at = retry_at

    @classmethod
    def unavailable(cls, host: str, cause: str) -> "RegistryError":
        """Return the error for a host that gave no usable answer; the cause is normalised."""
        message = f"{host}: {cause}; it is asked again by itself"
        return cls(TroubleReason.RegistryUnavailable, message)

    def trouble(self, rejected: Sequence[str] = ()) -> Trouble:
        """Return the value that callers see."""
        return Trouble(
            self.reason, self.message, self.reason in _TRANSIENT, self.retry_at, tuple(rejected)
        )


class DeniedError(RegistryError):
    """A login, or coming without one, was refused; another may be accepted.

    `text` is what the registry had to say, made fit for people.
    """

    def __init__(self, text: str) -> None:
        super().__init__(TroubleReason.ImageNotFoundOrDenied, text)
        self.text = text


class NotFoundError(DeniedError):
    """There is nothing by that name, as far as the registry tells this login."""


@dataclass(frozen=True, slots=True)
class Credential:
    """One way to log in to the registry of a reference. Who builds it has matched it to the image.

    Attributes:
        source: what people call it, such as ``secret "regcred"``; appears in messages.
        username: for Basic, and for the token service of a Bearer registry.
        password: goes with the user name.
        identity_token: exchanged at the token service (an OAuth2 refresh token).
        registry_token: sent to the registry as it is (a Bearer token).
    """

    source: str
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One HTTP request that was sent, for metrics and for people who debug.

    Attributes:
        method: HEAD, GET or POST.
        host: host and port of the server.
        status: the HTTP status, or None if none came.
        cause: why there is no complete answer, such as "connection refused"; None if there is.
        seconds: from sending until the answer was read.
        path: of the address, without the query.
        limits: names in lower case and values of the headers that tell about rate limits.
    """

    method: str
    host: str
    status: int | None
    cause: str | None
    seconds: float
    path: str = ""
    limits: tuple[tuple[str, str], ...] = ()


RequestHook = Callable[[RequestRecord], None]


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """What the process decides about all registries (B28). Times are in seconds.

    Attributes:
        user_agent: product and version, sent with every request.
        allow_insecure_loopback: registries on this machine may be asked, in plain http.
        timeout: for one answer, redirects included.
        connect_timeout: for one connection, TLS included.
        read_timeout: for the silence between two pieces of an answer.
        concurrency_per_host: requests in flight to one host at a time.
    """

    user_agent: str
    allow_insecure_loopback: bool = False
    timeout: float = 30.0
    connect_timeout: float = 10.0
    read_timeout: float = 20.0
    concurrency_per_host: int = 8
