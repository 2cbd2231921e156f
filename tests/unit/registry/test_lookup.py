import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from imagerefresh.reference import parse
from imagerefresh.registry import Manifest, Resolved, TroubleReason, lookup, manifests
from imagerefresh.registry.auth import Authenticator
from imagerefresh.registry.flights import Sent
from imagerefresh.registry.login import ANONYMOUS
from imagerefresh.registry.lookup import Lookup, manifest_url
from imagerefresh.registry.outcomes import DeniedError, NotFoundError, RegistryError
from imagerefresh.registry.rules import Rules
from imagerefresh.registry.transport import Transport
from unit.registry.scripted import (
    INDEX,
    Reply,
    ScriptedRegistry,
    challenge,
    digest_of,
    errors,
    manifest,
)

DIGEST = digest_of(INDEX)
OTHER = f"sha256:{'0' * 64}"


@pytest.fixture
async def look(transport: Transport) -> AsyncIterator[Lookup]:
    authenticator = Authenticator(transport)
    yield Lookup(transport, authenticator)
    await authenticator.close()


def with_headers(*headers: tuple[str, str], status: int = 200) -> Reply:
    return Reply(status, headers, INDEX)


async def find(look: Lookup, registry: ScriptedRegistry) -> Resolved | Manifest:
    return await look.find(registry.reference, ANONYMOUS, Sent())


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("nginx:1", "https://registry-1.docker.io/v2/library/nginx/manifests/1"),
        ("ghcr.io/a/b:1", "https://ghcr.io/v2/a/b/manifests/1"),
        ("registry.example.com:5000/a:1", "https://registry.example.com:5000/v2/a/manifests/1"),
        ("registry:443/a:1", "https://registry/v2/a/manifests/1"),
        ("localhost:5000/a:1", "http://localhost:5000/v2/a/manifests/1"),
        ("127.0.0.1/a:1", "http://127.0.0.1/v2/a/manifests/1"),
        ("[::1]:5000/a:1", "http://[::1]:5000/v2/a/manifests/1"),
        ("[2001:db8::1]/a:1", "https://[2001:db8::1]/v2/a/manifests/1"),
    ],
)
def test_where_a_manifest_is(text: str, url: str) -> None:
    reference = parse(text)
    scheme = Rules().scheme(reference.registry)
    assert str(manifest_url(scheme, reference.registry, reference.repository, "1")) == url


@pytest.mark.parametrize(
    "name", ["Docker-Content-Digest", "docker-content-digest", "DOCKER-Content-digest"]
)
async def test_one_head_is_all_it_takes(
    registry: ScriptedRegistry, look: Lookup, name: str
) -> None:
    """B5."""
    registry.on_tag("HEAD", with_headers((name, DIGEST), ("Content-Type", "a/b; charset=utf-8")))
    found = await find(look, registry)
    assert isinstance(found, Resolved)
    assert (found.digest, found.media_type) == (DIGEST, "a/b")
    (seen,) = registry.seen
    assert (seen.method, seen.path) == ("HEAD", "/v2/team/app/manifests/prod")
    assert seen.headers["Accept"] == manifests.ACCEPT
    assert seen.headers["Accept-Encoding"] == "identity"


async def test_the_answer_says_when_its_request_was_sent(
    registry: ScriptedRegistry, look: Lookup
) -> None:
    """B14."""
    registry.on_tag("HEAD", registry.bearer(), manifest())
    registry.on("GET", "/token", Reply(200, (), b'{"token": "abc"}'))
    sent = Sent()
    found = await look.find(registry.reference, ANONYMOUS, sent)
    assert found.sent_at == sent.at


@pytest.mark.parametrize(
    "head",
    [
        # Without a digest that can be used.
        with_headers(("Content-Type", manifests.OCI_INDEX)),
        with_headers(("Docker-Content-Digest", DIGEST.removeprefix("sha256:"))),
        with_headers(("Docker-Content-Digest", DIGEST.upper())),
        with_headers(("Docker-Content-Digest", "md5:d41d8cd98f00b204e9800998ecf8427e")),
        Reply(304),
        # HEAD is not supported, or answers for reasons of its own.
        Reply(400),
        Reply(405),
        Reply(501),
        Reply(404),
        Reply(403),
        Reply(406),
    ],
)
async def test_get_where_head_does_not_tell(
    registry: ScriptedRegistry, look: Lookup, head: Reply
) -> None:
    """B5: the digest is then that of the bytes, whatever a header says."""
    registry.on_tag("HEAD", head)
    registry.on_tag("GET", with_headers(("Docker-Content-Digest", OTHER)))
    found = await find(look, registry)
    assert isinstance(found, Manifest)
    assert (found.digest, found.media_type) == (DIGEST, manifests.OCI_INDEX)
    assert [seen.method for seen in registry.seen] == ["HEAD", "GET"]
    assert registry.seen[1].headers["Accept"] == manifests.ACCEPT


async def test_304_with_a_digest_will_do(registry: ScriptedRegistry, look: Lookup) -> None:
    """Caching proxies send it unasked."""
    registry.on_tag("HEAD", Reply(304, (("Docker-Content-Digest", DIGEST),)))
    found = await find(look, registry)
    assert found.digest == DIGEST
    assert len(registry.seen) == 1


