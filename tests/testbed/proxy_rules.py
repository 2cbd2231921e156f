"""What the forward proxy of the tests adds to a plain one: it knows some names, and lets nobody
through to others. Loaded by the proxy, in its own process.
"""

import json
import os
from typing import Final

from proxy.common.types import HostPort
from proxy.http.exception import HttpRequestRejected
from proxy.http.parser import HttpParser
from proxy.http.proxy import HttpProxyBasePlugin
from typing_extensions import override

VARIABLE: Final = "TESTBED_PROXY_NAMES"
"""Names the environment variable that holds the addresses by name, in JSON."""

_ADDRESSES: Final[dict[str, str]] = json.loads(os.environ.get(VARIABLE, "{}"))


class KnownNames(HttpProxyBasePlugin):
    """Refuses what it does not know with 403, as a proxy with an allow-list does."""

    @override
    def before_upstream_connection(self, request: HttpParser) -> HttpParser:
        if (request.host or b"").decode() not in _ADDRESSES:
            raise HttpRequestRejected(status_code=403, reason=b"Forbidden")
        return request

    @override
    def resolve_dns(self, host: str, port: int) -> tuple[str | None, HostPort | None]:
        return _ADDRESSES.get(host), None
