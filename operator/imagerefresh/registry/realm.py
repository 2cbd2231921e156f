"""Which token service a registry may send us to, and with what.

The realm of a challenge is chosen by whoever answers for the registry, so it decides neither
where credentials go nor that they go in the clear (B10).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from publicsuffixlist import PublicSuffixList
from yarl import URL

from imagerefresh.registry.addresses import ALLOW_PLAIN_HTTP
from imagerefresh.registry.outcomes import RegistryError, TroubleReason
from imagerefresh.registry.urls import foreign_url, has_user, host_port

_SERVICES: Final = "svc"
"""The label that stands between the namespace and the cluster's domain in the name of a Service."""


def token_service(realm: str, registry: URL, *, allows_plain_http: Callable[[URL], bool]) -> URL:
    """Return the address of the token service that a challenge names.

    A relative realm is resolved against the request. A plain http one on the registry's own host
    is asked over https: TLS ends before such a registry, which does not know. Another plain http
    one is taken from a registry in plain http only, and only where that is allowed. Raises
    RegistryError for any other realm that is not https.
    """
    url = foreign_url(realm, registry)
    if url is None:
        raise _misconfigured(registry, "an unusable address")
    if has_user(url) or url.raw_fragment:
        raise _misconfigured(registry, "an address with a user name or fragment in it")
    if url.scheme == "https":
        return url
    if registry.scheme == "http":
        if allows_plain_http(url):
            return url
        remedy = f", or an administrator allows it by {ALLOW_PLAIN_HTTP}"
        raise _misconfigured(registry, f"{host_port(url)} in plain http", remedy)
    if url.host == registry.host:
        return _over_tls(url)
    raise _misconfigured(registry, f"{host_port(url)} in plain http")


def may_see_credentials(service: URL, registry: URL) -> bool:
    """Whether credentials for the registry may go to its token service.

    They may if both are one host, or names in one domain that has one owner, such as
    auth.docker.io and registry-1.docker.io, or gitlab.com and registry.gitlab.com.
    """
    ours, theirs = registry.raw_host or "", service.raw_host or ""
    if ours == theirs:
        return True
    domain = _domain(ours)
    return domain is not None and domain == _domain(theirs)


def _domain(host: str) -> str | None:
    """Return the domain that a host is in and that one owner has; None for an address, and for a
    name under which anybody can have one.

    By the Public Suffix List, the domains in which hosting services give names to their customers
    included. A Service of a cluster belongs to its namespace.
    """
    labels = host.rstrip(".").split(".")
    if ":" in host or labels[-1].isdigit():
        return None
    if _SERVICES in labels[2:]:
        return ".".join(labels[labels.index(_SERVICES, 2) - 1 :])
    return _public_suffixes().privatesuffix(host)


@lru_cache(maxsize=1)
def _public_suffixes() -> PublicSuffixList:
    """Read the list that comes with the library, at the first need: most registries have their
    token service on their own host.
    """
    return PublicSuffixList()


def _over_tls(url: URL) -> URL:
    port = None if url.port == 80 else url.port  # noqa: PLR2004
    return URL.build(
        scheme="https",
        host=url.raw_host or "",
        port=port,
        path=url.raw_path,
        query_string=url.raw_query_string,
        encoded=True,
    )


def _misconfigured(registry: URL, what: str, remedy: str = "") -> RegistryError:
    return RegistryError(
        TroubleReason.RegistryMisconfigured,
        f"{host_port(registry)} names {what} as its token service; it must be an https address"
        + remedy,
    )
