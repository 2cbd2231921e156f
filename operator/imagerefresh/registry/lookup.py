"""From a tag to its digest, and from a digest to whether it is an image: the requests it takes.

HEAD first, as it is cheap for both sides and costs nobody's pull quota (B5); GET where HEAD is
not to be had or not to be believed. One login at a time: who tries which is decided in `client`.
"""

import time
from functools import lru_cache

from yarl import URL

from imagerefresh.reference import DOCKER_HUB, Reference
from imagerefresh.registry import manifests
from imagerefresh.registry.auth import Authenticator
from imagerefresh.registry.flights import Sent
from imagerefresh.registry.login import Login
from imagerefresh.registry.messages import Answer, Request
from imagerefresh.registry.outcomes import (
    DeniedError,
    Manifest,
    NotFoundError,
    RegistryError,
    Resolved,
)
from imagerefresh.registry.transport import Transport
from imagerefresh.registry.urls import host_port

_HUB_ENDPOINT = "registry-1.docker.io"
_HEADERS = {"Accept": manifests.ACCEPT}
_HEAD_REFUSED_FOR = 86400.0

_OK = 200
_NOT_MODIFIED = 304
_UNAUTHORIZED = 401
_FORBIDDEN = 403
_NOT_FOUND = 404
_NO_HEAD = frozenset({400, 405, 501})


class Lookup:
    """Asks registries for manifests."""

    def __init__(self, transport: Transport, authenticator: Authenticator) -> None:
        self._transport = transport
        self._hosts = transport.hosts
        self._authenticator = authenticator

    async def find(self, reference: Reference, login: Login, sent: Sent) -> Resolved | Manifest:
        """Ask what a tag stands for; a manifest is returned only where HEAD would not tell.

        Raises:
            DeniedError: the login is not enough; NotFoundError: there is nothing.
            RegistryError: other trouble.
        """
        url = self._url(reference)
        now = time.monotonic()
        host = self._hosts.get(host_port(url), now)
        if now < host.head_refused_until:
            return await self.fetch(reference, login, sent)
        answer = await self._send("HEAD", url, reference, login, sent)
        if answer.status in (_OK, _NOT_MODIFIED):
            host.answers_head = True
            digest = manifests.header_digest(answer.headers)
            if digest is not None:
                return Resolved(digest, manifests.media_type(answer.headers), answer.sent_at)
        elif answer.status == _UNAUTHORIZED:
            raise DeniedError("")
        elif answer.status == _NOT_FOUND and host.answers_head:
            raise NotFoundError("")
        # No digest, or an answer that HEAD gives for reasons of its own, or without saying why.
        manifest = await self.fetch(reference, login, sent)
        if answer.status in _NO_HEAD:
            host.head_refused_until = now + _HEAD_REFUSED_FOR
        return manifest

    async def fetch(self, reference: Reference, login: Login, sent: Sent) -> Manifest:
        """Get a manifest by tag, or by digest if the reference has no tag; the body is verified.

        Raises as `find`.
        """
        asked = _asked(reference)
        url = self._url(reference)
        answer = await self._send("GET", url, reference, login, sent)
        if answer.status in (_UNAUTHORIZED, _FORBIDDEN):
            raise DeniedError(answer.error_text())
        if answer.status == _NOT_FOUND:
            raise NotFoundError(answer.error_text())
        if answer.status != _OK:
            text = answer.error_text()
            said = f" ({text})" if text else ""
            raise _unusable(url, f"unexpected answer HTTP {answer.status}{said}")
        document = manifests.read(answer.body)
        if document is None:
            what = "a web page" if manifests.is_web_page(answer.body) else "something else"
            raise _unusable(url, f"{what} came instead of a manifest; is that a registry?")
        by_digest = reference.tag is None
        digest = manifests.body_digest(
            answer.body, asked.partition(":")[0] if by_digest else "sha256"
        )
        if by_digest and digest != asked:
            raise _unusable(url, "the manifest does not match its digest")
        media_type = manifests.declared_type(document, manifests.media_type(answer.headers))
        return Manifest(digest, media_type, document, answer.sent_at)

    def _url(self, reference: Reference) -> URL:
        scheme = self._transport.rules.scheme(reference.registry)
        return manifest_url(scheme, reference.registry, reference.repository, _asked(reference))

    async def _send(
        self, method: str, url: URL, reference: Reference, login: Login, sent: Sent
    ) -> Answer:
        request = Request(method, url, _HEADERS, max_body=manifests.MAX_SIZE)
        scope = f"repository:{reference.repository}:pull"
        return await self._authenticator.send(request, scope, login, sent.mark)


@lru_cache(maxsize=4096)
def manifest_url(scheme: str, registry: str, repository: str, tag_or_digest: str) -> URL:
    """Return where a manifest is found."""
    return URL(
        f"{scheme}://"
        f"{_HUB_ENDPOINT if registry == DOCKER_HUB else registry}"
        f"/v2/{repository}/manifests/{tag_or_digest}",
        encoded=True,
    )


def _asked(reference: Reference) -> str:
    """Return the tag, which is what is followed even beside a pin; else the digest."""
    return reference.tag or reference.digest or "latest"


def _unusable(url: URL, what: str) -> RegistryError:
    return RegistryError.unavailable(host_port(url), what)
