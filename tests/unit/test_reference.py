import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.reference import (
    InvalidReference,
    Reference,
    is_digest,
    is_loopback,
    normalise,
    parse,
)

SHA256 = "sha256:" + "a1" * 32
SHA512 = "sha512:" + "b2" * 64


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        # Docker Hub and what it implies.
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.25", "docker.io/library/nginx:1.25"),
        ("library/nginx", "docker.io/library/nginx:latest"),
        ("example/app", "docker.io/example/app:latest"),
        ("a/b/c", "docker.io/a/b/c:latest"),
        ("docker.io/nginx", "docker.io/library/nginx:latest"),
        ("docker.io/library/nginx", "docker.io/library/nginx:latest"),
        ("index.docker.io/nginx", "docker.io/library/nginx:latest"),
        ("registry-1.docker.io/library/nginx:1", "docker.io/library/nginx:1"),
        ("registry.hub.docker.com/example/app:1", "docker.io/example/app:1"),
        ("DOCKER.IO/nginx", "docker.io/library/nginx:latest"),
        ("docker.io:443/nginx", "docker.io/library/nginx:latest"),
        ("xn--n3h/app", "docker.io/xn--n3h/app:latest"),
        ("myhost/app", "docker.io/myhost/app:latest"),
        # Without a slash there is no registry in it.
        ("test.com:5000", "docker.io/library/test.com:5000"),
        ("localhost", "docker.io/library/localhost:latest"),
        ("example.com", "docker.io/library/example.com:latest"),
        # Other registries.
        ("ghcr.io/example/app:0.3", "ghcr.io/example/app:0.3"),
        ("ghcr.io/app", "ghcr.io/app:latest"),
        ("GHCR.io/example/app", "ghcr.io/example/app:latest"),
        ("ghcr.io:443/example/app", "ghcr.io/example/app:latest"),
        ("ghcr.io:0443/example/app", "ghcr.io/example/app:latest"),
        ("ghcr.io:80/example/app", "ghcr.io:80/example/app:latest"),
        ("registry.example.com:5000/app:x", "registry.example.com:5000/app:x"),
        ("xn--7o8h.com/app", "xn--7o8h.com/app:latest"),
        ("10.0.0.5:5000/app", "10.0.0.5:5000/app:latest"),
        ("my-host.example.com/a.b/c_d/e__f/g---h", "my-host.example.com/a.b/c_d/e__f/g---h:latest"),
        # Hosts without a dot: kept apart from paths on Docker Hub.
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/app:1", "localhost:5000/app:1"),
        ("localhost:80/app", "localhost/app:latest"),
        ("localhost:443/app", "localhost:443/app:latest"),
        ("Registry/app", "registry:443/app:latest"),
        ("registry:443/app", "registry:443/app:latest"),
        ("registry:5000/app", "registry:5000/app:latest"),
        # IPv6, in brackets only.
        ("[::1]:5000/app", "[::1]:5000/app:latest"),
        ("[::1]/app:1", "[::1]/app:1"),
        ("[0:0:0:0:0:0:0:1]:80/app", "[::1]/app:latest"),
        ("[2001:DB8::1]:443/app", "[2001:db8::1]/app:latest"),
        # Tags and digests.
        ("nginx:V1_2.3-x", "docker.io/library/nginx:V1_2.3-x"),
        ("nginx:_x", "docker.io/library/nginx:_x"),
        ("nginx:" + "t" * 128, "docker.io/library/nginx:" + "t" * 128),
        (f"nginx@{SHA256}", f"docker.io/library/nginx@{SHA256}"),
        (f"nginx@{SHA512}", f"docker.io/library/nginx@{SHA512}"),
        (f"nginx:1@{SHA256}", f"docker.io/library/nginx:1@{SHA256}"),
        (f"localhost:5000/app:1@{SHA256}", f"localhost:5000/app:1@{SHA256}"),
        # Sizes.
        ("example.com/" + "a" * 255, "example.com/" + "a" * 255 + ":latest"),
        ("a" * 63, "docker.io/library/" + "a" * 63 + ":latest"),
    ],
)
def test_parse_normalises(text: str, normal: str) -> None:
    """B1: whatever a reference is written like, equal images give equal references."""
    reference = parse(text)
    assert str(reference) == normal
    assert parse(normal) == reference


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nginx ",
        "nginx\n",
        ":1",
        "nginx:",
        "nginx:-x",
        "nginx:.x",
        "nginx:a b",
        "nginx:" + "t" * 129,
        "nginx:\u00e9",
        "nginx:1:2",
        "nginx@",
        "nginx@sha256:abc",
        "nginx@sha256:" + "A1" * 32,
        "nginx@md5:" + "a" * 32,
        f"nginx@{SHA256}@{SHA256}",
        f"@{SHA256}",
        "Nginx",
        "example/App",
        "ghcr.io/Example/app",
        "/app",
        "app/",
        "a//b",
        "a/./b",
        "a/../b",
        "-app",
        "app-",
        "a_/b",
        "a___b",
        "a..b",
        "a._b",
        "example/\u00e4pp",
        "https://ghcr.io/example/app",
        "user@ghcr.io/example/app",
        "ghcr.io:/app",
        "ghcr.io:port/app",
        "ghcr.io:0/app",
        "ghcr.io:65536/app",
        "ghcr.io:123456789/app",
        "-ghcr.io/app",
        "ghcr-.io/app",
        "ghcr..io/app",
        ".ghcr.io/app",
        "ghcr.io./app",
        "gh_cr.io/app",
        "*.io/app",
        "[::1]",
        "[::1/app",
        "[::1]5000/app",
        "[]/app",
        "[fe80::1%eth0]/app",
        "[::ffff:127.0.0.1]/app",
        "[1:2]/app",
        "::1/app",
        "f0" * 32,
        "example.com/" + "a" * 256,
        "a" * 248,
        "a." * 127 + "com/x/" + "b" * 1000,
        "a." * 128 + "com/app",
    ],
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse(text)


