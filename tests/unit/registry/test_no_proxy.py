"""The rules of Go's httpproxy, by example."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from imagerefresh.registry.no_proxy import NoProxy


@pytest.mark.parametrize(
    ("entry", "direct", "proxied"),
    [
        ("*", ["https://ghcr.io/", "http://10.0.0.1/"], []),
        (
            "10.0.0.0/8",
            ["https://10.1.2.3:5000/", "http://10.0.0.1/", "https://[::ffff:10.1.2.3]/"],
            ["https://11.0.0.1/", "https://ten.example.com/", "https://[fd00::1]/"],
        ),
        ("fd00::/8", ["https://[fd00::5]:5000/"], ["https://[fe80::5]/", "https://10.0.0.1/"]),
        ("192.0.2.7", ["https://192.0.2.7:5000/", "https://192.0.2.7/"], ["https://192.0.2.8/"]),
        ("192.0.2.7:5000", ["https://192.0.2.7:5000/"], ["https://192.0.2.7/"]),
        ("2001:db8::1", ["https://[2001:db8::1]:5000/"], ["https://[2001:db8::2]/"]),
        ("[2001:db8::1]:443", ["https://[2001:db8:0::1]/"], ["https://[2001:db8::1]:5000/"]),
        (
            "example.com",
            ["https://example.com/", "https://a.example.com:5000/", "https://EXAMPLE.com./"],
            ["https://notexample.com/", "https://example.com.test/"],
        ),
        (".example.com", ["https://a.b.example.com/"], ["https://example.com/"]),
        ("*.example.com", ["https://a.example.com/"], ["https://example.com/"]),
        (".cluster.local.", ["https://a.svc.cluster.local/"], ["https://cluster.local/"]),
        (
            "example.com:443",
            ["https://example.com/", "https://a.example.com/"],
            ["https://example.com:5000/", "http://example.com/"],
        ),
        ("example.com:80", ["http://example.com/"], ["https://example.com/"]),
        (" Example.COM ", ["https://a.example.com/"], []),
        ("svc", ["https://registry.default.svc/"], ["https://svc.example.com/"]),
    ],
)
def test_entries(entry: str, direct: list[str], proxied: list[str]) -> None:
    rules = NoProxy.parse(["unrelated.test", entry])
    assert [url for url in direct if not rules.holds(URL(url))] == []
    assert [url for url in proxied if rules.holds(URL(url))] == []


@pytest.mark.parametrize("url", ["http://localhost:5000/", "https://127.1.2.3/", "http://[::1]/"])
def test_this_machine_is_always_direct(url: str) -> None:
    assert NoProxy().holds(URL(url))


@pytest.mark.parametrize(
    "entry", ["", "10.0.0.0/33", "10.0.0/8/8", "a b", "example.com:0", "example.com:x", "[::1]x"]
)
def test_unreadable_entries(entry: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        NoProxy.parse([entry])


@given(
    st.text(max_size=50), st.sampled_from(["https://a.b:1/", "http://[::1]/", "https://1.2.3.4/"])
)
def test_no_entry_raises_anything_else(entry: str, url: str) -> None:
    try:
        rules = NoProxy.parse([entry])
    except ValueError:
        return
    rules.holds(URL(url))
