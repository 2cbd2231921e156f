import socket

import pytest
from yarl import URL

from imagerefresh.registry.outcomes import RegistryError, TroubleReason
from imagerefresh.registry.realm import _public_suffixes, may_see_credentials, token_service

REGISTRY = URL("https://registry.example.com:5000/v2/team/app/manifests/prod")
LOCAL = URL("http://127.0.0.1:5000/v2/team/app/manifests/prod")


def no(_: URL) -> bool:
    return False


def loopback(url: URL) -> bool:
    return url.raw_host == "127.0.0.1"


@pytest.mark.parametrize(
    ("realm", "expected"),
    [
        ("https://auth.example.com/token", "https://auth.example.com/token"),
        ("https://elsewhere.test/token?a=%2F", "https://elsewhere.test/token?a=%2F"),
        ("/service/token?x=1", "https://registry.example.com:5000/service/token?x=1"),
        # TLS ends before the registry, which does not know: never in plain http, all the same.
        ("http://registry.example.com/token", "https://registry.example.com/token"),
        ("http://registry.example.com:80/token?a=b", "https://registry.example.com/token?a=b"),
        ("http://registry.example.com:5000/token", "https://registry.example.com:5000/token"),
    ],
)
def test_usable_realms(realm: str, expected: str) -> None:
    assert str(token_service(realm, REGISTRY, allows_plain_http=no)) == expected


@pytest.mark.parametrize(
    "realm",
    [
        "",
        "http://harbor-core.default.svc/service/token",
        "http://example.com/token",
        "http://127.0.0.1/token",
        "http://localhost/token",
        "https://user:pass@registry.example.com/token",
        "https://registry.example.com/token#fragment",
        "https:///token",
        "https://h:port/",
        "ftp://registry.example.com/token",
        "file:///etc/passwd",
        "https://h/\r\nX: y",
    ],
)
@pytest.mark.parametrize("allow_loopback", [False, True])
def test_unusable_realms(realm: str, allow_loopback: bool) -> None:
    """B10: a registry does not choose that credentials go in the clear."""
    with pytest.raises(RegistryError) as caught:
        token_service(realm, REGISTRY, allows_plain_http=loopback if allow_loopback else no)
    assert caught.value.reason is TroubleReason.RegistryMisconfigured
    assert "registry.example.com:5000" in caught.value.message


def test_plain_http_stays_on_this_machine() -> None:
    """B28."""
    realm = "http://127.0.0.1:5001/token"
    assert str(token_service(realm, LOCAL, allows_plain_http=loopback)) == realm
    for refused in ("http://registry.example.com/token", "http://10.0.0.1/token"):
        with pytest.raises(RegistryError, match="insecure: plainHTTP"):
            token_service(refused, LOCAL, allows_plain_http=loopback)


@pytest.mark.parametrize(
    ("service", "registry"),
    [
        ("https://registry.example.com:5000/token", "https://registry.example.com:5000/"),
        ("https://gitlab.example.com/jwt/auth", "https://gitlab.example.com:5050/"),
        ("https://auth.docker.io/token", "https://registry-1.docker.io/"),
        ("https://gitlab.com/jwt/auth", "https://registry.gitlab.com/"),
        ("https://gitlab.example.co.uk/jwt/auth", "https://registry.example.co.uk/"),
        ("https://login.team.github.io/token", "https://registry.team.github.io/"),
        ("https://dockerauth.eu-1.aliyuncs.com/auth", "https://registry.eu-1.aliyuncs.com/"),
        ("https://AUTH.Docker.IO/token", "https://registry-1.docker.io/"),
        ("https://auth.b\u00fccher.example/token", "https://xn--bcher-kva.example/"),
        ("https://auth.corp.internal/token", "https://registry.corp.internal/"),
        ("https://auth.shop.svc.cluster.local/token", "https://registry.shop.svc.cluster.local/"),
        ("https://auth.shop.svc/token", "https://registry.shop.svc:5000/"),
        ("https://10.0.0.5/token", "https://10.0.0.5:5000/"),
        ("https://registry/token", "https://registry:5000/"),
        ("http://127.0.0.1:5001/token", "http://127.0.0.1:5000/"),
        ("https://[fd00::5]/token", "https://[fd00::5]:5000/"),
    ],
)
def test_token_services_that_may_see_credentials(service: str, registry: str) -> None:
    assert may_see_credentials(URL(service), URL(registry))


@pytest.mark.parametrize(
    ("service", "registry"),
    [
        ("https://evil.test/token", "https://registry.example.com/"),
        ("https://example.com.evil.test/token", "https://registry.example.com/"),
        ("https://evilexample.com/token", "https://registry.example.com/"),
        ("https://example.org/token", "https://registry.example.com/"),
        # A suffix under which anybody can have a name joins nothing.
        ("https://evil.co.uk/token", "https://registry.co.uk/"),
        ("https://evil.com.au/token", "https://registry.com.au/"),
        ("https://com/token", "https://example.com/"),
        ("https://evil.kobe.jp/token", "https://registry.city.kobe.jp/"),
        ("https://evil.xn--80adxhks/token", "https://registry.xn--80adxhks/"),
        # Nor does one where a hosting service gives names to its customers.
        ("https://evil.github.io/token", "https://team.github.io/"),
        ("https://github.io/token", "https://team.github.io/"),
        ("https://team.github.io/token", "https://github.io/"),
        ("https://evil.azurewebsites.net/token", "https://team.azurewebsites.net/"),
        ("https://evil.blob.core.windows.net/", "https://team.blob.core.windows.net/"),
        (
            "https://evil.eu-west-1.elb.amazonaws.com/",
            "https://team.eu-west-1.elb.amazonaws.com/",
        ),
        ("https://evil-x.a.run.app/token", "https://team-x.a.run.app/"),
        ("https://evil.github.io./token", "https://team.github.io/"),
        # Nor does a cluster: each namespace has Services of its own.
        ("https://x.evil.svc.cluster.local/token", "https://x.shop.svc.cluster.local/"),
        ("https://shop.evil.svc.cluster.local/token", "https://x.shop.svc.cluster.local/"),
        ("https://x.evil.svc/token", "https://x.shop.svc/"),
        ("https://auth.internal/token", "https://registry.internal/"),
        # Nor do numbers.
        ("https://10.0.0.6/token", "https://10.0.0.5/"),
        ("https://[fd00::6]/token", "https://[fd00::5]/"),
        ("https://0.5/token", "https://10.0.0.5/"),
        ("https://10.0.0.6./token", "https://10.0.0.5./"),
        ("https://auth/token", "https://registry/"),
        ("http://localhost:5001/token", "http://127.0.0.1:5000/"),
    ],
)
def test_token_services_that_may_not(service: str, registry: str) -> None:
    """B10: credentials never go to a host that they were not meant for."""
    assert not may_see_credentials(URL(service), URL(registry))


def test_the_public_suffixes_are_at_hand_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come with the library, the section of hosting services among them."""
    _public_suffixes.cache_clear()
    monkeypatch.setattr(socket, "socket", None)
    assert not may_see_credentials(URL("https://a.github.io/"), URL("https://b.github.io/"))
    assert _public_suffixes.cache_info().currsize == 1
