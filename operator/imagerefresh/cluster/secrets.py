"""Pull secrets, and the ServiceAccounts that name some: read where the operator's Role lets it.

Optional rights (B28): what may not be read, is missing or is no pull secret is said, and is no
error (B10). What a secret holds is not looked into here.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote
from weakref import WeakValueDictionary

from imagerefresh.cluster.connection import Connection, JsonObject
from imagerefresh.cluster.errors import NotFound, Refused

KEPT_FOR: Final = 60.0
"""Seconds for which an answer is kept for the other policies of the same turn; no longer, since it
may hold credentials."""

_CONTENT_KEYS: Final[Mapping[str, str]] = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
}
_COMPONENT: Final = "see deploy/components/pull-secrets"


@dataclass(frozen=True, slots=True)
class PullSecret:
    """The content of a pull secret; `is_legacy` tells the older of the two types."""

    content: bytes = field(repr=False)
    is_legacy: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why there is nothing to use, for people. `is_missing`: the object does not exist."""

    message: str
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one request brought, and the monotonic time at which it was sent."""

    sent_at: float
    found: JsonObject | Unreadable = field(repr=False)


_Key = tuple[str, str, str]


class PullSecrets:
    """Reads Secrets and ServiceAccounts, for policies that look at the same moment once.

    `fresh_since` is in seconds of the monotonic clock: an answer to a request that was sent before
    it does not count. So a change is noticed at the next turn. What fails otherwise, because the
    API server can't answer now, raises a `ClusterError`.
    """

    def __init__(
        self, connection: Connection, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connection
        self._monotonic = monotonic
        self._answers: dict[_Key, _Answer] = {}
        self._locks: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    async def secret(
        self, namespace: str, name: str, fresh_since: float
    ) -> PullSecret | Unreadable:
        """The content of a pull secret."""
        found = await self._get(namespace, "secrets", name, fresh_since)
        return found if isinstance(found, Unreadable) else _content(found, name)

    async def account_secrets(
        self, namespace: str, name: str, fresh_since: float
    ) -> tuple[str, ...] | Unreadable:
        """The names of the pull secrets that a ServiceAccount gives its pods."""
        found = await self._get(namespace, "serviceaccounts", name, fresh_since)
        return found if isinstance(found, Unreadable) else secret_names(found)

    async def _get(
        self, namespace: str, plural: str, name: str, fresh_since: float
    ) -> JsonObject | Unreadable:
        key = (namespace, plural, name)
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._answers.get(key)
            if known is None or known.sent_at < fresh_since:
                self._forget_old()
                known = _Answer(self._monotonic(), await self._ask(key))
                self._answers[key] = known
            return known.found

    async def _ask(self, key: _Key) -> JsonObject | Unreadable:
        namespace, plural, name = key
        path = f"/api/v1/namespaces/{quote(namespace, '')}/{plural}/{quote(name, '')}"
        what = f'secret "{name}"' if plural == "secrets" else f'ServiceAccount "{name}"'
        try:
            return await self._connection.request("GET", path)
        except NotFound:
            return Unreadable(f"{what} does not exist", is_missing=True)
        except Refused as error:
            if not error.forbidden_by_rbac:
                return Unreadable(f"{what} can't be read: {error}")
            right = f"the right to get {plural} named {name}"
            return Unreadable(f"{what} may not be read: the operator needs {right} ({_COMPONENT})")

    def _forget_old(self) -> None:
        oldest = self._monotonic() - KEPT_FOR
        for key in [key for key, answer in self._answers.items() if answer.sent_at < oldest]:
            del self._answers[key]


def secret_names(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The names under `imagePullSecrets` of a pod's spec or of a ServiceAccount."""
    references = spec.get("imagePullSecrets") or ()
    return tuple(each["name"] for each in references if each.get("name"))


def _content(secret: JsonObject, name: str) -> PullSecret | Unreadable:
    kind = secret.get("type") or "Opaque"
    key = _CONTENT_KEYS.get(kind)
    if key is None:
        return Unreadable(
            f'secret "{name}" is of type {kind}: a pull secret is of type {min(_CONTENT_KEYS)}'
            f" or {max(_CONTENT_KEYS)}"
        )
    content = (secret.get("data") or {}).get(key)
    if not content:
        return Unreadable(f'secret "{name}" has nothing under the key {key}')
    try:
        return PullSecret(base64.b64decode(content, validate=True), key == ".dockercfg")
    except (binascii.Error, ValueError):
        return Unreadable(f'secret "{name}" can\'t be decoded')
