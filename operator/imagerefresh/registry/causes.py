"""What went wrong with a request, in words that stay the same while the cause does (B7).

No addresses, ports, times or numbers of attempts: they change from one attempt to the next, and
each change would look like news.
"""

import asyncio
import os
import ssl

import aiohttp

from imagerefresh.registry.addresses import RefusedAddressError

# What a request can end with: everything else is a bug, not trouble at a registry.
REQUEST_ERRORS = (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError)

# In the order in which they are tried: the library's errors derive from one another.
_CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ConnectionTimeoutError, "timeout while connecting"),
    (asyncio.TimeoutError, "timeout"),
    (aiohttp.ClientSSLError, "TLS handshake failed"),
    (aiohttp.ClientConnectorDNSError, "host name not found"),
    (aiohttp.ClientPayloadError, "truncated answer"),
    (aiohttp.ServerDisconnectedError, "connection closed by the server"),
    (aiohttp.ClientResponseError, "malformed answer"),
    (ValueError, "malformed answer"),
)


def refused_address(error: BaseException) -> RefusedAddressError | None:
    """Return the refusal of the address policy behind an error, if that is what it is."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    return error if isinstance(error, RefusedAddressError) else None


def proxy_status(error: BaseException) -> int | None:
    """Return the HTTP status with which a proxy let us not through, if that is what it is."""
    return error.status if isinstance(error, aiohttp.ClientHttpProxyError) else None


def is_worth_a_retry(error: BaseException) -> bool:
    """Whether trying again within a second may help: connections break, servers restart.

    After a timeout the time is spent; names and certificates do not change that fast.
    """
    if isinstance(error, asyncio.TimeoutError | aiohttp.ClientSSLError):
        return False
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return False
    return isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError)


def cause_of(error: BaseException, *, by_proxy: bool = False) -> str:
    """Name the cause of a failed request.

    Args:
        error: one of `REQUEST_ERRORS`.
        by_proxy: it was to go through a proxy, so that no other name was resolved here.
    """
    is_name = isinstance(error, aiohttp.ClientConnectorDNSError)
    is_proxys = isinstance(error, aiohttp.ClientProxyConnectionError) or (by_proxy and is_name)
    at_proxy = "proxy: " if is_proxys else ""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"TLS certificate not accepted{_verify_message(error.certificate_error)}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answers HTTP {error.status}"
    for kind, cause in _CAUSES:
        if isinstance(error, kind):
            return at_proxy + cause
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.errno:
        return at_proxy + os.strerror(error.errno).lower()
    return "connection failed"


def _verify_message(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_message:
        return f": {error.verify_message.strip().rstrip('.')}"
    return ""
