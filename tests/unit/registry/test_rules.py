"""What of the registries file holds for whom."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from yarl import URL

from imagerefresh.reference import parse
from imagerefresh.registry.addresses import Near
from imagerefresh.registry.bucket import DEFAULT_RATE, Rate
from imagerefresh.registry.config_text import ConfigText
from imagerefresh.registry.proxies import read_environment
from imagerefresh.registry.rules import Rules


def rules(
    text: str = "",
    *,
    allow_loopback: bool = False,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Rules:
    return Rules(
        ConfigText(Path("/x"), text.encode()).config(),
        allow_loopback=allow_loopback,
        proxies=read_environment(environment),
    )


def proxy_of(found: Rules, url: str) -> str | None:
    proxy = found.proxy_for(URL(url))
    return str(proxy.url) if proxy else None


PLACES = rules("""
hosts:
  docker.io: {rateLimit: {requestsPerSecond: 1}}
  plain.test: {insecure: plainHTTP}
  plain.test:5000: {insecure: plainHTTP, rateLimit: {requestsPerSecond: 2}}
  secure.test: {}
  "*.corp.test": {rateLimit: {requestsPerSecond: 3}}
  "*.deep.corp.test": {rateLimit: {requestsPerSecond: 4, burst: 9}}
  one.corp.test: {}
  localhost:5000: {allowLoopback: true}
  127.0.0.1:5001: {allowLoopback: true, insecure: skipVerify}
  "[::1]:5002": {allowLoopback: true}
  169.254.7.1:5000: {allowLinkLocal: true}
""")


@pytest.mark.parametrize(
    ("host", "rate"),
    [
        ("registry-1.docker.io", Rate(1, 1)),
        ("auth.docker.io", DEFAULT_RATE),
        ("plain.test:5000", Rate(2, 1)),
        ("secure.test:5000", DEFAULT_RATE),
        ("a.corp.test", Rate(3, 1)),
        ("a.b.corp.test:8443", Rate(3, 1)),
        ("a.deep.corp.test", Rate(4, 9)),
        ("deep.corp.test", Rate(3, 1)),
        ("corp.test", DEFAULT_RATE),
        ("one.corp.test", DEFAULT_RATE),  # its own entry holds alone
        ("odd_name.test", DEFAULT_RATE),
        ("[2001:db8::1]:5000", DEFAULT_RATE),
    ],
)
def test_the_narrowest_entry_holds_alone(host: str, rate: Rate) -> None:
    assert PLACES.rate_of(host) == rate


def test_the_rest_is_what_the_star_says() -> None:
    every = rules('hosts: {"*": {rateLimit: {requestsPerSecond: 7}}, a.test: {}}')
    assert every.rate_of("b.test") == Rate(7, 1)
    assert every.rate_of("a.test") == DEFAULT_RATE


@pytest.mark.parametrize(
    ("image", "scheme"),
    [
        ("nginx:1", "https"),
        ("plain.test/a:1", "http"),
        ("plain.test:5000/a:1", "http"),
        ("plain.test:5001/a:1", "https"),
        ("localhost:5000/a:1", "http"),
        ("127.0.0.1:5001/a:1", "https"),  # it says how TLS is spoken
        ("127.0.0.1:5009/a:1", "http"),
    ],
)
def test_how_a_registry_is_spoken_to(image: str, scheme: str) -> None:
    assert PLACES.scheme(parse(image).registry) == scheme


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://plain.test/v2/", True),
        ("http://plain.test:5000/v2/", True),
        ("http://plain.test:5001/v2/", False),
        ("http://secure.test/v2/", False),
        ("http://localhost:5000/", True),
        ("http://[::1]:5002/", True),
        ("http://localhost:5001/", False),
    ],
)
def test_plain_http_only_where_named(url: str, allowed: bool) -> None:
    """B28."""
    assert PLACES.allows_plain_http(URL(url)) is allowed


def test_near_only_where_named() -> None:
    """B28."""
    assert PLACES.near("localhost", 5000) is Near.THIS_MACHINE
    assert PLACES.near("::1", 5002) is Near.THIS_MACHINE
    assert PLACES.near("169.254.7.1", 5000) is Near.THIS_LINK
    for host, port in (("localhost", 5001), ("one.corp.test", 443), ("169.254.7.1", 443)):
        assert PLACES.near(host, port) is Near.NOWHERE
    tls_only = rules("hosts: {'localhost:443': {allowLoopback: true}}")
    assert tls_only.near("localhost", 443) is Near.THIS_MACHINE
    assert tls_only.near("localhost", 80) is Near.NOWHERE
    assert rules(allow_loopback=True).near("anything.test", 1) is Near.THIS_MACHINE


def test_a_proxy_may_be_anywhere_but_is_no_registry() -> None:
    """B28: whoever names it as a registry gets no further than without a proxy there."""
    proxied = rules("proxy: {url: http://localhost:3128}\nhosts: {a.test: {proxy: http://b:1}}")
    for host, port in (("localhost", 3128), ("b", 1)):
        assert proxied.near_when_connecting(host, port) == Near.THIS_MACHINE | Near.THIS_LINK
        assert proxied.near(host, port) is Near.NOWHERE
    assert proxied.near_when_connecting("localhost", 5000) is Near.NOWHERE
    assert not proxied.allows_plain_http(URL("http://localhost:3128/v2/"))


def test_proxies() -> None:
    proxied = rules("""
