"""Which network addresses a registry, a realm or a redirect may lead to.

Names of servers come from policies and from foreign answers, so a name must not open a way to the
metadata service of a cloud or to this machine. The rule holds for the address that is connected
to, since a name alone proves nothing (B28). Private networks stay allowed: registries live there.
"""

import ipaddress
import re
import socket
from collections.abc import Callable
from enum import Flag, auto
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver
from typing_extensions import override

# Where clouds serve metadata and credentials to their machines. No rule opens these.
_METADATA = tuple(
    ipaddress.ip_network(text)
    for text in (
        "169.254.169.0/24",  # nearly all of them; AWS has more services here
        "169.254.170.0/24",  # AWS, for containers
        "fd00:ec2::/32",
        "169.254.0.23",  # Tencent
        "169.254.42.42",  # Scaleway
        "fd00:42::42",
        "100.100.100.200",  # Alibaba
        "fd00:100::100:200",
        "168.63.129.16",  # Azure
        "192.0.0.192",  # Oracle
        "fd00:c1::a9fe:a9fe",
        "fd20:ce::254",  # Google
        "fd00:a9fe:a9fe::1",  # Akamai
        "fe80::a9fe:a9fe",  # OpenStack
    )
)
_NUMBER = re.compile(r"[0-9]*|0[xX][0-9a-fA-F]*", re.ASCII)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class Near(Flag):
    """Places that a host leads to only if an administrator says that it may."""

    NOWHERE = 0
    THIS_MACHINE = auto()
    THIS_LINK = auto()


class RefusedAddressError(OSError):
    """The policy forbids to connect there.

    Attributes:
        what: the kind of address.
        remedy: what an administrator can do, "" for nothing.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


# What an administrator can do, as messages say it.
_FILE = "for the host in the operator's registries file (IMAGEREFRESH_REGISTRIES_FILE)"
ALLOW_PLAIN_HTTP = f"insecure: plainHTTP {_FILE}"
_ALLOW_LINK_LOCAL = f"allowLinkLocal: true {_FILE}"
_ALLOW_LOOPBACK = (
    f"allowLoopback: true {_FILE}, or for all IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES=true"
)


def check_address(text: str, near: Near) -> None:
    """Raise RefusedAddressError unless the numeric address may be connected to.

    Anything but a plain IPv4 or IPv6 address is refused: the C library would still understand
    forms like ``127.1``.
    """
    try:
        # A zone names the interface to leave by, and tells nothing of who is at the other end.
        address = _unwrapped(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        raise RefusedAddressError("an address in an unusual form") from None
    if any(address in network for network in _METADATA):
        raise RefusedAddressError("a metadata service")
    if address.is_loopback:
        if not near & Near.THIS_MACHINE:
            raise RefusedAddressError("a loopback address", _ALLOW_LOOPBACK)
    elif address.is_link_local:
        if not near & Near.THIS_LINK:
            raise RefusedAddressError("a link-local address", _ALLOW_LINK_LOCAL)
    elif address.is_multicast or address.is_unspecified or _is_broadcast(address):
        raise RefusedAddressError("an address that is not one machine's")


@lru_cache(maxsize=1024)
def check_host(host: str, near: Near) -> None:
    """Check a host that is an address already; names wait for their resolution, except for
    localhost and what is below it (RFC 6761, 6.3).

    What counts as an address is all that ends in a number, as in the URL standard: more than the
    connector does not hand to its resolver, since a proxy may have its own understanding.
    """
    if ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]):
        check_address(host, near)
    elif f".{host}".endswith(".localhost") and not near & Near.THIS_MACHINE:
        raise RefusedAddressError("a loopback address", _ALLOW_LOOPBACK)


class GuardedResolver(AbstractResolver):
    """A resolver whose answers hold only addresses that may be connected to."""

    def __init__(self, near: Callable[[str, int], Near]) -> None:
        """Take the rule where near hosts, by name and port, may lead."""
        self._near = near
        self._inner: AbstractResolver = DefaultResolver()

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Resolve; a name with none but forbidden addresses raises RefusedAddressError."""
        allowed: list[ResolveResult] = []
        refused: RefusedAddressError | None = None
        for result in await self._inner.resolve(host, port, family):
            try:
                check_address(result["host"], self._near(host, port))
            except RefusedAddressError as error:
                refused = error
            else:
                allowed.append(result)
        if not allowed and refused is not None:
            raise refused
        return allowed

    @override
    async def close(self) -> None:
        await self._inner.close()


def _unwrapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 one stands for, if it does."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_broadcast(address: IPv4Address | IPv6Address) -> bool:
    return address == IPv4Address("255.255.255.255")
