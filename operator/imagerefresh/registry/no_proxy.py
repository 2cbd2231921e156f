"""Which addresses are reached without the proxy: the rules of Go's httpproxy, which the other
programs of a cluster follow, so that one list serves all. Pure.

An entry is ``*`` for everything; an address or a network (``10.0.0.0/8``), which hold for hosts
that are given as addresses; or a domain, which holds for itself and what is below it, or only for
what is below if it begins with ``.`` or ``*.``. Addresses and domains may have a port. This machine
is never asked through a proxy.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Self

from yarl import URL

from imagerefresh.reference import is_loopback

_Address = IPv4Address | IPv6Address
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class _Entry:
    """One of the first three is set, or none for everything. `domain` begins with a dot."""

    network: IPv4Network | IPv6Network | None = None
    address: _Address | None = None
    domain: str = ""
    itself: bool = False
    port: int | None = None

    def holds(self, host: str, address: _Address | None, port: int | None) -> bool:
        if self.network is not None:
            return address is not None and address in self.network
        if self.port is not None and self.port != port:
            return False
        if self.address is not None:
            return address == self.address
        if self.domain:
            return host.endswith(self.domain) or (self.itself and host == self.domain[1:])
        return True


@dataclass(frozen=True, slots=True)
class NoProxy:
    """A list of exceptions."""

    entries: tuple[_Entry, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """Read the entries; raises ValueError for one that can't be read."""
        return cls(tuple(_entry(text.strip().lower()) for text in entries))

    def holds(self, url: URL) -> bool:
        """Whether an address is to be reached directly."""
        host = (url.raw_host or "").lower().rstrip(".")
        if is_loopback(f"[{host}]" if ":" in host else host):
            return True
        address = _address(host)
        return any(entry.holds(host, address, url.port) for entry in self.entries)


def _entry(text: str) -> _Entry:
    if text == "*":
        return _Entry()
    if "/" in text:
        try:
            return _Entry(network=ipaddress.ip_network(text, strict=False))
        except ValueError:  # its text quotes the entry
            raise ValueError("not a network, such as 10.0.0.0/8") from None
    host, port = _split(text)
    address = _address(host)
    if address is not None:
        return _Entry(address=address, port=port)
    domain = host.removeprefix("*").removesuffix(".")
    below_only = domain.startswith(".")
    labels = domain.removeprefix(".").split(".")
    if not all(label.replace("-", "").replace("_", "").isalnum() for label in labels):
        raise ValueError("not a domain, an address or a network")
    return _Entry(domain=domain if below_only else f".{domain}", itself=not below_only, port=port)


def _split(text: str) -> tuple[str, int | None]:
    """Split a port off; an IPv6 address with a port stands in brackets, without one it may."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":") if rest.startswith(":") else None
        if rest and port is None:
            raise ValueError("something follows the brackets that is no port")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    else:
        host, port = text, None
    if port is None:
        return host, None
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= _MAX_PORT):
        raise ValueError("a port is a number from 1 to 65535")
    return host, int(port)


def _address(host: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
