"""No input to a parser raises anything but the parser's own error."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from multidict import CIMultiDict
from yarl import URL

from imagerefresh.reference import InvalidReference, normalise, parse
from imagerefresh.registry import manifests, retry_after
from imagerefresh.registry.challenge import parse_challenges
from imagerefresh.registry.config_text import ConfigText, InvalidConfigError
from imagerefresh.registry.error_text import oci_error_text
from imagerefresh.registry.limit_headers import limit_headers
from imagerefresh.registry.no_proxy import NoProxy
from imagerefresh.registry.outcomes import RegistryError
from imagerefresh.registry.proxies import read_environment
from imagerefresh.registry.realm import token_service
from imagerefresh.registry.urls import foreign_url, host_port

CASES = 100_000
SECONDS = 30.0  # for all of them

BASE = URL("https://registry.example.com/v2/")
SEEDS = (
    "docker.io/library/nginx:1.25@sha256:" + "a1" * 32,
    "[2001:db8::1]:5000/team/app:prod",
    'Bearer realm="https://a.test/token",service="s",scope="repository:a:pull,push", Basic realm=x',
    'Negotiate, Basic realm="a\\"b" , Digest a = b',
    "Tue, 01 Dec 2026 05:22:08 GMT",
    "1m30.5s",
    "1796102528123",
    "toomanyrequests: retry-after: 880.092\u00b5s, allowed: 44000/minute",
    '{"errors":[{"code":"DENIED","message":"no","detail":[1,null]}]}',
    '{"mediaType":"a","manifests":[{"digest":1,"platform":{"os":null}}],"config":{"mediaType":2}}',
    "https://user:pass@h.test:99999/x%2Fy?a=%27#f",
    "//h.test:x/../..",
    "10.0.0.0/8",
    "hosts: {a.test: {caFile: /x, rateLimit: {burst: 1e9}}}",
    "mirrors: [&a {prefix: a.test, location: *a}]",
)
PIECES = (
    *"\x00\x1b\r\n\t \"'\\,;:=/@#?%[]{}()<>*&!|-_.~0aZ\u00e9\u0661\u2028\U0001f600",
    "\ud800",
    "9" * 400,
    "[" * 2000,
    "a" * 300,
    "1e999",
    "NaN",
    "sha256:",
    "%00",
    "-0",
)


def texts(seed: int) -> Callable[[], str]:
    """Return a maker of texts: known ones with pieces cut out, doubled and put in."""
    rng = random.Random(seed)

    def make() -> str:
        text = rng.choice(SEEDS)
        for _ in range(rng.randrange(5)):
            begin, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
            middle = rng.choice(
                ("", rng.choice(PIECES), text[begin:end] * 2, rng.choice(SEEDS)[:end])
            )
            text = (text[:begin] + middle + text[end:])[:6000]
        return text

    return make


def _document(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    oci_error_text(data)
    document = manifests.read(data)
    if document is not None:
        manifests.why_not_image(document)
        manifests.declared_type(document, text)
        json.dumps([child.digest for child in manifests.children(document)])


def _headers(text: str) -> None:
    names = ("Docker-Content-Digest", "Content-Type", "Retry-After")
    headers = CIMultiDict(dict.fromkeys(names, text))
    manifests.header_digest(headers)
    manifests.media_type(headers)
    assert all(value.isprintable() for _, value in limit_headers(headers))


def _wait(text: str) -> None:
    for wait in (retry_after.from_header(text, 1.8e9), retry_after.from_body(text)):
        assert wait is None or wait > 0


def _url(text: str) -> None:
    url = foreign_url(text, BASE)
    if url is not None:
        host_port(url)


PARSERS: dict[str, tuple[Callable[[str], object], type[Exception], float]] = {
    "parse": (parse, InvalidReference, 1),
    "normalise": (lambda text: normalise(text, text, text), InvalidReference, 1),
    "challenges": (lambda text: parse_challenges([text, text]), KeyError, 1),
    "documents": (_document, KeyError, 1),
    "headers": (_headers, KeyError, 1),
    "waits": (_wait, KeyError, 1),
    "addresses": (_url, KeyError, 1),
    "realms": (
        lambda text: token_service(text, BASE, allows_plain_http=lambda _: True),
        RegistryError,
        1,
    ),
    "exceptions of the proxy": (lambda text: NoProxy.parse([text]).holds(BASE), ValueError, 1),
    "variables of the proxy": (
        lambda text: read_environment({"HTTPS_PROXY": text, "NO_PROXY": text}),
        ValueError,
        1,
    ),
    "registries files": (
        lambda text: ConfigText(Path("/x"), text.encode("utf-8", "surrogatepass")).config(),
        InvalidConfigError,
        0.02,  # an administrator's file, and YAML takes its time
    ),
}
"""By name: what is called, its own error, and its share of the cases."""


@pytest.mark.parametrize("name", PARSERS)
def test_nothing_but_its_own_error(name: str) -> None:
    call, own, share = PARSERS[name]
    make = texts(len(name) + CASES)
    total = sum(weight for _, _, weight in PARSERS.values())
    count = int(CASES * share / total)
    began = time.process_time()
    for _ in range(count):
        text = make()
        try:
            call(text)
        except own:
            pass
        except Exception as error:
            raise AssertionError(f"{name} raised {type(error).__name__} for {text!r}") from error
    assert time.process_time() - began < SECONDS / len(PARSERS)
