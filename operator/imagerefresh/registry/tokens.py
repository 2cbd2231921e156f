"""Bearer tokens: asked for once, shared while they last, renewed in good time.

A token is kept under everything it depends on, the identity of the credential included, so one
caller's token never serves another (B10). Where the token service may be is decided in `realm`.
"""

import asyncio
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from yarl import URL

from imagerefresh.registry.login import Login
from imagerefresh.registry.lru import LRU
from imagerefresh.registry.messages import Answer, Request
from imagerefresh.registry.outcomes import DeniedError, RegistryError, TroubleReason
from imagerefresh.registry.transport import Transport
from imagerefresh.registry.urls import host_port

_CLIENT_ID = "imagerefresh"
_MAX_BODY = 256 * 1024
_MAX_TOKENS = 2048
_MIN_LIFE = 60.0
_MAX_LIFE = 86400.0
_REFUSAL_LIFE = 45.0
# 400 is OAuth2's word for a grant that is not accepted.
_DENIALS = frozenset({400, 401, 403})
_UNAUTHORIZED = 401
_NO_POST = frozenset({404, 405})


@dataclass(frozen=True, slots=True)
class TokenScope:
    """What a token is for: part of its key.

    Attributes:
        registry: host and port that challenged, the only one that will see the token.
        service_url: the token service.
        service: the service parameter as challenged, "" if there was none.
        scope: the scopes as challenged, separated by spaces.
    """

    registry: str
    service_url: URL
    service: str
    scope: str


@dataclass(frozen=True, slots=True)
class Token:
    """A token and whether it has been used before, so that a refusal may only mean expiry."""

    value: str = field(repr=False)
    used: bool


@dataclass(slots=True)
class _Kept:
    value: str = field(repr=False)
    expires_at: float


# What a token, or its refusal, depends on: the last part is the identity of the login.
_Key = tuple[TokenScope, bytes]
_RefusalKey = tuple[TokenScope | tuple[URL, str], bytes]


class TokenSource:
    """Gets tokens, one exchange at a time for each key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._kept: LRU[_Key, _Kept] = LRU(_MAX_TOKENS)
        self._refused: LRU[_RefusalKey, tuple[float, str]] = LRU(_MAX_TOKENS)
        self._exchanges: dict[_Key, asyncio.Task[_Kept]] = {}

    async def close(self) -> None:
        """End the exchanges in flight."""
        for task in list(self._exchanges.values()):
            task.cancel()
        await asyncio.gather(*self._exchanges.values(), return_exceptions=True)

    async def get(self, scope: TokenScope, login: Login) -> Token:
        """Return a token; raises DeniedError if refused, else RegistryError."""
        key = (scope, login.identity)
        now = time.monotonic()
        kept = self._kept.get(key)
        if kept is not None and now < kept.expires_at:
            return Token(kept.value, used=True)
        self._raise_if_refused(scope, login, now)
        task = self._exchanges.get(key)
        if task is None:
            task = asyncio.create_task(self._exchange(scope, login))
            self._exchanges[key] = task
            task.add_done_callback(lambda done: self._exchanged(key, done))
        # The exchange outlives a caller that goes away: others may wait for it.
        kept = await asyncio.shield(task)
        return Token(kept.value, used=False)

    def drop(self, scope: TokenScope, login: Login, value: str) -> None:
        """Forget a token that the registry refused, unless it has been replaced meanwhile."""
        kept = self._kept.get((scope, login.identity))
        if kept is not None and kept.value == value:
            self._kept.pop((scope, login.identity))

    def _exchanged(self, key: _Key, task: asyncio.Task[_Kept]) -> None:
        del self._exchanges[key]
        if not task.cancelled():
            task.exception()  # whoever waited has got it; if all went away, nobody needs it

    def _raise_if_refused(self, scope: TokenScope, login: Login, now: float) -> None:
        for key in (scope, (scope.service_url, scope.service)):
            refused = self._refused.get((key, login.identity))
            if refused is not None and now < refused[0]:
                raise DeniedError(refused[1])

    async def _exchange(self, scope: TokenScope, login: Login) -> _Kept:
        started = time.monotonic()
        answer = await self._ask(scope, login)
        if answer.status in _DENIALS:
            text = answer.error_text()
            # A wrong password is wrong for every scope: asking again for each may lock an account.
            of_login = answer.status == _UNAUTHORIZED and login.identity
            about = (scope.service_url, scope.service) if of_login else scope
            self._refused.put((about, login.identity), (started + _REFUSAL_LIFE, text))
            raise DeniedError(text)
        value, life = _read_token(answer)
        kept = _Kept(value, started + life - min(10.0, life / 10))
        self._kept.put((scope, login.identity), kept)
        return kept

    async def _ask(self, scope: TokenScope, login: Login) -> Answer:
        if login.identity_token:
            answer = await self._transport.send(_post(scope, login), follow=False)
            if answer.status not in _NO_POST or not login.basic:
                return answer
        return await self._transport.send(_get(scope, login), follow=False)


def _get(scope: TokenScope, login: Login) -> Request:
    query = [("service", scope.service)] if scope.service else []
    query += [("scope", part) for part in scope.scope.split()]
    headers = {"Authorization": login.basic} if login.basic else {}
    url = scope.service_url.extend_query(query)
    return Request("GET", url, headers, max_body=_MAX_BODY)


def _post(scope: TokenScope, login: Login) -> Request:
    form = {
        "grant_type": "refresh_token",
        "refresh_token": login.identity_token,
        "client_id": _CLIENT_ID,
        "scope": scope.scope,
    }
    if scope.service:
        form["service"] = scope.service
    return Request("POST", scope.service_url, {}, max_body=_MAX_BODY, form=form)


def _read_token(answer: Answer) -> tuple[str, float]:
    """Return a token and its life in seconds; raises RegistryError if there is none."""
    name = f"token service {host_port(answer.url)}"
    if answer.status in range(300, 400):
        raise RegistryError(
            TroubleReason.RegistryMisconfigured,
            f"{name}: a redirect, which is not followed; correct the realm that the registry names",
        )
    if answer.status not in range(200, 300):
        raise RegistryError.unavailable(name, f"unexpected answer HTTP {answer.status}")
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        for key in ("access_token", "token"):
            value = document.get(key)
            if isinstance(value, str) and value and all("!" <= c <= "~" for c in value):
                return value, _life(document)
    raise RegistryError.unavailable(name, "an answer without a token")


def _life(document: Mapping[str, object]) -> float:
    """Return how long a token is good for; one minute unless more is promised."""
    seconds = document.get("expires_in")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        if math.isnan(seconds):
            return _MIN_LIFE
        return float(min(max(seconds, _MIN_LIFE), _MAX_LIFE))
    return _MIN_LIFE
