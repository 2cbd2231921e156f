"""Which proxy an address is asked through, as the environment or the registries file says it. Pure.

The variables mean what they mean to Go programs, so that a cluster's usual ones serve here too.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from yarl import URL

from imagerefresh.registry.no_proxy import NoProxy
from imagerefresh.registry.outcomes import RegistryError, TroubleReason

_HTTP: Final = "HTTP_PROXY"
_HTTPS: Final = "HTTPS_PROXY"
_NO: Final = "NO_PROXY"
_HOST: Final = re.compile(r"[\w.-]+|[0-9a-f:]+(%[\w.-]+)?", re.ASCII)

_LOGIN_WANTED: Final = 407
_REFUSALS: Final = {
    403: (
        "the proxy refuses the way there (HTTP 403); let it through at the proxy, or make it an"
        " exception (NO_PROXY, or noProxy of the operator's registries file)"
    ),
    _LOGIN_WANTED: (
        "the proxy wants a login that it knows (HTTP 407); give its user and password in its"
        " address, where the operator's environment or registries file names it"
    ),
}


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy.

    Attributes:
        url: its address, without user and password.
        authorization: value of a Proxy-Authorization header, "" for none.
    """

    url: URL
    authorization: str = field(default="", repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """What it wants to see in the requests that it reads: those for tunnels, and plain ones."""
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}

    def own_status(self, url: URL, status: int) -> int | None:
        """Return the status of an answer if it can only be the proxy's own: within TLS all answers
        are the registry's, and a registry asks for no login to a proxy.
        """
        return status if url.scheme == "http" and status == _LOGIN_WANTED else None


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies for plain http and for TLS, and what is reached without them.

    Attributes:
        problems: what of the environment has no effect, for people.
    """

    http: Proxy | None = None
    https: Proxy | None = None
    no_proxy: NoProxy = field(default_factory=NoProxy)
    problems: tuple[str, ...] = ()

    def for_url(self, url: URL) -> Proxy | None:
        """Return the proxy that an address is asked through, None for none."""
        proxy = self.https if url.scheme == "https" else self.http
        return None if proxy is None or self.no_proxy.holds(url) else proxy


def parse_proxy(text: str) -> Proxy:
    """Read an address; raises ValueError, which does not quote it: it may hold a password."""
    try:
        url = URL(text)
        usable = url.scheme in ("http", "https") and url.path == "/" and url.port != 0
        usable &= _HOST.fullmatch(url.raw_host or "") is not None
    except ValueError:
        url, usable = URL(), False
    if not usable:
        raise ValueError("give an address such as http://proxy.example.com:3128")
    if url.raw_user is None and url.raw_password is None:
        return Proxy(url)
    # By hand: the library would encode in latin-1.
    pair = f"{url.user or ''}:{url.password or ''}".encode("utf-8", "surrogatepass")
    return Proxy(url.with_user(None), f"Basic {base64.b64encode(pair).decode('ascii')}")


def read_environment(environment: Mapping[str, str]) -> Proxies:
    """Read HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or the same in lower case.

    A list of exceptions is often made for all programs of a cluster, so entries that can't be read
    are left out. Raises ValueError for a proxy that can't be used, a line for each.
    """
    found: dict[str, Proxy | None] = {}
    faults: list[str] = []
    for name in (_HTTP, _HTTPS):
        text = _value(environment, name)
        try:
            found[name] = _from_variable(text) if text else None
        except ValueError as error:
            faults.append(f"{name}: {error}; there are proxies over http and https only")
    if faults:
        raise ValueError("\n".join(faults))
    no_proxy, problems = _exceptions(_value(environment, _NO))
    return Proxies(found[_HTTP], found[_HTTPS], no_proxy, problems)


def refusal(host: str, status: int | None) -> RegistryError | None:
    """Return what a proxy's own answer means for a host, None if it may be another next time."""
    what = _REFUSALS.get(status or 0)
    if what is None:
        return None
    return RegistryError(TroubleReason.RegistryMisconfigured, f"{host}: {what}")


def _value(environment: Mapping[str, str], name: str) -> str:
    """As Go programs do, not curl: the name in upper case wins."""
    return environment.get(name, "").strip() or environment.get(name.lower(), "").strip()


def _from_variable(text: str) -> Proxy:
    """Read a proxy; a scheme is not needed there."""
    return parse_proxy(text if "://" in text else f"http://{text}")


def _exceptions(text: str) -> tuple[NoProxy, tuple[str, ...]]:
    good: list[str] = []
    problems: list[str] = []
    for number, entry in enumerate(text.split(","), 1):
        try:
            if entry.strip():
                NoProxy.parse([entry])
                good.append(entry)
        except ValueError:
            problems.append(
                f"entry {number} of {_NO} has no effect: it is no domain, address or network"
            )
    return NoProxy.parse(good), tuple(problems)
