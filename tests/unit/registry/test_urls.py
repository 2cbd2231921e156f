import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from imagerefresh.registry.urls import foreign_url, has_user, host_port

BASE = URL("https://registry.example.com:5000/v2/team/app?x=1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://h.example.com/token", "https://h.example.com/token"),
        ("http://h.example.com:81/a", "http://h.example.com:81/a"),
        ("/token?a=%2F%27+b", "https://registry.example.com:5000/token?a=%2F%27+b"),
        ("token", "https://registry.example.com:5000/v2/team/token"),
        ("//h.example.com/x", "https://h.example.com/x"),
        ("https://[::1]:5000/x", "https://[::1]:5000/x"),
        # One host has one name: limits, rules and the address policy go by it.
        ("https://H.Example.COM/A?B=%2f", "https://h.example.com/A?B=%2f"),
        ("https://h.example.com:443/a%2Fb", "https://h.example.com/a%2Fb"),
        ("http://h.example.com:80/", "http://h.example.com/"),
        ("http://h.example.com:443/", "http://h.example.com:443/"),
        ("https://[FD00::A]:443/x", "https://[fd00::a]/x"),
        ("https://user@H.example.com:443/x", "https://user@h.example.com/x"),
        ("https://under_score.test/", "https://under_score.test/"),
        ("https://h.example.com./", None),
        ("https://localhost.:5000/", None),
        ("https://local%68ost/", None),
        ("https://h..example.com/", None),
        ("https://.h.example.com/", None),
        ("https://a,b.test/", None),
        ("https://[fe80::1%25eth0]/", None),
        ("https://" + "a." * 126 + "abc/", "https://" + "a." * 126 + "abc/"),
        ("https://" + "a." * 126 + "abcd/", None),
        ("", None),
        (" https://h", None),
        ("https://h/a b", None),
        ("https://h/\r\nX: y", None),
        ("https://h\u00e9/", None),
        ("https://", None),
        ("https:///x", None),
        ("https:x", None),
        ("https://h:port/", None),
        ("https://h:99999/", None),
        ("https://h:0/", None),
        ("https://[::1/", None),
        ("https://[x]/", None),
        ("ftp://h/", None),
        ("file:///etc/passwd", None),
        ("javascript:x", None),
    ],
)
def test_foreign_url(text: str, expected: str | None) -> None:
    url = foreign_url(text, BASE)
    assert (None if url is None else str(url)) == expected


def test_a_default_port_is_none() -> None:
    """So that a host is one host to its limits, however it is named."""
    for text in ("https://h.example.com:443/", "https://H.example.com/", "http://h.example.com:80"):
        url = foreign_url(text, BASE)
        assert url is not None
        assert host_port(url) == "h.example.com"


def test_parts() -> None:
    assert host_port(BASE) == "registry.example.com:5000"
    assert host_port(URL("https://user:pass@h.example.com/")) == "h.example.com"
    assert has_user(URL("https://user@h.example.com/"))
    assert not has_user(BASE)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40) | st.text("htps:/[]@%0:.?#", max_size=40).map("https://".__add__))
def test_raises_nothing_and_its_results_are_usable(text: str) -> None:
    url = foreign_url(text, BASE)
    if url is not None:
        assert url.host
        assert host_port(url)
        url.origin()
        has_user(url)
