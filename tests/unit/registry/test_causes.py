import errno
import ssl

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey, RequestInfo
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from imagerefresh.registry.addresses import RefusedAddressError
from imagerefresh.registry.causes import (
    REQUEST_ERRORS,
    cause_of,
    is_worth_a_retry,
    refused_address,
)

KEY = ConnectionKey("10.0.0.7", 443, True, True, None, None, None)  # noqa: FBT003
INFO = RequestInfo(URL("https://10.0.0.7"), "GET", CIMultiDictProxy(CIMultiDict()))
CERTIFICATE = ssl.SSLCertVerificationError(1, "[SSL] verify failed")
CERTIFICATE.verify_message = "certificate has expired"


def os_error(number: int) -> OSError:
    return OSError(number, "Connect call failed ('10.0.0.7', 443)")


@pytest.mark.parametrize(
    ("error", "cause", "again"),
    [
        (aiohttp.ConnectionTimeoutError(), "timeout while connecting", False),
        (aiohttp.SocketTimeoutError(), "timeout", False),
        (TimeoutError(), "timeout", False),
        (
            aiohttp.ClientConnectorCertificateError(KEY, CERTIFICATE),
            "TLS certificate not accepted: certificate has expired",
            False,
        ),
        (aiohttp.ClientConnectorSSLError(KEY, ssl.SSLError(1, "x")), "TLS handshake failed", False),
        (aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "x")), "host name not found", False),
        (
            aiohttp.ClientConnectorError(KEY, os_error(errno.ECONNREFUSED)),
            "connection refused",
            True,
        ),
        (aiohttp.ClientConnectorError(KEY, os_error(errno.EHOSTUNREACH)), "no route to host", True),
        (aiohttp.ClientConnectorError(KEY, OSError("?")), "connection failed", True),
        (aiohttp.ClientOSError(errno.ECONNRESET, "x"), "connection reset by peer", True),
        (ConnectionResetError(errno.ECONNRESET, "x"), "connection reset by peer", True),
        (aiohttp.ServerDisconnectedError(), "connection closed by the server", True),
        (aiohttp.ClientPayloadError("x"), "truncated answer", True),
        (aiohttp.ClientResponseError(INFO, ()), "malformed answer", False),
        (ValueError("x"), "malformed answer", False),
    ],
)
def test_causes_are_normalised(error: Exception, cause: str, again: bool) -> None:
    """B7: no addresses, ports or times; names and certificates are not worth a quick retry."""
    assert isinstance(error, REQUEST_ERRORS)
    assert cause_of(error) == cause
    assert is_worth_a_retry(error) is again
    assert refused_address(error) is None


def test_a_refused_address_is_found_behind_the_error_of_the_library() -> None:
    refusal = RefusedAddressError("a loopback address")
    assert refused_address(aiohttp.ClientConnectorDNSError(KEY, refusal)) is refusal
    assert refused_address(refusal) is refusal
