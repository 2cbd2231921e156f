"""Proxies as the environment names them: the rules of Go's httpproxy, by example."""

import base64

import pytest
from yarl import URL

from imagerefresh.registry.outcomes import TroubleReason
from imagerefresh.registry.proxies import Proxies, Proxy, parse_proxy, read_environment, refusal

PASSWORD = "p%40ss-w%C3%B6rd%E2%82%AC"
PROXY = "http://proxy.test:3128"


def addresses(**variables: str) -> tuple[str | None, str | None]:
    """Where plain http and TLS go."""
    found = read_environment(variables)
    both = (found.for_url(URL(f"{scheme}://ghcr.io/")) for scheme in ("http", "https"))
    plain, secure = (str(proxy.url) if proxy else None for proxy in both)
    return plain, secure


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (None, None)),
        ({"HTTPS_PROXY": PROXY}, (None, PROXY)),
        ({"HTTP_PROXY": PROXY}, (PROXY, None)),
        ({"https_proxy": PROXY, "http_proxy": "http://b.test"}, ("http://b.test", PROXY)),
        # The upper case wins, unless it is empty.
        ({"HTTPS_PROXY": PROXY, "https_proxy": "http://b.test"}, (None, PROXY)),
        ({"HTTPS_PROXY": " ", "https_proxy": PROXY}, (None, PROXY)),
        ({"HTTPS_PROXY": ""}, (None, None)),
        # A scheme may be missing, and is no hint at what goes through.
        ({"HTTPS_PROXY": "proxy.test:3128"}, (None, PROXY)),
        ({"HTTPS_PROXY": "https://proxy.test/"}, (None, "https://proxy.test/")),
        ({"HTTPS_PROXY": "http://[2001:db8::1]:3128"}, (None, "http://[2001:db8::1]:3128")),
        ({"HTTPS_PROXY": "http://proxy_1.test"}, (None, "http://proxy_1.test")),
        # Neither of these is read.
        ({"ALL_PROXY": PROXY, "all_proxy": PROXY, "Https_Proxy": PROXY}, (None, None)),
        # Exceptions.
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, (None, None)),
        ({"HTTPS_PROXY": PROXY, "no_proxy": ".svc, ghcr.io"}, (None, None)),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": ",.svc,,10.0.0.0/8,"}, (None, PROXY)),
    ],
)
def test_variables(variables: dict[str, str], expected: tuple[str | None, str | None]) -> None:
    assert addresses(**variables) == expected


def test_exceptions_that_cannot_be_read_are_left_out_and_told() -> None:
    """The list may be made for other programs; it may hold anything, so it is not quoted."""
    text = "<local>,quay.io,http://user:hidden@x.test/,10.0.0.0/99"
    found = read_environment({"HTTPS_PROXY": PROXY, "NO_PROXY": text})
    assert found.for_url(URL("https://quay.io/")) is None
    assert found.for_url(URL("https://ghcr.io/")) == Proxy(URL(PROXY))
    assert found.problems == tuple(
        f"entry {number} of NO_PROXY has no effect: it is no domain, address or network"
        for number in (1, 3, 4)
    )


@pytest.mark.parametrize(
    "text",
    [
        "socks5://user:hidden@proxy.test:1080",
        "http://",
        "http://user:hidden@proxy.test:port",
        "http://user:hidden@proxy.test/path",
        "http://user:hidden@proxy.test:0",
        "http://user:hidden@",
        "hidden password",
    ],
)
def test_a_proxy_that_cannot_be_used_is_told_without_quoting_it(text: str) -> None:
    with pytest.raises(ValueError, match="HTTP_PROXY: give an address such as") as caught:
        read_environment({"HTTP_PROXY": text, "https_proxy": text})
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["HTTP_PROXY", "HTTPS_PROXY"]
    assert "hidden" not in str(caught.value)


def test_user_and_password_are_for_the_proxys_eyes() -> None:
    """In UTF-8, as any other password of ours; not in the address, and in no repr."""
    found = read_environment({"HTTPS_PROXY": f"http://r%3Aobot:{PASSWORD}@proxy.test:3128"})
    proxy = found.for_url(URL("https://ghcr.io/"))
    assert proxy is not None
    assert str(proxy.url) == PROXY
    scheme, _, encoded = proxy.authorization.partition(" ")
    assert scheme == "Basic"
    assert base64.b64decode(encoded).decode() == "r:obot:p@ss-wörd€"
    for shown in (repr(found), str(found)):
        assert "obot" not in shown
        assert encoded not in shown


def test_a_user_alone_is_enough() -> None:
    assert base64.b64decode(parse_proxy("http://me@p.test").authorization[6:]) == b"me:"


def test_no_proxies_are_equal() -> None:
    assert read_environment({}) == Proxies()


@pytest.mark.parametrize(
    ("url", "status", "expected"),
    [
        ("http://registry.test/", 407, 407),
        ("http://registry.test/", 403, None),
        ("https://registry.test/", 407, None),
    ],
)
def test_which_answers_are_a_proxys_own(url: str, status: int, expected: int | None) -> None:
    assert parse_proxy(PROXY).own_status(URL(url), status) == expected


@pytest.mark.parametrize("status", [403, 407])
def test_a_refusal_needs_a_person(status: int) -> None:
    error = refusal("registry.test", status)
    assert error is not None
    assert error.reason is TroubleReason.RegistryMisconfigured
    assert f"HTTP {status}" in error.message


@pytest.mark.parametrize("status", [None, 200, 404, 502, 503, 504])
def test_other_answers_of_a_proxy_may_pass(status: int | None) -> None:
    assert refusal("registry.test", status) is None
