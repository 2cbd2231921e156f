"""Requests with manners: within each host's limits, and tried again quickly at most twice.

Redirects are followed here too, no further than they may lead (B9, B10). It knows nothing of
manifests and tokens; what goes over the wire is in `wire`.
"""

import asyncio
import random
import time
from collections.abc import Callable

from yarl import URL

from imagerefresh.registry import retry_after
from imagerefresh.registry.limits import Host, Hosts
from imagerefresh.registry.messages import Answer, Request
from imagerefresh.registry.outcomes import (
    RegistryError,
    RegistrySettings,
    RequestHook,
    TroubleReason,
)
from imagerefresh.registry.rules import Rules
from imagerefresh.registry.urls import foreign_url, has_user, host_port
from imagerefresh.registry.wire import NoAnswerError, Wire

_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEMPORARY = frozenset({408, 499, 500, 502, 503, 504, 522})
_TOO_MANY_REQUESTS = 429
_FORBIDDEN = 403
_RETRY_PAUSES = (0.25, 1.0)


class Transport:
    """Sends requests for all callers of the process.

    Attributes:
        hosts: what is known about each host.
        rules: what the process decides about registries.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        on_request: RequestHook | None = None,
        rules: Rules | None = None,
    ) -> None:
        self.rules = rules or Rules(allow_loopback=settings.allow_insecure_loopback)
        self._wire = Wire(settings, on_request, self.rules)
        self._timeout = settings.timeout
        self.hosts = Hosts(settings.concurrency_per_host, self.rules.rate_of)

    async def close(self) -> None:
        """Close all connections."""
        await self._wire.close()

    def use(self, rules: Rules) -> None:
        """Go by other rules from now on."""
        self.rules = rules
        self._wire.use(rules)
        self.hosts.set_rates(rules.rate_of)

    async def send(
        self,
        request: Request,
        *,
        follow: bool = True,
        on_sent: Callable[[float], None] | None = None,
    ) -> Answer:
        """Send a request.

        Args:
            request: what to send; its Authorization stays with the origin of its address.
            follow: whether redirects are followed.
            on_sent: told the monotonic time each time that the request is about to be sent.

        Raises:
            RegistryError: there is no answer to work with: no connection, a temporary status, a
                rate limit, an address or a redirect that is not allowed.
        """
        pauses = iter(_RETRY_PAUSES)
        while True:
            try:
                return await self._follow(request, follow=follow, on_sent=on_sent)
            except _TemporaryError as error:
                pause = next(pauses, None)
                # Others have tried again before: spare the host and the caller. And a form may hold
                # what is good for one use.
                if pause is None or error.host.failing or request.form is not None:
                    error.host.failing = True
                    raise RegistryError.unavailable(error.host.name, error.cause) from None
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311

    async def _follow(
        self, request: Request, *, follow: bool, on_sent: Callable[[float], None] | None
    ) -> Answer:
        """Send a request and follow its redirects by hand."""
        seconds: float | None = None
        for _ in range(_MAX_REDIRECTS + 1):
            answer = await self._once(request, seconds, on_sent)
            if answer.status not in _REDIRECTS or not follow:
                return answer
            request = _redirected(request, answer)
            # Time spent waiting for a place does not count.
            seconds = max(1.0, (seconds or self._timeout) - (time.monotonic() - answer.sent_at))
        raise RegistryError.unavailable(
            host_port(request.url), f"more than {_MAX_REDIRECTS} redirects"
        )

    async def _once(
        self, request: Request, seconds: float | None, on_sent: Callable[[float], None] | None
    ) -> Answer:
        """Send one request to one host, when it is its turn there."""
        self._wire.check(request.url)
        queued_at = time.monotonic()
        host = self.hosts.get(host_port(request.url), queued_at)
        host.check(queued_at, queued_at)
        await _turn(host, queued_at)
        async with host.slots:
            now = time.monotonic()
            host.check(now, queued_at)
            if on_sent is not None:
                on_sent(now)
            try:
                answer = await self._wire.exchange(request, now, seconds)
            except NoAnswerError as error:
                if error.worth_a_retry:
                    raise _TemporaryError(host, error.cause) from None
                host.failed(error.cause, time.monotonic())
                raise RegistryError.unavailable(host.name, error.cause) from None
        _raise_for_limits(host, answer)
        host.answered()
        return answer


async def _turn(host: Host, now: float) -> None:
    """Wait until the host's rate allows one more request."""
    wait = host.bucket.take(now)
    if wait <= 0:
        return
    try:
        await asyncio.sleep(wait)
    except asyncio.CancelledError:
        host.bucket.give_back()
        raise


class _TemporaryError(Exception):
    """A failure that a quick second try may cure, and whose it is."""

    def __init__(self, host: Host, cause: str) -> None:
        super().__init__(cause)
        self.host = host
        self.cause = cause


def _raise_for_limits(host: Host, answer: Answer) -> None:
    """Raise for an answer that only says to come back later."""
    status = answer.status
    if status == _TOO_MANY_REQUESTS or (status == _FORBIDDEN and _is_limit(answer)):
        now = time.monotonic()
        host.cool_down(_wait(answer), now, TroubleReason.RateLimited)
        raise host.refusal(now)
    if status in _TEMPORARY:
        wait = retry_after.from_header(answer.headers.get("Retry-After"), time.time())
        if wait is None:
            raise _TemporaryError(host, f"HTTP {status}")
        now = time.monotonic()
        host.cool_down(wait, now, TroubleReason.RegistryUnavailable)
        raise host.refusal(now)


def _is_limit(answer: Answer) -> bool:
    """Whether a 403 means "too fast": some registries say so only there."""
    return "Retry-After" in answer.headers or "rate limit" in answer.error_text().lower()


def _wait(answer: Answer) -> float | None:
    header = retry_after.from_header(answer.headers.get("Retry-After"), time.time())
    if header is not None:
        return header
    return retry_after.from_body(answer.body[:4096].decode("utf-8", "replace"))


def _redirected(request: Request, answer: Answer) -> Request:
    """Return the request that a redirect asks for; raises RegistryError if it must not be sent."""
    target = foreign_url(answer.headers.get("Location", ""), request.url)
    if target is None:
        raise RegistryError.unavailable(
            host_port(request.url), "a redirect without a usable target"
        )
    if has_user(target):
        raise _bad_redirect(request.url, "to an address with a user name in it")
    if request.url.scheme == "https" and target.scheme != "https":
        raise _bad_redirect(request.url, "from https to plain http")
    headers = request.headers
    if target.origin() != request.url.origin():
        headers = {k: v for k, v in headers.items() if k.lower() != "authorization"}
    return request._replace(url=target.with_fragment(None), headers=headers)


def _bad_redirect(url: URL, how: str) -> RegistryError:
    return RegistryError(
        TroubleReason.RegistryMisconfigured,
        f"{host_port(url)} redirects {how}, which is not followed; correct the registry",
    )
