"""One HTTP request to one host, and its answer read to a limit.

The one place that opens connections, so what must hold for all of them is enforced here: which
addresses may be reached, TLS, no cookies, no credentials but those in the request (B10, B28).
Whether to ask at all, ask again or follow a redirect is decided in `transport`.
"""

import asyncio
import time

import aiohttp
from yarl import URL

from imagerefresh.registry import causes
from imagerefresh.registry.addresses import (
    ALLOW_PLAIN_HTTP,
    GuardedResolver,
    Near,
    RefusedAddressError,
    check_host,
)
from imagerefresh.registry.limit_headers import limit_headers
from imagerefresh.registry.messages import Answer, Request
from imagerefresh.registry.outcomes import (
    RegistryError,
    RegistrySettings,
    RequestHook,
    RequestRecord,
    TroubleReason,
)
from imagerefresh.registry.proxies import refusal
from imagerefresh.registry.rules import Rules
from imagerefresh.registry.urls import host_port

# Tokens travel in Location and WWW-Authenticate, and outgrow the library's 8 KiB.
_MAX_HEADER = 64 * 1024
_MAX_ERROR_BODY = 64 * 1024
_CHUNK = 64 * 1024


class NoAnswerError(Exception):
    """The request failed before an answer was complete.

    Attributes:
        cause: normalised, for people.
        worth_a_retry: whether trying again within a second may help.
    """

    def __init__(self, cause: str, *, worth_a_retry: bool) -> None:
        super().__init__(cause)
        self.cause = cause
        self.worth_a_retry = worth_a_retry


class Wire:
    """Sends requests. Made anywhere; its session begins with the first request, in its loop."""

    def __init__(
        self, settings: RegistrySettings, on_request: RequestHook | None, rules: Rules
    ) -> None:
        self._settings = settings
        self._rules = rules
        self._on_request = on_request
        self._session: aiohttp.ClientSession | None = None
        self._retiring: dict[asyncio.Task[None], aiohttp.ClientSession] = {}
        self._times = self._times_within(settings.timeout)
        self._closed = False

    async def close(self) -> None:
        """Close all connections; requests in flight and later ones fail."""
        self._closed = True
        sessions = [*self._retiring.values(), *([self._session] if self._session else [])]
        for task in self._retiring:
            task.cancel()
        for session in sessions:
            await session.close()

    def use(self, rules: Rules) -> None:
        """Go by other rules from now on; requests in flight end as they began."""
        self._rules = rules
        if self._session is not None:
            # Its connections, and the addresses that it knows, were allowed by the old ones.
            task = asyncio.create_task(self._retire(self._session))
            self._retiring[task] = self._session
            task.add_done_callback(self._retiring.pop)
            self._session = None

    def check(self, url: URL) -> None:
        """Raise RegistryError if the address alone shows that it must not be asked."""
        host = url.raw_host or ""
        try:
            check_host(host, self._rules.near(host, url.port or 0))
        except RefusedAddressError as error:
            raise _refused(host_port(url), error) from None
        if url.scheme != "https" and not self._rules.allows_plain_http(url):
            raise RegistryError(
                TroubleReason.RegistryMisconfigured,
                f"{host_port(url)} would be asked in plain http, which is not allowed; use one "
                f"that speaks TLS, or have an administrator allow it by {ALLOW_PLAIN_HTTP}",
            )

    async def exchange(
        self, request: Request, sent_at: float, seconds: float | None = None
    ) -> Answer:
        """Send a request; redirects come back as they are.

        Args:
            request: its address has passed `check`.
            sent_at: monotonic time, now.
            seconds: until the answer must be complete; None for the settings' timeout.

        Raises:
            NoAnswerError: nothing came, or not all of it.
            RegistryError: the name leads to an address that must not be asked, or the proxy lets
                nobody through.
        """
        if self._closed:
            raise NoAnswerError("the operator is stopping", worth_a_retry=False)
        rules, host = self._rules, host_port(request.url)
        proxy = rules.proxy_for(request.url)
        is_tunnel = request.url.scheme == "https"
        for_proxy = proxy.headers if proxy else {}
        status: int | None = None
        cause: str | None = "cancelled"
        limits: tuple[tuple[str, str], ...] = ()
        try:
            async with self._open_session().request(
                request.method,
                request.url,
                headers=request.headers if is_tunnel else {**request.headers, **for_proxy},
                data=request.form,
                allow_redirects=False,
                ssl=rules.for_url(request.url).tls or True,
                proxy=proxy.url if proxy else None,
                proxy_headers=for_proxy if is_tunnel else None,
                timeout=self._times if seconds is None else self._times_within(seconds),
            ) as response:
                status = response.status
                limits = limit_headers(response.headers)
                body = b"" if request.method == "HEAD" else await _read(response, request.max_body)
                cause = None
                if proxy and (closed := refusal(host, proxy.own_status(request.url, status))):
                    raise closed
                return Answer(status, response.headers, body, request, sent_at)
        except _TooLargeError:
            cause = f"an answer of more than {request.max_body} bytes"
            raise NoAnswerError(cause, worth_a_retry=False) from None
        # Not chained: the library's errors carry the request, credentials included.
        except causes.REQUEST_ERRORS as error:
            refused = causes.refused_address(error)
            if refused:
                cause = "address not allowed"
                raise _refused(host, refused) from None
            cause = causes.cause_of(error, by_proxy=proxy is not None)
            if closed := refusal(host, causes.proxy_status(error)):
                raise closed from None
            raise NoAnswerError(cause, worth_a_retry=causes.is_worth_a_retry(error)) from None
        finally:
            if self._on_request is not None:
                took, path = time.monotonic() - sent_at, request.url.raw_path
                self._on_request(
                    RequestRecord(request.method, host, status, cause, took, path, limits)
                )

    async def _retire(self, session: aiohttp.ClientSession) -> None:
        """Close a session when its last request must have ended."""
        await asyncio.sleep(self._settings.timeout)
        await session.close()

    def _near(self, host: str, port: int) -> Near:
        return self._rules.near_when_connecting(host, port)  # those of now

    def _times_within(self, seconds: float) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(
            total=seconds,
            connect=self._settings.connect_timeout,
            sock_read=self._settings.read_timeout,
        )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,  # each host has its own limit, and waiting there costs no timeout
                    ttl_dns_cache=60,
                    keepalive_timeout=30,
                    resolver=GuardedResolver(self._near),
                ),
                # Cookies would mix the identities of different callers.
                cookie_jar=aiohttp.DummyCookieJar(),
                # Digests and lengths are those of the bytes as stored.
                headers={"User-Agent": self._settings.user_agent, "Accept-Encoding": "identity"},
                # True would send credentials from a netrc file.
                trust_env=False,
                max_line_size=_MAX_HEADER,
                max_field_size=_MAX_HEADER,
            )
        return self._session


class _TooLargeError(Exception):
    pass


async def _read(response: aiohttp.ClientResponse, max_body: int) -> bytes:
    """Read a body; more than the limit is an error, or the rest of an error's body is dropped."""
    limit = max_body if response.ok else _MAX_ERROR_BODY
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > limit:
            response.close()
            if response.ok:
                raise _TooLargeError
            break
    return bytes(body[:limit])


def _refused(host: str, error: RefusedAddressError) -> RegistryError:
    remedy = f", or have an administrator allow it by {error.remedy}" if error.remedy else ""
    return RegistryError(
        TroubleReason.RegistryMisconfigured,
        f"{host} leads to {error.what}, where registries are not allowed; use another registry"
        + remedy,
    )