@pytest.mark.parametrize("status", [400, 405, 501])
async def test_a_host_without_head_is_not_asked_for_it_again(
    registry: ScriptedRegistry, look: Lookup, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.on_tag("HEAD", Reply(status))
    registry.on_tag("GET", manifest())
    for _ in range(3):
        await find(look, registry)
    assert [seen.method for seen in registry.seen] == ["HEAD", "GET", "GET", "GET"]
    monkeypatch.setattr(lookup, "_HEAD_REFUSED_FOR", 0.0)
    next(iter(look._hosts._hosts.values())).head_refused_until = 0.0
    registry.seen.clear()
    for _ in range(2):
        await find(look, registry)
    assert [seen.method for seen in registry.seen] == ["HEAD", "GET", "HEAD", "GET"]


async def test_a_bad_request_by_any_method_says_nothing_about_head(
    registry: ScriptedRegistry, look: Lookup
) -> None:
    registry.on_tag("HEAD", Reply(400))
    registry.on_tag("GET", errors(400, "NAME_INVALID", "invalid repository name"))
    for _ in range(2):
        with pytest.raises(RegistryError, match=r"HTTP 400 \(invalid repository name\)") as caught:
            await find(look, registry)
        assert caught.value.reason is TroubleReason.RegistryUnavailable
    assert [seen.method for seen in registry.seen] == ["HEAD", "GET"] * 2


async def test_404_to_head_is_believed_once_the_host_has_answered_one(
    registry: ScriptedRegistry, look: Lookup
) -> None:
    registry.on_tag("GET", errors(404, "MANIFEST_UNKNOWN", "manifest unknown"))
    with pytest.raises(NotFoundError) as caught:
        await find(look, registry)
    assert caught.value.text == "manifest unknown"
    registry.on_tag("HEAD", manifest(), Reply(404))
    await find(look, registry)
    registry.seen.clear()
    with pytest.raises(NotFoundError):
        await find(look, registry)
    assert [seen.method for seen in registry.seen] == ["HEAD"]


@pytest.mark.parametrize(
    ("head", "get", "text"),
    [
        (challenge("Basic realm=x"), Reply(200), ""),
        (Reply(403), errors(403, "DENIED", "denied"), "denied"),
        (Reply(403), errors(401, "UNAUTHORIZED", "who are you"), "who are you"),
        (Reply(403), Reply(403, (), b"<html>"), ""),
    ],
)
async def test_denied(
    registry: ScriptedRegistry, look: Lookup, head: Reply, get: Reply, text: str
) -> None:
    """B8: the body of a GET explains, in OCI words only."""
    registry.on_tag("HEAD", head)
    registry.on_tag("GET", get)
    with pytest.raises(DeniedError) as caught:
        await find(look, registry)
    assert not isinstance(caught.value, NotFoundError)
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("get", "word"),
    [
        (Reply(200, (("Content-Type", "text/html"),), b"<html>log in"), "web page"),
        (Reply(200, (), b'{"hello": 1}'), "something else"),
        (Reply(200, (), INDEX[:-5]), "something else"),
        (Reply(200, (), b" " * (4 * 1024 * 1024 + 1)), "more than"),
        (Reply(304), "HTTP 304"),
        (Reply(418), "HTTP 418"),
    ],
)
async def test_what_is_no_manifest_is_transient(
    registry: ScriptedRegistry, look: Lookup, get: Reply, word: str
) -> None:
    """B7: a malformed answer, a portal or login page with 200."""
    registry.on_tag("HEAD", Reply(200, (("Content-Type", "text/html"),)))
    registry.on_tag("GET", get)
    with pytest.raises(RegistryError, match=word) as caught:
        await find(look, registry)
    assert caught.value.reason is TroubleReason.RegistryUnavailable
    assert "log in" not in caught.value.message


async def test_a_manifest_of_the_largest_size_is_read(
    registry: ScriptedRegistry, look: Lookup
) -> None:
    body = json.dumps({"manifests": []}).encode().ljust(4 * 1024 * 1024)
    registry.on_tag("HEAD", Reply(200))
    registry.on_tag("GET", Reply(200, (), body))
    assert (await find(look, registry)).digest == digest_of(body)


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
async def test_a_body_by_digest_is_verified(
    registry: ScriptedRegistry, look: Lookup, algorithm: str
) -> None:
    digest = f"{algorithm}:{hashlib.new(algorithm, INDEX).hexdigest()}"
    reference = replace(registry.reference, tag=None, digest=digest)
    path = f"/v2/team/app/manifests/{digest}"
    registry.on("GET", path, manifest())
    assert (await look.fetch(reference, ANONYMOUS, Sent())).digest == digest
    registry.on("GET", path, Reply(200, (("Docker-Content-Digest", digest),), INDEX + b" "))
    with pytest.raises(RegistryError, match="does not match") as caught:
        await look.fetch(reference, ANONYMOUS, Sent())
    assert caught.value.reason is TroubleReason.RegistryUnavailable
