import pytest

from imagerefresh.registry.addresses import (
    GuardedResolver,
    RefusedAddressError,
    check_address,
    check_host,
)
from unit.registry.conftest import Names

FORBIDDEN = [
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fe80::1%1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "224.0.0.1",
    "ff02::1",
    "0.0.0.0",  # noqa: S104 - to refuse it
    "::",
    "255.255.255.255",
    # The same in disguise.
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    # Forms that the C library would understand.
    "127.1",
    "2130706433",
    "0177.0.0.1",
    "",
]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
ALLOWED = ["10.0.0.1", "172.16.0.1", "192.168.1.1", "fd12:3456::1", "1.1.1.1", "2606:4700::1111"]


@pytest.mark.parametrize("address", FORBIDDEN)
@pytest.mark.parametrize("allow_loopback", [False, True])
def test_forbidden_whatever_is_allowed(address: str, allow_loopback: bool) -> None:
    """B28: no setting opens the way to a metadata service."""
    with pytest.raises(RefusedAddressError):
        check_address(address, allow_loopback=allow_loopback)


@pytest.mark.parametrize("address", LOOPBACK)
def test_loopback_needs_the_setting(address: str) -> None:
    """B28."""
    check_address(address, allow_loopback=True)
    with pytest.raises(RefusedAddressError, match="loopback"):
        check_address(address, allow_loopback=False)


@pytest.mark.parametrize("address", ALLOWED)
def test_private_and_public_addresses_are_allowed(address: str) -> None:
    check_address(address, allow_loopback=False)


def test_check_host_leaves_names_to_their_resolution() -> None:
    check_host("registry.example.com", allow_loopback=False)
    check_host("localhost", allow_loopback=False)
    for host in ("127.0.0.1", "127.1", "::1", "2130706433", "169.254.169.254"):
        with pytest.raises(RefusedAddressError):
            check_host(host, allow_loopback=False)


async def test_resolver_keeps_only_allowed_addresses(names: Names) -> None:
    """B28: checked where the connection is made, since a name alone proves nothing."""
    names.addresses["mixed.example.com"] = ["169.254.169.254", "10.0.0.1", "127.0.0.1"]
    resolver = GuardedResolver(lambda _host, _port: False)
    results = await resolver.resolve("mixed.example.com", 443)
    assert [result["host"] for result in results] == ["10.0.0.1"]


async def test_resolver_refuses_a_name_with_only_forbidden_addresses(names: Names) -> None:
    """B28."""
    names.addresses["evil.example.com"] = ["169.254.169.254", "fe80::1"]
    resolver = GuardedResolver(lambda _host, _port: True)
    with pytest.raises(RefusedAddressError, match="link-local"):
        await resolver.resolve("evil.example.com", 443)
