"""Which network addresses a registry, a realm or a redirect may lead to.

Names of servers come from policies and from foreign answers, so a name must not open a way to the
metadata service of a cloud or to this machine. The rule holds for the address that is connected
to, since a name alone proves nothing (B28). Private networks stay allowed: registries live there.
"""

import ipaddress
import socket
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver
from typing_extensions import override

# Cloud metadata and credential services outside the link-local ranges.
_METADATA = frozenset(
    {
        IPv4Address("100.100.100.200"),
        IPv4Address("168.63.129.16"),
        IPv4Address("192.0.0.192"),
        IPv6Address("fd00:ec2::23"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd20:ce::254"),
    }
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class RefusedAddressError(OSError):
    """The policy forbids to connect there; `what` says to which kind of address."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def check_address(text: str, *, allow_loopback: bool) -> None:
    """Raise RefusedAddressError unless the numeric address may be connected to.

    Anything but a plain IPv4 or IPv6 address is refused: the C library would still understand
    forms like ``127.1``.
    """
    try:
        address = _unwrapped(ipaddress.ip_address(text))
    except ValueError:
        raise RefusedAddressError("an address in an unusual form") from None
    if address.is_loopback:
        if not allow_loopback:
            raise RefusedAddressError("a loopback address")
    elif address.is_link_local:
        raise RefusedAddressError("a link-local address")
    elif address in _METADATA:
        raise RefusedAddressError("a metadata service")
    elif address.is_multicast or address.is_unspecified or _is_broadcast(address):
        raise RefusedAddressError("an address that is not one machine's")


@lru_cache(maxsize=1024)
def check_host(host: str, *, allow_loopback: bool) -> None:
    """Check a host that is an address already; names wait for their resolution.

    What counts as an address is what the connector would not hand to its resolver.
    """
    if ":" in host or host.replace(".", "").isdigit():
        check_address(host, allow_loopback=allow_loopback)


class GuardedResolver(AbstractResolver):
    """A resolver whose answers hold only addresses that may be connected to."""

    def __init__(self, allows_loopback: Callable[[str, int], bool]) -> None:
        """Take the rule which hosts, by name and port, may lead to this machine."""
        self._allows_loopback = allows_loopback
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
                check_address(result["host"], allow_loopback=self._allows_loopback(host, port))
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
