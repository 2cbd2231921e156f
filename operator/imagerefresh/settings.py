"""Every knob of the process, from environment variables. What concerns one policy is its spec's."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

from imagerefresh.registry import Proxies, read_environment

PREFIX: Final = "IMAGEREFRESH_"
MAX_PORT: Final = 2**16 - 1

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")

_SERVICE_LINK: Final = re.compile(
    r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes sets in a pod for each Service of its namespace: one that is named `imagerefresh`
must not pass for a typing error."""


class SettingsError(ValueError):
    """The environment can't be used; one line per problem, each says what to do."""


class LogFormat(StrEnum):
    """`text` for people, `json` for log collectors."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """The levels of Python's logging, in lower case."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. An IPv6 host has no brackets here; port 0 lets the system choose."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process; they don't change while it runs."""

    namespaces: tuple[str, ...] = ()
    """IMAGEREFRESH_NAMESPACES: comma-separated names of the namespaces to watch. None means the
    whole cluster, which needs a ClusterRole."""

    http_address: Address = Address("0.0.0.0", 8080)  # noqa: S104 (the kubelet comes from outside the pod)
    """IMAGEREFRESH_HTTP_ADDRESS: host:port where /healthz, /readyz and /metrics are served."""

    allow_insecure_registries: bool = False
    """IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES: true or false, whether all registries on loopback
    addresses may be used, in plain http too (B28). A setting of the process, since whoever
    writes a policy must not reach what listens on the node."""

    registries_file: Path | None = None
    """IMAGEREFRESH_REGISTRIES_FILE: path of a file that says more about registries: certificates,
    proxies, mirrors, limits, credentials; see docs/registries.md. It is read again when it
    changes."""

    proxies: Proxies = field(default_factory=Proxies)
    """HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or the same in lower case: how registries are reached
    as far as the registries file does not say. The API server is always asked directly."""

    log_format: LogFormat = LogFormat.TEXT
    """IMAGEREFRESH_LOG_FORMAT: text or json."""

    log_level: LogLevel = LogLevel.INFO
    """IMAGEREFRESH_LOG_LEVEL: debug, info, warning or error."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Reads the settings; a variable that is absent or empty means the default.

        Raises:
            SettingsError: everything that is wrong, at once. An unknown variable with our prefix is
                wrong too: a typing error must not pass in silence.
        """
        values: dict[str, Any] = {}
        problems: list[str] = []
        try:
            values["proxies"] = read_environment(environment)
        except ValueError as error:
            problems.append(str(error))
        for variable, text in sorted(environment.items()):
            if not variable.startswith(PREFIX):
                continue
            knob = variable.removeprefix(PREFIX)
            if knob not in _PARSERS:
                if not _SERVICE_LINK.fullmatch(knob):
                    problems.append(f"{variable} is unknown; known are {', '.join(VARIABLES)}")
            elif text.strip():
                try:
                    values[knob.lower()] = _PARSERS[knob](text.strip())
                except ValueError as error:
                    problems.append(f"{variable}: {error}")
        if problems:
            raise SettingsError("\n".join(problems))
        return cls(**values)


def _namespaces(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a namespace; separate names by commas")
    return tuple(dict.fromkeys(names))


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if (
        not colon
        or not _HOST.fullmatch(host)
        or not re.fullmatch(r"\d{1,5}", port)
        or int(port) > MAX_PORT
    ):
        raise ValueError(f"{text!r} is not host:port, such as 0.0.0.0:8080 or [::]:8080")
    return Address(host.strip("[]"), int(port))


def _path(text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise ValueError(f"{text!r} is not an absolute path")
    return path


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _choice(kind: type[StrEnum]) -> Callable[[str], StrEnum]:
    def parse(text: str) -> StrEnum:
        try:
            return kind(text.lower())
        except ValueError:
            raise ValueError(f"{text!r} is not one of {', '.join(kind)}") from None

    return parse


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    "NAMESPACES": _namespaces,
    "HTTP_ADDRESS": _address,
    "ALLOW_INSECURE_REGISTRIES": _boolean,
    "REGISTRIES_FILE": _path,
    "LOG_FORMAT": _choice(LogFormat),
    "LOG_LEVEL": _choice(LogLevel),
}

VARIABLES: Final = tuple(PREFIX + knob for knob in _PARSERS)
"""The names of all variables, in the order of the fields."""
