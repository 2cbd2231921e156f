"""Requests with the authorization that their registry asks for, and with no more.

The first request to a registry goes out bare; what it demands is remembered, so that later ones
bring it along. Each request is authorised anew at most once (B10).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from yarl import URL

from imagerefresh.registry.challenge import Challenge, parse_challenges
from imagerefresh.registry.login import ANONYMOUS, Login
from imagerefresh.registry.lru import LRU
from imagerefresh.registry.messages import Answer, Request
from imagerefresh.registry.outcomes import (
    DeniedError,
    RegistryError,
    TroubleReason,
)
from imagerefresh.registry.realm import may_see_credentials, token_service
from imagerefresh.registry.tokens import TokenScope, TokenSource
from imagerefresh.registry.transport import Transport
from imagerefresh.registry.urls import host_port

_MAX_DEMANDS = 4096
_MAX_BODY = 64 * 1024
_SILENT_FOR = 600.0
_BAD_REQUEST = 400
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class _Basic:
    """The registry demands a user name and password."""


_BASIC = _Basic()
_Demand = _Basic | TokenScope | None


@dataclass(frozen=True, slots=True)
class _Authorization:
    """What a request brings along, and for which demand.

    `kept_token` is the token in it if it was used before, so that it may have expired.
    """

    header: str = field(default="", repr=False)
    demand: _Demand = None
    kept_token: str = field(default="", repr=False)


_BARE = _Authorization()


class Authenticator:
    """Sends requests in the name of logins, and answers challenges."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._tokens = TokenSource(transport)
        # What each host last demanded: of all for a guess, and for each of our scopes.
        self._demands: LRU[str | tuple[str, str], _Basic | TokenScope] = LRU(_MAX_DEMANDS)
        # Hosts that were asked in vain, or just now, what they demand; monotonic times.
        self._silent_until: LRU[str, float] = LRU(_MAX_DEMANDS)

    async def close(self) -> None:
        """End what is in flight."""
        await self._tokens.close()

    async def send(
        self, request: Request, scope: str, login: Login, on_sent: Callable[[float], None]
    ) -> Answer:
        """Send a request in the name of a login.

        Args:
            request: without Authorization.
            scope: what to ask a token for as long as the registry has not said.
            login: goes to this registry and its token service only.
            on_sent: told the monotonic time each time that the request is about to be sent.

        Returns:
            The answer; one with status 401 means that the login is not enough.

        Raises:
            DeniedError: the token service refused the login.
            RegistryError: other trouble.
        """
        sent = await self._prepare(request.url, scope, login)
        answer = await self._send(request, sent, scope, on_sent)
        if host_port(answer.url) != host_port(request.url):
            return answer
        if answer.status == _UNAUTHORIZED:
            demand = (
                self._demanded(answer, scope)
                or sent.demand
                or await self._ask_base(request.url, scope)
            )
        elif answer.status == _BAD_REQUEST and sent.kept_token:  # ECR Public's word for "expired"
            demand = sent.demand
        else:
            return answer
        if sent.kept_token and isinstance(sent.demand, TokenScope):
            self._tokens.drop(sent.demand, login, sent.kept_token)
        elif demand == sent.demand:
            return answer
        again = await self._authorize(demand, request.url, login)
        if not again.header:
            return answer
        return await self._send(request, again, scope, on_sent)

    async def _send(
        self,
        request: Request,
        authorization: _Authorization,
        scope: str,
        on_sent: Callable[[float], None],
    ) -> Answer:
        """Send a request; the host that a redirect leads to gets what anybody could give it."""
        answer = await self._transport.send(_with(request, authorization), on_sent=on_sent)
        if answer.status != _UNAUTHORIZED or host_port(answer.url) == host_port(request.url):
            return answer
        demand = self._demanded(answer, scope)
        again = await self._authorize(demand, answer.url, ANONYMOUS)
        if not again.header:
            return answer
        request = _with(request._replace(url=answer.url), again)
        return await self._transport.send(request, on_sent=on_sent)

    async def _ask_base(self, url: URL, scope: str) -> _Demand:
        """Ask a registry that refused without a challenge what it demands: where its API begins,
        it has to say so (OCI distribution specification, "Determining Support").
        """
        host, now = host_port(url), time.monotonic()
        if now < (self._silent_until.get(host) or 0.0):
            return None
        self._silent_until.put(host, now + _SILENT_FOR)
        try:
            base = Request("GET", url.with_path("/v2/"), {}, max_body=_MAX_BODY)
            answer = await self._transport.send(base, follow=False)
        except RegistryError:
            return None  # what it said to the request in question still stands
        return self._demanded(answer, scope) if answer.status == _UNAUTHORIZED else None

    async def _prepare(self, url: URL, scope: str, login: Login) -> _Authorization:
        """Meet what the host is known, or guessed, to demand for a scope."""
        host = host_port(url)
        demand: _Demand = self._demands.get((host, scope))
        is_guess = demand is None
        if is_guess:
            demand = self._demands.get(host)
            if isinstance(demand, TokenScope):
                demand = replace(demand, scope=scope)
        try:
            return await self._authorize(demand, url, login)
        except DeniedError:
            if not is_guess:
                raise
            return _BARE  # the host may demand something else here, and says so itself
        except RegistryError:
            # Perhaps the token service has moved: hear anew what the host demands.
            self._demands.pop((host, scope))
            self._demands.pop(host)
            self._silent_until.pop(host)
            raise

    def _demanded(self, answer: Answer, scope: str) -> _Demand:
        """Return what a 401 demands, and remember it; None if it has no challenge.

        Raises RegistryError if there is nothing among it that could be satisfied.
        """
        challenges = parse_challenges(answer.headers.getall("WWW-Authenticate", ()))
        if not challenges:
            return None
        host = host_port(answer.url)
        unusable: RegistryError | None = None
        for challenge in challenges:
            try:
                demand = self._token_scope(challenge, answer.url, scope)
            except RegistryError as error:
                unusable = unusable or error
                continue
            if demand is not None:
                return self._remember(host, scope, demand)
        if any(challenge.scheme == "basic" for challenge in challenges):
            return self._remember(host, scope, _BASIC)
        raise unusable or _unsupported(host, {challenge.scheme for challenge in challenges})

    def _remember(self, host: str, scope: str, demand: _Basic | TokenScope) -> _Demand:
        self._demands.put(host, demand)
        self._demands.put((host, scope), demand)
        return demand

    def _token_scope(self, challenge: Challenge, url: URL, scope: str) -> TokenScope | None:
        """Read a Bearer challenge, None if it is another; RegistryError for an unusable realm."""
        realm = challenge.parameters.get("realm")
        if challenge.scheme != "bearer" or realm is None:
            return None
        service_url = token_service(
            realm, url, allows_plain_http=self._transport.rules.allows_plain_http
        )
        asked = " ".join(challenge.parameters.get("scope", "").split())
        service = challenge.parameters.get("service", "")
        return TokenScope(host_port(url), service_url, service, asked or scope)

    async def _authorize(self, demand: _Demand, url: URL, login: Login) -> _Authorization:
        """Meet a demand as far as the login can; without a header if it can't."""
        if demand is None:
            return _BARE
        if isinstance(demand, _Basic):
            return _Authorization(login.basic, demand)
        if login.registry_token:
            return _Authorization(f"Bearer {login.registry_token}", demand)
        trusted = may_see_credentials(demand.service_url, url)
        if login.has_secrets and not (
            trusted or self._transport.rules.trusts(demand.service_url, url)
        ):
            raise RegistryError(
                TroubleReason.RegistryMisconfigured,
                f"{host_port(url)} asks to send credentials to {host_port(demand.service_url)}, "
                "which is not part of the same domain, so they were not sent; correct the realm "
                "of the registry, or remove the pull secret if the image is public, or have it "
                "named under tokenServices in the operator's registries file",
            )
        token = await self._tokens.get(demand, login)
        return _Authorization(f"Bearer {token.value}", demand, token.value if token.used else "")


def _with(request: Request, authorization: _Authorization) -> Request:
    if not authorization.header:
        return request
    return request._replace(headers={**request.headers, "Authorization": authorization.header})


def _unsupported(host: str, schemes: set[str]) -> RegistryError:
    offered = ", ".join(sorted(schemes))[:100]
    return RegistryError(
        TroubleReason.RegistryMisconfigured,
        f"{host} offers no way to log in that is supported (it offers {offered}; Basic and Bearer "
        "are supported)",
    )
