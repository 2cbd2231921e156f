"""The registries file: what may stand in it, and how a mistake is told."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.registry.config import Config, Insecure
from imagerefresh.registry.config_text import ConfigText, InvalidConfigError

FILE = Path("/etc/registries.yaml")


def read(text: str) -> Config:
    return ConfigText(FILE, text.encode()).config()


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "hosts: {}\nmirrors: []\n"])
def test_nothing_said_is_nothing_changed(text: str) -> None:
    assert read(text) == Config()


def test_all_that_may_stand_in_it() -> None:
    config = read("""
hosts:
  Registry.Example.com:443:
    caFile: /etc/ca.crt
    clientCertificate: {certFile: /etc/tls.crt, keyFile: /etc/tls.key}
    proxy: http://user:secret@proxy.example.com:3128
    rateLimit: {requestsPerSecond: 5, burst: 10}
    tokenServices: [auth.example.net:443]
  "*.corp.example.com": {insecure: skipVerify}
  10.0.0.5:5000: {insecure: plainHTTP, proxy: direct}
  localhost:5000: {allowLoopback: true}
  index.docker.io: {rateLimit: {requestsPerSecond: 0.5}}
  "*": {proxy: direct}
proxy:
  url: http://proxy.example.com:3128
  noProxy: [10.0.0.0/8, .cluster.local, "*"]
mirrors:
  - {prefix: docker.io/library, location: mirror.example.com/hub}
  - {prefix: GHCR.io, location: "mirror.example.com:5000"}
credentials:
  - {dockerConfigFile: /etc/shop/.dockerconfigjson, namespaces: [shop, bank]}
