"""Our reading of references against that of a port of the runtimes' own grammar."""

import ipaddress

import pytest
from docker_image.digest import InvalidDigest
from docker_image.reference import InvalidReference as Refused
from docker_image.reference import Reference as Oracle
from hypothesis import event, given, settings
from hypothesis import strategies as st

from imagerefresh.reference import InvalidReference, parse

HUB = {"docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"}


def mostly(good: st.SearchStrategy[str], *odd: str) -> st.SearchStrategy[str]:
    """Draw something good, or now and then something odd."""
    return st.integers(0, 9).flatmap(lambda n: good if n else st.sampled_from(odd))


hosts = mostly(
    st.sampled_from(
        [
            "docker.io",
            "index.docker.io",
            "registry-1.docker.io",
            "Docker.io",
            "localhost",
            "ghcr.io",
            "GHCR.io",
            "a.b-c.d",
            "Host",
            "host",
            "xn--n3h.com",
            "10.0.0.5",
            "[::1]",
            "[2001:DB8::0:1]",
        ]
    ),
    *("-a.b", "a-.b", "a..b", "[:::]", "[fe80::1%eth0]", "[::ffff:1.2.3.4]", "under_score.com"),
)
ports = mostly(st.sampled_from(["", ":443", ":80", ":5000", ":65535", ":005000"]), ":0", ":", ":x")
components = mostly(
    st.from_regex(r"\A[a-z0-9]{1,3}([._-][a-z0-9]{1,3}){0,2}\Z")
    | st.sampled_from(["library", "a__b", "a---b"]),
    *("a._b", "-a", "a-", "A", "", "\u00e9", "a" * 200, "a" * 64),
)
tags = mostly(
    st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,8}\Z") | st.just("a" * 128),
    *("a" * 129, "", ".a", "\u0661", "a:b"),
)
digests = mostly(
    st.sampled_from([f"sha256:{'a1' * 32}", f"sha512:{'b2' * 64}"]),
    f"sha384:{'b2' * 48}",
    f"sha256:{'A1' * 32}",
    f"sha256:{'a1' * 31}",
    f"md5:{'a1' * 16}",
    "sha256:",
    "",
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Put together what are mostly references, and sometimes break them."""
    text = "/".join(draw(st.lists(components, min_size=1, max_size=3)))
    if draw(st.booleans()):
        text = f"{draw(hosts)}{draw(ports)}/{text}"
    if draw(st.booleans()):
        text = f"{text}:{draw(tags)}"
    if draw(st.integers(0, 3)) == 0:
        text = f"{text}@{draw(digests)}"
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from([*"/:@.-_[]A \n", ""])) + text[at + 1 :]
    return text


def theirs(text: str) -> tuple[str, str, str | None, str | None] | None:
    """What the oracle reads, None if it refuses."""
    if text.endswith("\n"):
        return None  # its `$` matches before that, and so takes it
    try:
        found = Oracle.parse_normalized_named(text)
    except (Refused, InvalidDigest):
        return None
    return found.domain(), found.path(), found["tag"], found["digest"]


def is_refused_by_us_alone(domain: str, path: str, digest: str | None) -> bool:
    """Where we are stricter, on purpose: what no server could be asked for."""
    host, bracket, port = domain.rpartition("]")
    if bracket:
        port = port.removeprefix(":")
        try:
            ipaddress.IPv6Address(host.removeprefix("["))
        except ValueError:
            return True
    else:
        port = domain.partition(":")[2]
    impossible_port = port != "" and (len(port) > 8 or not 0 < int(port) <= 65535)
    unsupported = digest is not None and digest.startswith("sha384:")
    too_long = _is_hub(domain) and len(f"library/{path}") > 255
    return impossible_port or unsupported or too_long


def _is_hub(domain: str) -> bool:
    return domain.lower().removesuffix(":443") in HUB


def normal_host(domain: str) -> str:
    """The oracle keeps a host as it is written; we make equal what is one server."""
    host, bracket, port = domain.rpartition("]")
    if bracket:
        name, port = f"[{ipaddress.IPv6Address(host[1:]).compressed}]", port.removeprefix(":")
        loopback = ipaddress.IPv6Address(host[1:]).is_loopback
    else:
        name, _, port = domain.lower().partition(":")
        loopback = name == "localhost" or name.startswith("127.")
    usual = 80 if loopback else 443
    if port and int(port) != usual:
        return f"{name}:{int(port)}"
    if name in HUB:
        return "docker.io"
    has_dot = "." in name or bracket or name == "localhost"
    return name if has_dot else f"{name}:{usual}"


def compare(text: str) -> str:
    """Compare the two readings; returns which case it was."""
    expected = theirs(text)
    try:
        ours = parse(text)
    except InvalidReference:
        if expected is None:
            return "both refuse"
        domain, path, _, digest = expected
        assert is_refused_by_us_alone(domain, path, digest), (text, expected)
        return "only we refuse"
    assert expected is not None, (text, ours)
    domain, path, tag, digest = expected
    registry = normal_host(domain)
    if registry == "docker.io" and "/" not in path:
        path = f"library/{path}"
    implied = "latest" if tag is None and digest is None else tag
    assert (ours.registry, ours.repository, ours.tag, ours.digest) == (
        registry,
        path,
        implied,
        digest,
    ), text
    return "both read the same"


@given(texts())
@settings(max_examples=400, deadline=None)
def test_we_read_what_the_oracle_reads(text: str) -> None:
    event(compare(text))


@given(st.text(alphabet="abA09._-/:@[]", max_size=24))
@settings(max_examples=400, deadline=None)
def test_we_read_any_text_as_the_oracle_does(text: str) -> None:
    event(compare(text))


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("nginx", "both read the same"),
        ("[2001:DB8::0:1]:5000/a", "both read the same"),
        ("REGISTRY-1.docker.io:443/nginx", "both read the same"),
        (f"a.b/c:d@sha512:{'b2' * 64}", "both read the same"),
        ("a.b:65536/c", "only we refuse"),
        ("[:::]/a", "only we refuse"),
        (f"a@sha384:{'b2' * 48}", "only we refuse"),
        ("a.b/C", "both refuse"),
        ("nginx\n", "both refuse"),
    ],
)
def test_the_comparison_sees_each_case(text: str, case: str) -> None:
    assert compare(text) == case