proxy: {url: http://all.test:3128, noProxy: [near.test, 10.0.0.0/8]}
hosts: {own.test: {proxy: http://own.test:1}, near.test:5000: {proxy: http://own.test:1},
        direct.test: {proxy: direct}}
""")
    found = {
        url: proxy_of(proxied, url)
        for url in (
            "https://ghcr.io/",
            "https://near.test/",
            "https://10.1.1.1/",
            "https://own.test/",
            "https://near.test:5000/",
            "https://direct.test/",
            "http://localhost/",
        )
    }
    assert found == {
        "https://ghcr.io/": "http://all.test:3128",
        "https://near.test/": None,
        "https://10.1.1.1/": None,
        "https://own.test/": "http://own.test:1",
        "https://near.test:5000/": "http://own.test:1",
        "https://direct.test/": None,
        "http://localhost/": None,
    }
    assert rules().proxy_for(URL("https://ghcr.io/")) is None


def test_proxies_of_the_environment_stand_below_those_of_the_file() -> None:
    variables = {"HTTPS_PROXY": "http://all.test:1", "NO_PROXY": "near.test"}
    hosts = "hosts: {own.test: {proxy: http://own.test:1}, direct.test: {proxy: direct}}"
    found = rules(hosts, environment=variables)
    assert proxy_of(found, "https://ghcr.io/") == "http://all.test:1"
    assert proxy_of(found, "http://ghcr.io/") is None
    assert proxy_of(found, "https://near.test/") is None
    assert proxy_of(found, "https://own.test/") == "http://own.test:1"
    assert proxy_of(found, "https://direct.test/") is None
    # A proxy of the file is in force with its own exceptions only.
    found = rules("proxy: {url: http://file.test:1}", environment=variables)
    for url in ("https://ghcr.io/", "http://ghcr.io/", "https://near.test/"):
        assert proxy_of(found, url) == "http://file.test:1"
    found = rules('hosts: {"*": {proxy: direct}}', environment=variables)
    assert proxy_of(found, "https://ghcr.io/") is None


def test_a_proxy_of_the_environment_may_be_on_this_machine() -> None:
    """B28: a sidecar, say."""
    found = rules(environment={"HTTPS_PROXY": "localhost:3128"})
    assert found.near_when_connecting("localhost", 3128) == Near.THIS_MACHINE | Near.THIS_LINK
    assert found.near("localhost", 3128) is Near.NOWHERE


@pytest.mark.parametrize("url", ["https://localhost:5000/", "https://127.1.2.3/", "http://[::1]/"])
def test_this_machine_is_not_the_proxys(url: str) -> None:
    """B28: a redirect must not reach what listens beside the proxy."""
    assert rules('hosts: {"*": {proxy: http://p.test:1}}').proxy_for(URL(url)) is None


@pytest.mark.parametrize(
    ("image", "places"),
    [
        ("nginx:1", ["one.test/hub/library/nginx:1", "two.test:5000/nginx:1"]),
        ("example/app:1", ["one.test/hub/example/app:1"]),
        ("library2/app:1", ["one.test/hub/library2/app:1"]),
        ("ghcr.io/team/app:1", ["three.test/app:1"]),
        ("ghcr.io/team2/app:1", []),
        ("ghcr.io/team:1", []),  # nothing is left to ask for
        ("quay.io/a/b:1", []),
    ],
)
def test_mirrors(image: str, places: list[str]) -> None:
    mirrored = rules("""
mirrors:
  - {prefix: docker.io, location: one.test/hub}
  - {prefix: docker.io/library, location: two.test:5000}
  - {prefix: ghcr.io/team, location: three.test}
""")
    assert [str(place) for place in mirrored.mirrors(parse(image))] == places


def test_token_services() -> None:
    trusting = rules("hosts: {a.test: {tokenServices: [login.other.test]}}")
    service = URL("https://login.other.test/token")
    assert trusting.trusts(service, URL("https://a.test/v2/"))
    assert not trusting.trusts(service, URL("https://b.test/v2/"))
    assert not trusting.trusts(service, URL("https://a.test:5000/v2/"))
    assert not trusting.trusts(URL("https://login.other.test:8443/"), URL("https://a.test/v2/"))
