"""Rows on answers that never end or are larger than they may be: cut off, and soon."""

import gzip
import itertools

from unit.registry.attacks.rows_realms import bearer
from unit.registry.attacks.stage import DENIED, MANIFEST, UNAVAILABLE, Check, Stage, attack
from unit.registry.scripted import Reply, challenge

_PIECE = b"a" * 64 * 1024
_BOUND = 64 * 1024 * 1024
"""Bytes that some turns of a client may take: 4 MiB, its largest answer, for each, and what is on
its way when it hangs up.
"""


def _head(status: str, *lines: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", *lines, "", "")).encode()


def _endless(status: str) -> itertools.chain[bytes]:
    return itertools.chain((_head(status),), itertools.repeat(_PIECE))


def _hangs_up(stage: Stage) -> Check:
    return lambda: 0 < stage.registry.sent < _BOUND


@attack(UNAVAILABLE, "more than 4194304 bytes")
def an_endless_manifest(stage: Stage) -> Check:
    stage.registry.on("HEAD", MANIFEST, Reply(200))
    stage.registry.on("GET", MANIFEST, lambda _: _endless("200 OK"))
    return _hangs_up(stage)


@attack(UNAVAILABLE, "more than 4194304 bytes")
def a_small_manifest_that_unpacks_to_a_huge_one(stage: Stage) -> Check:
    """Nobody asked for it to be packed."""
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    stage.registry.on("HEAD", MANIFEST, Reply(200))
    stage.registry.on("GET", MANIFEST, Reply(200, (("Content-Encoding", "gzip"),), bomb))
    return _hangs_up(stage)


@attack(DENIED)
def an_endless_refusal(stage: Stage) -> Check:
    """The beginning of an error is enough."""
    stage.registry.on("HEAD", MANIFEST, Reply(403))
    stage.registry.on("GET", MANIFEST, lambda _: _endless("403 Forbidden"))
    return _hangs_up(stage)


@attack(UNAVAILABLE, "more than 262144 bytes", is_trusted=True)
def an_endless_token(stage: Stage) -> Check:
    stage.on_tag(bearer(f"{stage.registry.url}/token"))
    stage.registry.on("GET", "/token", lambda _: _endless("200 OK"))
    return _hangs_up(stage)


@attack(UNAVAILABLE, "malformed answer")
def a_header_of_more_than_64_kib(stage: Stage) -> None:
    stage.on_tag(challenge(f'Bearer realm="{stage.registry.url}/{"a" * 64 * 1024}"'))


@attack(UNAVAILABLE, "malformed answer")
def a_header_without_end(stage: Stage) -> Check:
    beginning = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm="
    stage.on_tag(lambda _: itertools.chain((beginning,), itertools.repeat(_PIECE)))
    return _hangs_up(stage)


@attack(UNAVAILABLE, "malformed answer")
def headers_without_end(stage: Stage) -> Check:
    lines = (b"X-%d: %s\r\n" % (number, b"a" * 8192) for number in itertools.count())
    stage.on_tag(lambda _: itertools.chain((b"HTTP/1.1 401 Unauthorized\r\n",), lines))
    return _hangs_up(stage)


@attack(UNAVAILABLE, "malformed answer")
def challenges_without_end(stage: Stage) -> Check:
    """Each small enough, and all of one header."""
    line = b'WWW-Authenticate: Bearer realm="%s/token"\r\n' % stage.registry.url.encode()
    stage.on_tag(
        lambda _: itertools.chain((b"HTTP/1.1 401 Unauthorized\r\n",), itertools.repeat(line))
    )
    return _hangs_up(stage)


@attack(UNAVAILABLE, "timeout", outlasts=True)
def promises_of_an_answer_without_end(stage: Stage) -> None:
    """Interim answers, of which any number may come."""
    stage.on_tag(lambda _: itertools.repeat(_head("102 Processing")))


@attack(UNAVAILABLE, "timeout", outlasts=True)
def a_manifest_without_end_in_small_pieces(stage: Stage) -> None:
    """Never silent for long, so only the time for the whole answer ends it."""
    stage.registry.on("HEAD", MANIFEST, Reply(200))
    drops = itertools.repeat(b" ")
    stage.registry.on("GET", MANIFEST, lambda _: itertools.chain((_head("200 OK"),), drops))