def test_a_long_hex_name_is_an_image_only_where_it_can_not_be_an_id() -> None:
    assert str(parse("ghcr.io/" + "f0" * 32)).startswith("ghcr.io/f0")


@pytest.mark.parametrize(
    ("fields", "normal"),
    [
        (("docker.io", "nginx", "prod"), "docker.io/library/nginx:prod"),
        (("index.docker.io", "example/app", "prod"), "docker.io/example/app:prod"),
        (("GHCR.IO", "example/app", "0.3"), "ghcr.io/example/app:0.3"),
        (("localhost:5000", "app", "1"), "localhost:5000/app:1"),
        (("registry", "app", "1"), "registry:443/app:1"),
        (("[::1]:5000", "app", "1"), "[::1]:5000/app:1"),
    ],
)
def test_normalise_joins_the_fields_of_a_policy(fields: tuple[str, str, str], normal: str) -> None:
    """B1: a policy's three fields and a container's one text are comparable."""
    assert str(normalise(*fields)) == normal
    assert normalise(*fields) == parse(normal)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        (("", "app", "1"), "registry"),
        (("https://ghcr.io", "app", "1"), "scheme"),
        (("ghcr.io/example", "app", "1"), "path"),
        (("ghcr.io", "", "1"), "repository"),
        (("ghcr.io", "App", "1"), "lower case"),
        (("ghcr.io", "app:1", "1"), "repository"),
        (("ghcr.io", f"app@{SHA256}", "1"), "repository"),
        (("ghcr.io", "app", ""), "tag"),
        (("ghcr.io", "app", f"1@{SHA256}"), "tag"),
    ],
)
def test_normalise_says_which_field_is_wrong(fields: tuple[str, str, str], word: str) -> None:
    """B3: the message says what to change."""
    with pytest.raises(InvalidReference, match=word):
        normalise(*fields)


def test_a_reference_shows_its_parts() -> None:
    reference = parse("ghcr.io/example/app:1")
    assert reference == Reference("ghcr.io", "example/app", "1")
    assert reference.name == "ghcr.io/example/app"
    pinned = reference.with_digest(SHA256)
    assert str(pinned) == f"ghcr.io/example/app:1@{SHA256}"
    assert pinned.without_digest() == reference
    assert parse(f"app@{SHA256}").tag is None
    with pytest.raises(InvalidReference, match="not a digest"):
        reference.with_digest("sha256:short")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHA256, True),
        (SHA512, True),
        (SHA256.upper(), False),
        (SHA256 + "\n", False),
        (SHA256[:-1], False),
        (SHA256 + "0", False),
        ("a1" * 32, False),
        ("sha384:" + "a" * 96, False),
        ("", False),
    ],
)
def test_is_digest(text: str, expected: bool) -> None:
    assert is_digest(text) is expected


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        ("localhost", True),
        ("localhost:5000", True),
        ("127.0.0.1", True),
        ("127.9.9.9:5000", True),
        ("[::1]", True),
        ("[::1]:5000", True),
        ("127.1", False),
        ("localhost.example.com", False),
        ("app.localhost", False),
        ("[2001:db8::1]:5000", False),
        ("10.0.0.1:5000", False),
        ("docker.io", False),
    ],
)
def test_is_loopback(registry: str, expected: bool) -> None:
    """B28: plain http is for this machine only."""
    assert is_loopback(registry) is expected


def test_messages_show_foreign_text_bounded_and_printable() -> None:
    with pytest.raises(InvalidReference) as caught:
        parse("a\x1b[31m" + "x" * 900)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=80) | st.text("aA0.-_:/@[]%\n", max_size=40))
def test_parse_raises_nothing_else_and_its_result_parses_to_itself(text: str) -> None:
    try:
        reference = parse(text)
    except InvalidReference:
        return
    assert parse(str(reference)) == reference


@settings(max_examples=50, deadline=None)
@given(st.text("aA0.-_:/@[]", max_size=20), st.text("a/A:_-.", max_size=20), st.text("aA0-._:@"))
def test_normalise_agrees_with_parse(registry: str, repository: str, tag: str) -> None:
    try:
        reference = normalise(registry, repository, tag)
    except InvalidReference:
        return
    assert parse(str(reference)) == reference
