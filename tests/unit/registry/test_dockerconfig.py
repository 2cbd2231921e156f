"""What pull secrets hold, good and bad (B10)."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.registry import Credential
from imagerefresh.registry.dockerconfig import DockerConfig, read_docker_config

SOURCE = 'secret "regcred"'
SECRET = "s3cr3t-Pa55w0rd"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def read(content: object, *, is_legacy: bool = False) -> DockerConfig:
    return read_docker_config(json.dumps(content).encode(), SOURCE, is_legacy=is_legacy)


def read_entry(entry: object) -> DockerConfig:
    return read({"auths": {"registry.example.com": entry}})


def credential(username: str = "", password: str = "", **tokens: str) -> Credential:
    return Credential(SOURCE, username=username, password=password, **tokens)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"username": "bob", "password": "pw"}, credential("bob", "pw")),
        ({"username": "bob", "password": "pw", "email": "b@example.com"}, credential("bob", "pw")),
        ({"username": "bob"}, credential("bob")),
        ({"username": "bob", "password": None, "auth": None}, credential("bob")),
        ({"auth": encoded("bob:pw")}, credential("bob", "pw")),
        # auth wins.
        ({"username": "x", "password": "y", "auth": encoded("bob:pw")}, credential("bob", "pw")),
        ({"username": "bob", "password": "pw", "auth": ""}, credential("bob", "pw")),
        # Only the first colon separates.
        ({"auth": encoded("bob:p:w:")}, credential("bob", "p:w:")),
        ({"auth": encoded("bob:")}, credential("bob")),
        # Padded or not, broken into lines, with a newline or NULs in the end.
        ({"auth": encoded("bobby:pw").rstrip("=")}, credential("bobby", "pw")),
        ({"auth": f" {encoded('bob:pw')[:4]}\n{encoded('bob:pw')[4:]}\n"}, credential("bob", "pw")),
        ({"auth": encoded("bob:pw\n")}, credential("bob", "pw")),
        ({"auth": encoded("bob:pw\0\0")}, credential("bob", "pw")),
        ({"auth": encoded("bob:pw ")}, credential("bob", "pw ")),
        ({"auth": encoded("bøb:pässword")}, credential("bøb", "pässword")),
        # More than the kubelet takes.
        ({"identitytoken": "t"}, credential(identity_token="t")),
        ({"registrytoken": "t"}, credential(registry_token="t")),
        (
            {"auth": encoded("<token>:"), "identitytoken": "t"},
            credential("<token>", identity_token="t"),
        ),
    ],
)
def test_a_usable_entry(entry: object, expected: Credential) -> None:
    config = read_entry(entry)
    assert [found for _, found in config.entries] == [expected]
    assert config.problems == ()


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({}, "it holds no credentials"),
        ({"email": "b@example.com"}, "it holds no credentials"),
        ({"password": SECRET}, "it holds no credentials"),
        ({"auth": encoded(f":{SECRET}")}, "it holds no credentials"),
        ({"auth": encoded(SECRET)}, "its auth holds no user name and password with a colon"),
        ({"auth": f"{SECRET}!"}, "its auth is not base64"),
        ({"auth": "A"}, "its auth is not base64"),
        ({"auth": "é"}, "its auth is not base64"),
        ({"auth": base64.b64encode(b"bob:\xff").decode()}, "its auth is not UTF-8 text"),
        ({"auth": 5}, "its auth is not a string"),
        ({"username": ["bob"], "password": SECRET}, "its username is not a string"),
        ({"username": "bob", "password": 12345}, "its password is not a string"),
        (SECRET, "it is not a JSON object"),
        (None, "it is not a JSON object"),
        ([SECRET], "it is not a JSON object"),
    ],
)
def test_an_unusable_entry_is_named_and_the_rest_is_used(entry: object, why: str) -> None:
    config = read({"auths": {"bad.example.com": entry, "good": {"username": "bob"}}})
    assert [found for _, found in config.entries] == [credential("bob")]
    [problem] = config.problems
    assert problem.startswith(f'{SOURCE}: the entry "bad.example.com" can\'t be used: {why}')
    assert SECRET not in problem


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "its content is not JSON (line 1)"),
        (f'{{\n"auths": {SECRET}}}'.encode(), "its content is not JSON (line 2)"),
        (b"\xff\xfe\x00", "its content is not JSON (line 1)"),
        (b'{"auths": "\xff"}', "its content is not JSON"),
        (b"[" * 100_000, "its content is not JSON"),
        (b"null", "its content is not a JSON object"),
        (f'"{SECRET}"'.encode(), "its content is not a JSON object"),
        (f'{{"auths": ["{SECRET}"]}}'.encode(), "auths is not a JSON object"),
        (b'{"auths": {}}', "it has no entries"),
        (b'{"auths": null}', "it has no entries"),
        (b"{}", "it has no entries"),
        (
            b'{"credsStore": "desktop"}',
            "credsStore can't be used: its programs are not there; put the credentials in auths",
        ),
    ],
)
def test_an_unusable_secret_is_named(content: bytes, why: str) -> None:
    config = read_docker_config(content, SOURCE)
    assert config == DockerConfig(problems=(f"{SOURCE}: {why}",))


def test_credential_programs_are_named_and_the_rest_is_used() -> None:
    config = read(
        {
            "credHelpers": {"gcr.example.com": "gcloud"},
            "auths": {"registry.example.com": {"username": "bob"}},
        }
    )
    assert len(config.entries) == 1
    [problem] = config.problems
    assert problem.startswith(f"{SOURCE}: credHelpers can't be used")


def test_the_older_form_is_the_map_itself() -> None:
    config = read({"registry.example.com": {"auth": encoded("bob:pw")}}, is_legacy=True)
    assert [found for _, found in config.entries] == [credential("bob", "pw")]
    assert read({}, is_legacy=True).problems == (f"{SOURCE}: it has no entries",)


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("registry.example.com", "registry.example.com"),
        ("https://registry.example.com", "registry.example.com"),
        ("http://registry.example.com", "registry.example.com"),
        ("https://registry.example.com/", "registry.example.com"),
        ("https://index.docker.io/v1/", "index.docker.io"),
        ("https://registry.example.com/v2/", "registry.example.com"),
        ("registry.example.com/v2/team", "registry.example.com/team"),
        ("registry.example.com/v1", "registry.example.com/v1"),
        ("registry.example.com/team/v1/x", "registry.example.com/team/v1/x"),
        ("registry.example.com/v1/v2/x", "registry.example.com/v2/x"),
        ("registry.example.com:5000/team", "registry.example.com:5000/team"),
        ("Registry.Example.COM/Team", "registry.example.com/Team"),
        ("https://bob:pw@registry.example.com/x", "registry.example.com/x"),
        ("[2001:db8::1]:5000", "[2001:db8::1]:5000"),
    ],
)
def test_a_key_loses_what_does_not_count(key: str, scope: str) -> None:
    config = read({"auths": {key: {"username": "bob"}}})
    assert [str(found) for found, _ in config.entries] == [scope]


@pytest.mark.parametrize("key", ["", "/", "https://", "https:///team", "x" * 2000])
def test_a_key_without_a_host_is_left_out(key: str) -> None:
    config = read({"auths": {key: {"username": "bob"}}})
    assert config.entries == ()
    [problem] = config.problems
    assert problem.startswith(f"{SOURCE}: the entry with an unusual name can't be used: it")


@pytest.mark.parametrize(
    "key", [f"https://bob:{SECRET}@registry.example.com", f"bob:{SECRET}", SECRET, f"x.y?{SECRET}"]
)
def test_a_key_that_may_be_a_secret_is_not_quoted(key: str) -> None:
    [problem] = read({"auths": {key: {}}}).problems
    assert SECRET not in problem


def test_nothing_secret_is_in_a_repr() -> None:
    config = read_entry({"username": "bob", "password": SECRET, "identitytoken": SECRET})
    assert SECRET not in repr(config)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["auth", "username", "password", "identitytoken", "registrytoken"])
ENTRIES = st.dictionaries(st.text(), st.dictionaries(FIELDS, st.text() | JSON) | JSON)


@given(st.binary())
def test_no_bytes_break_it(content: bytes) -> None:
    config = read_docker_config(content, SOURCE)
    assert config.entries or config.problems


@given(ENTRIES | JSON, st.booleans())
def test_no_document_breaks_it(entries: object, is_legacy: bool) -> None:
    config = read(entries if is_legacy else {"auths": entries}, is_legacy=is_legacy)
    assert config.entries or config.problems
