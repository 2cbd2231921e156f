"""What the proxy of the tests knows that nobody else does: where a name leads."""

from proxy.common.types import HostPort
from proxy.http.proxy import HttpProxyBasePlugin
from typing_extensions import override

NAME = "registry.test"


class Names(HttpProxyBasePlugin):
    """Resolves one name to this machine, and no others."""

    @override
    def resolve_dns(self, host: str, port: int) -> tuple[str | None, HostPort | None]:
        return ("127.0.0.1" if host == NAME else None), None
