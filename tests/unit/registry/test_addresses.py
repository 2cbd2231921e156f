import pytest

from imagerefresh.registry.addresses import (
    GuardedResolver,
    Near,
    RefusedAddressError,
    check_address,
    check_host,
)
from unit.registry.conftest import Names

METADATA = [
    "169.254.169.254",
    "169.254.169.253",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.0.23",
    "169.254.42.42",
    "fe80::a9fe:a9fe",
    "fe80::a9fe:a9fe%1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd00:c1::a9fe:a9fe",
    "fd00:42::42",
    "fd00:a9fe:a9fe::1",
    "fd00:100::100:200",
    "fd20:ce::254",
    # The same in disguise.
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
]
NOT_ONE_MACHINES = [
    "224.0.0.1",
    "ff02::1",
    "0.0.0.0",  # noqa: S104 - to refuse it
    "::",
    "255.255.255.255",
]
# Forms that the C library would understand.
UNUSUAL = ["127.1", "2130706433", "0177.0.0.1", "", "%1"]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
LINK_LOCAL = ["169.254.0.1", "fe80::1", "fe80::1%1", "::ffff:169.254.0.1"]
ALLOWED = ["10.0.0.1", "172.16.0.1", "192.168.1.1", "fd12:3456::1", "1.1.1.1", "2606:4700::1111"]
EVERYWHERE = Near.THIS_MACHINE | Near.THIS_LINK


@pytest.mark.parametrize(
    ("addresses", "what"),
    [
        (METADATA, "a metadata service"),
        (NOT_ONE_MACHINES, "an address that is not one machine's"),
        (UNUSUAL, "an address in an unusual form"),
    ],
)
@pytest.mark.parametrize("near", [Near.NOWHERE, EVERYWHERE])
def test_forbidden_whatever_is_allowed(addresses: list[str], what: str, near: Near) -> None:
    """B28: no setting opens the way to a metadata service."""
    for address in addresses:
        with pytest.raises(RefusedAddressError) as caught:
            check_address(address, near)
        assert (caught.value.what, caught.value.remedy) == (what, "")


@pytest.mark.parametrize(
    ("addresses", "near", "what", "remedies"),
    [
        (
            LOOPBACK,
            Near.THIS_MACHINE,
            "a loopback address",
            ("IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES", "allowLoopback"),
        ),
        (LINK_LOCAL, Near.THIS_LINK, "a link-local address", ("allowLinkLocal",)),
    ],
)
def test_what_is_near_needs_its_own_setting(
    addresses: list[str], near: Near, what: str, remedies: tuple[str, ...]
) -> None:
    """B28: and whoever meets the refusal is told which."""
    for address in addresses:
        check_address(address, near)
        for other in (Near.NOWHERE, EVERYWHERE & ~near):
            with pytest.raises(RefusedAddressError) as caught:
                check_address(address, other)
            assert caught.value.what == what
            assert all(remedy in caught.value.remedy for remedy in remedies)


@pytest.mark.parametrize("address", ALLOWED)
def test_private_and_public_addresses_are_allowed(address: str) -> None:
    check_address(address, Near.NOWHERE)


def test_check_host_leaves_names_to_their_resolution() -> None:
    check_host("registry.example.com", Near.NOWHERE)
    check_host("localhost", Near.THIS_MACHINE)
    check_host("0x7f.example.com", Near.NOWHERE)
    for host in (
        "localhost",
        "any.localhost",
        "127.0.0.1",
        "127.1",
        "::1",
        "2130706433",
        "169.254.169.254",
        # A proxy might understand these as a C library does.
        "0x7f.1",
        "0xa9fea9fe",
        "0XA9.254.169.0xfe",
        "0x",
    ):
        with pytest.raises(RefusedAddressError):
            check_host(host, Near.NOWHERE)


async def test_resolver_keeps_only_allowed_addresses(names: Names) -> None:
    """B28: checked where the connection is made, since a name alone proves nothing."""
    names.addresses["mixed.example.com"] = ["169.254.169.254", "10.0.0.1", "127.0.0.1"]
    resolver = GuardedResolver(lambda _host, _port: Near.NOWHERE)
    results = await resolver.resolve("mixed.example.com", 443)
    assert [result["host"] for result in results] == ["10.0.0.1"]


async def test_resolver_refuses_a_name_with_only_forbidden_addresses(names: Names) -> None:
    """B28."""
    names.addresses["evil.example.com"] = ["fe80::1", "169.254.169.254"]
    resolver = GuardedResolver(lambda _host, _port: Near.THIS_MACHINE)
    with pytest.raises(RefusedAddressError, match="metadata"):
        await resolver.resolve("evil.example.com", 443)


async def test_resolver_goes_by_what_holds_for_the_host_and_port(names: Names) -> None:
    """B28."""
    names.addresses["near.example.com"] = ["169.254.1.1", "169.254.169.254", "127.0.0.1"]
    resolver = GuardedResolver(
        lambda host, port: (
            Near.THIS_LINK if (host, port) == ("near.example.com", 5000) else Near.NOWHERE
        )
    )
    results = await resolver.resolve("near.example.com", 5000)
    assert [result["host"] for result in results] == ["169.254.1.1"]
    with pytest.raises(RefusedAddressError):
        await resolver.resolve("near.example.com", 443)
