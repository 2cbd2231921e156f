"""The docker config forms that pull secrets hold: from their bytes to credentials, each with the
hosts that it is meant for.

Tolerant, since one bad entry must not take the others along (B10): what can't be used becomes a
problem in words. These never quote what an entry holds.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from imagerefresh.registry.outcomes import Credential

_MAX_KEY = 1024
_SCHEME = re.compile(r"\Ahttps?://", re.ASCII)
_VERSION = re.compile(r"\A/v[12](?=/)", re.ASCII)
# What may be shown of a key: it is a host by all appearances, with a path or without.
_SHOWN_KEY = re.compile(
    r"(?=localhost\b|[^/]*[.:])[\w.*-]{1,255}(:[0-9]{1,5})?(/[\w./-]{0,255})?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What an entry is meant for: its key, without the scheme and a version in the path.

    Attributes:
        host: in lower case, with the port if there is one; labels may be patterns.
        path: of the images that it is meant for, "" for all, else it begins with a slash.
    """

    host: str
    path: str = ""

    def __str__(self) -> str:
        return self.host + self.path


@dataclass(frozen=True, slots=True)
class DockerConfig:
    """What one secret holds: its usable entries in order, and what is wrong with the others."""

    entries: tuple[tuple[Scope, Credential], ...] = ()
    problems: tuple[str, ...] = ()


class _Unusable(Exception):  # noqa: N818 it is no fault of ours
    """Why an entry, or a whole config, gives no credential."""


def read_docker_config(content: bytes, source: str, *, is_legacy: bool = False) -> DockerConfig:
    """Read the content of a pull secret; never raises.

    Args:
        content: of the key `.dockerconfigjson`, or `.dockercfg`.
        source: what people call the secret; credentials and problems bear it.
        is_legacy: it is of `.dockercfg`, which is the map of entries itself.
    """
    try:
        document = _object(_decoded(content), "its content")
        entries = document if is_legacy else _object(document.get("auths") or {}, "auths")
    except _Unusable as why:
        return DockerConfig(problems=(f"{source}: {why}",))
    found, problems = [], []
    if not is_legacy:
        problems += [f"{source}: {told}" for told in _told_stores(document)]
    for key, entry in entries.items():
        try:
            scope = _scope(key)
            found.append((scope, _credential(_object(entry, "it"), source)))
        except _Unusable as why:
            problems.append(f"{source}: the entry {_shown(key)} can't be used: {why}")
    if not found and not problems:
        problems.append(f"{source}: it has no entries")
    return DockerConfig(tuple(found), tuple(problems))


def _decoded(content: bytes) -> object:
    try:
        document: object = json.loads(content.rstrip(b"\0"))
    # Without a cause: its text quotes the content.
    except json.JSONDecodeError as error:
        raise _Unusable(f"its content is not JSON (line {error.lineno})") from None
    except (ValueError, RecursionError):
        raise _Unusable("its content is not JSON") from None
    return document


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _Unusable(f"{what} is not a JSON object")
    return value


def _told_stores(document: Mapping[str, object]) -> Iterator[str]:
    for name in ("credsStore", "credHelpers"):
        if document.get(name):
            yield f"{name} can't be used: its programs are not there; put the credentials in auths"


def _credential(entry: Mapping[str, object], source: str) -> Credential:
    username, password = _text(entry, "username"), _text(entry, "password")
    if auth := _text(entry, "auth"):
        username, password = _split(auth)  # it wins over the plain fields
    credential = Credential(
        source,
        username=username,
        password=password,
        identity_token=_text(entry, "identitytoken"),
        registry_token=_text(entry, "registrytoken"),
    )
    if not (username or credential.identity_token or credential.registry_token):
        raise _Unusable("it holds no credentials")
    return credential


def _text(entry: Mapping[str, object], name: str) -> str:
    value = entry.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unusable(f"its {name} is not a string")
    return value


def _split(auth: str) -> tuple[str, str]:
    """Take user name and password from the field `auth`."""
    text = "".join(auth.split()).rstrip("=")
    try:
        pair = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise _Unusable("its auth is not base64") from None
    try:
        username, colon, password = pair.decode().partition(":")
    except UnicodeDecodeError:
        raise _Unusable("its auth is not UTF-8 text") from None
    if not colon:
        raise _Unusable("its auth holds no user name and password with a colon between them")
    return username, password.rstrip("\0\r\n")


def _scope(key: str) -> Scope:
    if len(key) > _MAX_KEY:
        raise _Unusable("its name is too long")
    authority, slash, path = _SCHEME.sub("", key).partition("/")
    path = _VERSION.sub("", slash + path)
    host = authority.rpartition("@")[2].lower()
    if not host:
        raise _Unusable("it names no host")
    return Scope(host, "" if path == "/" else path)


def _shown(key: str) -> str:
    """Quote a key, if that is surely no secret."""
    rest = _SCHEME.sub("", key)
    return f'"{rest}"' if _SHOWN_KEY.fullmatch(rest) else "with an unusual name"
