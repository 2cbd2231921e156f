"""Which credentials are tried for an image, and in which order (B10)."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.reference import Reference, parse
from imagerefresh.registry.dockerconfig import DockerConfig, Scope, read_docker_config
from imagerefresh.registry.keyring import Keyring
from imagerefresh.registry.outcomes import Credential


def config(*keys: str, source: str = "secret") -> DockerConfig:
    """A pull secret whose user names are its keys."""
    content = {"auths": {key: {"username": key, "password": "pw"} for key in keys}}
    return read_docker_config(json.dumps(content).encode(), source)


def users(keys: Sequence[str], image: str) -> list[str]:
    found = Keyring([config(*keys)]).credentials_for(parse(image))
    return [credential.username for credential in found]


@pytest.mark.parametrize(
    ("key", "image", "is_match"),
    [
        ("registry.example.com", "registry.example.com/app", True),
        ("registry.example.com", "registry.example.com/team/app:1", True),
        ("https://registry.example.com", "registry.example.com/app", True),
        ("https://registry.example.com/v1/", "registry.example.com/app", True),
        ("https://registry.example.com/v2/", "registry.example.com/app", True),
        ("registry.example.com", "other.example.com/app", False),
        ("registry.example.com", "example.com/app", False),
        ("example.com", "registry.example.com/app", False),
        ("REGISTRY.example.com", "registry.example.com/app", True),
        # Paths are plain prefixes.
        ("registry.example.com/team", "registry.example.com/team/app", True),
        ("registry.example.com/team/app", "registry.example.com/team/app", True),
        ("registry.example.com/team", "registry.example.com/teams/app", True),
        ("registry.example.com/team/", "registry.example.com/teams/app", False),
        ("registry.example.com/team", "registry.example.com/other/app", False),
        ("registry.example.com/team/app/x", "registry.example.com/team/app", False),
        ("registry.example.com/*", "registry.example.com/team/app", False),
        # Ports count.
        ("registry.example.com:5000", "registry.example.com:5000/app", True),
        ("registry.example.com", "registry.example.com:5000/app", False),
        ("registry.example.com:5000", "registry.example.com/app", False),
        ("registry.example.com:5001", "registry.example.com:5000/app", False),
        ("registry.example.com:443", "registry.example.com/app", True),
        ("registry.example.com", "registry.example.com:443/app", True),
        ("registry.example.com:80", "registry.example.com/app", False),
        ("localhost:80", "localhost/app", True),
        ("localhost:5000", "localhost:5000/app", True),
        ("intern", "intern:443/app", True),
        # Patterns are within one label.
        ("*.example.com", "registry.example.com/app", True),
        ("*.example.com", "a.registry.example.com/app", False),
        ("*.example.com", "example.com/app", False),
        ("*.*.example.com", "a.registry.example.com/app", True),
        ("reg*.example.com", "registry.example.com/app", True),
        ("*try.example.com", "registry.example.com/app", True),
        ("registry.*.com", "registry.example.com/app", True),
        ("registry.example.*", "registry.example.com/app", True),
        ("*.com", "registry.example.com/app", False),
        ("*", "registry.example.com/app", False),
        ("r[a-f]gistry.example.com", "registry.example.com/app", True),
        ("r[g-z]gistry.example.com", "registry.example.com/app", False),
        ("registr[.example.com", "registry.example.com/app", False),
        ("*.example.com:5000", "registry.example.com:5000/app", True),
        ("*.example.com:5000", "registry.example.com/app", False),
        ("registry.example.com:*", "registry.example.com:5000/app", False),
        ("*.example.com/team", "registry.example.com/team/app", True),
        # Addresses.
        ("192.0.2.1:5000", "192.0.2.1:5000/app", True),
        ("[2001:db8::1]:5000", "[2001:db8::1]:5000/app", True),
        ("[2001:db8::1]", "[2001:db8::1]/app", True),
        ("[2001:db8::2]", "[2001:db8::1]/app", False),
        # Docker Hub goes by several names.
        ("docker.io", "nginx", True),
        ("https://index.docker.io/v1/", "nginx", True),
        ("index.docker.io", "docker.io/example/web", True),
        ("registry-1.docker.io", "nginx", True),
        ("registry.hub.docker.com", "nginx", True),
        ("docker.io/library", "nginx", True),
        ("docker.io/example", "nginx", False),
        ("index.docker.io/example", "nginx", False),
        ("docker.io", "registry-1.docker.io/library/nginx", True),
        ("*.docker.io", "nginx", False),
        ("hub.docker.com", "nginx", False),
        ("index.docker.io:5000", "nginx", False),
        ("index.docker.io", "registry.example.com/nginx", False),
    ],
)
def test_what_a_key_is_meant_for(key: str, image: str, is_match: bool) -> None:
    assert users([key], image) == ([key] if is_match else [])


@pytest.mark.parametrize(
    ("keys", "image", "expected"),
    [
        # The longer path of a host comes first.
        (
            ["r.example.com", "r.example.com/team/app", "r.example.com/team"],
            "r.example.com/team/app",
            ["r.example.com/team/app", "r.example.com/team", "r.example.com"],
        ),
        # Letters come before a star.
        (
            ["*.example.com", "r.example.com"],
            "r.example.com/app",
            ["r.example.com", "*.example.com"],
        ),
        # What one scope has comes in the order of the file.
        (
            ["https://r.example.com", "r.example.com", "http://r.example.com/v2/"],
            "r.example.com/app",
            ["https://r.example.com", "r.example.com", "http://r.example.com/v2/"],
        ),
        # Docker Hub's other names only where its own is not there.
        (["https://index.docker.io/v1/", "docker.io"], "nginx", ["docker.io"]),
        (
            ["index.docker.io", "docker.io/example", "registry-1.docker.io"],
            "nginx",
            ["registry-1.docker.io", "index.docker.io"],
        ),
    ],
)
def test_the_order(keys: list[str], image: str, expected: list[str]) -> None:
    assert users(keys, image) == expected


def test_secrets_of_one_keyring_count_as_one() -> None:
    """A longer path wins over an earlier secret; of equal keys the earlier secret comes first."""
    keyring = Keyring(
        [
            config("r.example.com", source="first"),
            config("r.example.com", "r.example.com/team", source="second"),
        ]
    )
    found = keyring.credentials_for(parse("r.example.com/team/app"))
    assert [credential.source for credential in found] == ["second", "first", "second"]


def test_nothing_is_found_where_nothing_is() -> None:
    assert Keyring([]).credentials_for(parse("nginx")) == []


HOSTS = st.text("abAB.*?[]^-:\\/0123456789", max_size=20)
IMAGES = st.sampled_from(
    [
        parse("nginx"),
        parse("registry.example.com/team/app"),
        parse("localhost:5000/app"),
        parse("[::1]:5000/app"),
    ]
)


@given(st.lists(HOSTS), IMAGES)
def test_no_key_breaks_it(hosts: list[str], image: Reference) -> None:
    entries = tuple((Scope(host), Credential(host)) for host in hosts)
    found = Keyring([DockerConfig(entries)]).credentials_for(image)
    assert {credential.source for credential in found} <= set(hosts)