""")
    assert list(config.hosts) == [
        "registry.example.com",
        "*.corp.example.com",
        "10.0.0.5:5000",
        "localhost:5000",
        "docker.io",
        "*",
    ]
    host = config.hosts["registry.example.com"]
    assert host.ca_file == Path("/etc/ca.crt")
    assert host.token_services == ("auth.example.net",)
    assert host.rate_limit is not None
    assert (host.rate_limit.requests_per_second, host.rate_limit.burst) == (5, 10)
    assert config.hosts["10.0.0.5:5000"].insecure is Insecure.PLAIN_HTTP
    assert [(m.prefix, m.location) for m in config.mirrors] == [
        ("docker.io/library", "mirror.example.com/hub"),
        ("ghcr.io", "mirror.example.com:5000"),
    ]
    (credentials,) = config.credentials
    assert credentials.docker_config_file == Path("/etc/shop/.dockerconfigjson")
    assert credentials.namespaces == ("shop", "bank")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hosts:\n  ghcr.io:\n    caFil: /x\n", ":3: hosts.ghcr.io.caFil: Extra inputs"),
        ("hosts:\n  ghcr.io: {insecure: true}\n", ":2: hosts.ghcr.io.insecure: Input should be 'p"),
        ("hosts:\n  ghcr.io:\n    caFile: ca.crt\n", ":3: hosts.ghcr.io.caFile: give the whole pa"),
        (
            "hosts:\n  docker.io: {}\n  a.test: {}\n  Index.docker.io: {}\n",
            ":4: hosts.Index.docker.io: names the same host as docker.io: join the two entries",
        ),
        (
            "hosts:\n  a.test:443: {}\n  a.test:\n    proxy: direct\n",
            ":3: hosts.a.test: names the same host as a.test:443: join the two entries",
        ),
        ('hosts:\n  a.test: {caFile: "/x\\0"}\n', ":2: hosts.a.test.caFile: give the whole path"),
        ("hosts:\n\n  ghcr.io/app: {}\n", ":3: hosts.ghcr.io/app: give the host alone"),
        ('hosts:\n  "*.com": {}\n', ":2: hosts.*.com: give a domain of two labels"),
        ('hosts:\n  "*": {allowLoopback: true}\n', ":1: the host * takes caFile, proxy and rateL"),
        ('hosts:\n  "*": {allowLinkLocal: true}\n', ":1: the host * takes caFile, proxy and rate"),
        (
            "hosts:\n  a.test: {insecure: plainHTTP, caFile: /x}\n",
            ":2: hosts.a.test: caFile and cl",
        ),
        (
            "hosts:\n  a.test: {insecure: skipVerify, caFile: /x}\n",
            ":2: hosts.a.test: caFile has n",
        ),
        (
            "hosts:\n  a.test: {rateLimit: {requestsPerSecond: 0}}\n",
            "requestsPerSecond: Input shou",
        ),
        ("hosts:\n  a.test: {rateLimit: {requestsPerSecond: .nan}}\n", "requestsPerSecond: Input "),
        ("hosts:\n  a.test: {clientCertificate: {certFile: /x}}\n", "keyFile: Field required"),
        ("proxy:\n  url: proxy.test\n", ":2: proxy.url: give an address such as http://"),
        ("proxy:\n  url: socks5://u:hidden@p:1\n", ":2: proxy.url: give an address such as"),
        (
            "proxy:\n  url: http://p:1\n  noProxy:\n    - ok\n    - 10.0.0.0/99\n",
            ":5: proxy.noProxy",
        ),
        ("mirrors:\n  - prefix: docker.io\n", ":2: mirrors.0.location: Field required"),
        (
            "mirrors:\n  - {prefix: docker.io/Lib, location: m.test}\n",
            ":2: mirrors.0.prefix: the r",
        ),
        ("credentials:\n  - {namespaces: [a]}\n", ":2: credentials.0.dockerConfigFile: Field req"),
        ("credentials:\n  - dockerConfigFile: /x\n", ":2: credentials.0.namespaces: Field requ"),
        (
            "credentials:\n  - dockerConfigFile: /x\n    namespaces: []\n",
            ":3: credentials.0.namespaces: Tuple should have at least 1 item",
        ),
        (
            'credentials:\n  - dockerConfigFile: /x\n    namespaces:\n    - a\n    - "*"\n',
            ":5: credentials.0.namespaces.1: give names of namespaces, one by one",
        ),
        ("credentials: [{dockerConfigFile: x, namespaces: [a]}]\n", "give the whole path"),
        ("hosts: [\n", ":2: not YAML: "),
        ("hosts:\n  a.test: {}\n  b.test: {}\n  a.test: {}\n", ":4: a key stands there twice"),
        ("- hosts\n", ":1: Input should be"),
        ("hosts: !!python/object:os.system {}\n", "not YAML"),
        ("\x00", "not YAML"),
    ],
)
def test_mistakes_are_told_with_line_and_reason(text: str, problem: str) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith("/etc/registries.yaml:")
    assert problem in message
    assert "hidden" not in message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "mirrors: [{prefix: a.test, location: 'user:hidden@m.test/hub'}]",
            "mirrors.0.location: give it without a user name and password",
        ),
        (
            "mirrors: [{prefix: a.test, location: 'https://user:hidden/hidden@m.test'}]",
            "mirrors.0.location: give it without a user name and password",
        ),
        ("hosts: {'https://user:hidden@b.test': {}}", "hosts....: give the host alone"),
        ("hosts: {'user:hidden@b.test': {}}", "hosts....: give it without a user name and pass"),
        (
            "proxy: {url: 'http://p:1', noProxy: ['http://user:hid@den@x/y']}",
            "proxy.noProxy.0: not a network, such as 10.0.0.0/8",
        ),
        ("proxy: {http://user:hidden@p: 1}", "proxy....: Extra inputs are not permitted"),
        ("proxy: {url: *hidden}", "not YAML: found undefined alias ..."),
        ("proxy: {url: !hidden x}", "not YAML: could not determine a constructor for the tag ..."),
        ("proxy: {url: @hidden}", "not YAML: found character '@' that cannot start any token"),
    ],
)
def test_a_password_that_went_astray_is_not_quoted(text: str, told: str) -> None:
    """B10: people write addresses with one where none belongs."""
    with pytest.raises(InvalidConfigError) as caught:
        read(text)
    message = str(caught.value)
    assert f":1: {told}" in message
    assert "hid" not in message


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(InvalidConfigError) as caught:
        read("hosts:\n  a.test: {caFile: x}\n  b.test: {insecure: y}\nmirror: []\n")
    assert [line.split(":")[1] for line in str(caught.value).splitlines()] == ["2", "3", "4"]


@given(st.binary(max_size=200) | st.text(alphabet="hosts:{}[]*&!|>-'\" \n\t#a1.", max_size=80))
def test_nothing_raises_anything_else(text: bytes | str) -> None:
    with contextlib.suppress(InvalidConfigError):
        ConfigText(FILE, text if isinstance(text, bytes) else text.encode()).config()
