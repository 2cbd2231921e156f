"""The registry client that everything else uses.

It joins what the other modules do into two questions, and turns all that can go wrong at a
registry into a value. It asks nothing twice at a time, and nothing that a caller accepts an
earlier answer for.
"""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace

from imagerefresh.reference import Reference, is_digest
from imagerefresh.registry import manifests
from imagerefresh.registry.auth import Authenticator
from imagerefresh.registry.flights import Flights, Sent
from imagerefresh.registry.login import ANONYMOUS, Login, login_for, with_each
from imagerefresh.registry.lookup import Lookup
from imagerefresh.registry.outcomes import (
    Credential,
    DeniedError,
    Manifest,
    RegistryError,
    RegistrySettings,
    RequestHook,
    Resolved,
    Trouble,
    TroubleReason,
)
from imagerefresh.registry.rules import Rules
from imagerefresh.registry.transport import Transport

_MAX_ANSWERS = 8192
_MAX_PLATFORMS = 64  # of one image, a request for each; large real ones have some twenty
_MAX_COLLECTIONS = 256

# A credential by what people call it and by its secret: answers name it, so both count.
_Key = tuple[Reference, tuple[tuple[str, bytes], ...]]


class RegistryClient:
    """Resolves references; one per process. Works in one event loop, from its first request on."""

    def __init__(
        self,
        settings: RegistrySettings,
        on_request: RequestHook | None = None,
        rules: Rules | None = None,
    ) -> None:
        self._transport = Transport(settings, on_request, rules)
        self._authenticator = Authenticator(self._transport)
        self._lookup = Lookup(self._transport, self._authenticator)
        self._resolved: Flights[_Key, Resolved | Trouble] = Flights(_MAX_ANSWERS, lambda _: True)
        self._inspected: Flights[_Key, Trouble | None] = Flights(_MAX_ANSWERS, _is_verdict)
        self._digests: Flights[_Key, frozenset[str] | None] = Flights(
            _MAX_COLLECTIONS, lambda found: found is not None
        )

    async def close(self) -> None:
        """End the requests in flight and close the connections."""
        await self._authenticator.close()
        await self._transport.close()

    def use(self, rules: Rules) -> None:
        """Go by other rules from now on; requests in flight end as they began."""
        self._transport.use(rules)

    def credentials_for(self, reference: Reference, namespace: str) -> tuple[Credential, ...]:
        """Return the credentials of the registries file for an image, as far as they are meant for
        the policies of a namespace.
        """
        return self._transport.rules.credentials_for(reference, namespace)

    async def resolve(
        self,
        reference: Reference,
        credentials: Sequence[Credential] = (),
        *,
        fresh_since: float,
    ) -> Resolved | Trouble:
        """Find the digest that the registry serves for a tag now.

        Args:
            reference: the tag is followed, a digest beside it ignored.
            credentials: tried in order as long as the registry refuses them, then none (B10).
            fresh_since: `time.monotonic()`; an answer to a request sent before it does not count.

        Returns:
            The digest, or why there is none. Trouble at the registry never raises.
        """
        if reference.tag is not None and reference.digest is not None:
            reference = reference.without_digest()
        logins = [login_for(credential) for credential in credentials]
        return await self._resolved.get(
            _key(reference, logins),
            fresh_since,
            lambda sent: self._resolve(reference, logins, sent),
        )

    async def inspect(
        self, reference: Reference, digest: str, credentials: Sequence[Credential] = ()
    ) -> Trouble | None:
        """Look whether a digest is an image that can be run (B5).

        Args:
            reference: says where; its tag does not matter.
            digest: as `resolve` returned it. The body is checked against it.
            credentials: as for `resolve`.

        Returns:
            None for an image; NotAnImage for an artifact or an index without one; other trouble.
        """
        pinned = _pinned(reference, digest)
        logins = [login_for(credential) for credential in credentials]
        return await self._inspected.get(
            _key(pinned, logins), -math.inf, lambda sent: self._inspect(pinned, logins, sent)
        )

    async def fetch(
        self, reference: Reference, digest: str, credentials: Sequence[Credential] = ()
    ) -> Manifest | Trouble:
        """Get a manifest by digest, for people who want to see what is in it.

        It is not kept, but `inspect` needs no request for it any more. Arguments as there.
        """
        pinned = _pinned(reference, digest)
        logins = [login_for(credential) for credential in credentials]
        found, rejected = await self._fetch(pinned, logins, Sent())
        if isinstance(found, RegistryError):
            return _trouble(pinned, found, rejected)
        self._inspected.put(_key(pinned, logins), found.sent_at, _verdict(pinned, found))
        return found

    async def digests(
        self, reference: Reference, digest: str, credentials: Sequence[Credential] = ()
    ) -> frozenset[str] | None:
        """Find all digests by which an image may be known where it runs (B15).

        They are that of the index or manifest itself, those of an index's platforms, and those of
        their configs. It takes a request for each, so ask only if you must; the answer is kept.

        Args:
            reference: says where; its tag does not matter.
            digest: of an index or manifest. All bodies are checked against their digests.
            credentials: as for `resolve`.

        Returns:
            The digests, or None if they can't be had now, or are too many.
        """
        pinned = _pinned(reference, digest)
        logins = [login_for(credential) for credential in credentials]
        return await self._digests.get(
            _key(pinned, logins), -math.inf, lambda sent: self._collect(pinned, logins, sent)
        )

    async def _collect(
        self, pinned: Reference, logins: Sequence[Login], sent: Sent
    ) -> frozenset[str] | None:
        found, rejected = await self._fetch(pinned, logins, sent)
        if isinstance(found, RegistryError):
            return None
        children = [each.digest for each in manifests.children(found.document) if each.is_image]
        if len(children) > _MAX_PLATFORMS:
            return None
        logins = logins[len(rejected) :]  # they are refused in order
        digests = manifests.digests(found.digest, found.document)
        for digest in filter(is_digest, children):
            part, _ = await self._fetch(_pinned(pinned, digest), logins, sent)
            if isinstance(part, RegistryError):
                return None
            digests |= manifests.digests(part.digest, part.document)
        return digests

    async def _resolve(
        self, reference: Reference, logins: Sequence[Login], sent: Sent
    ) -> Resolved | Trouble:
        for mirror in self._transport.rules.mirrors(reference):
            with contextlib.suppress(RegistryError):  # the next place may answer
                return await self._find(reference, mirror, ANONYMOUS, logins, sent)
        found, rejected, used = await with_each(
            logins, lambda login: self._find(reference, reference, login, logins, sent)
        )
        if isinstance(found, RegistryError):
            return _trouble(reference, found, rejected)
        return replace(found, rejected=rejected, used=used) if rejected or used else found

    async def _find(
        self,
        reference: Reference,
        place: Reference,
        login: Login,
        logins: Sequence[Login],
        sent: Sent,
    ) -> Resolved:
        """Find the digest at one place, by one of the logins. Raises RegistryError."""
        found = await self._lookup.find(place, login, sent)
        if isinstance(found, Resolved):
            return found
        # The body is here: spare the request that would ask for it.
        pinned = _pinned(reference, found.digest)
        self._inspected.put(_key(pinned, logins), found.sent_at, _verdict(pinned, found))
        return Resolved(found.digest, found.media_type, found.sent_at)

    async def _fetch(
        self, pinned: Reference, logins: Sequence[Login], sent: Sent
    ) -> tuple[Manifest | RegistryError, tuple[str, ...]]:
        """Get a manifest by digest, from a mirror if one has it: its body proves itself."""
        for mirror in self._transport.rules.mirrors(pinned):
            with contextlib.suppress(RegistryError):
                return await self._lookup.fetch(mirror, ANONYMOUS, sent), ()
        found, rejected, _ = await with_each(
            logins, lambda login: self._lookup.fetch(pinned, login, sent)
        )
        return found, rejected

    async def _inspect(
        self, pinned: Reference, logins: Sequence[Login], sent: Sent
    ) -> Trouble | None:
        found, rejected = await self._fetch(pinned, logins, sent)
        if isinstance(found, RegistryError):
            return _trouble(pinned, found, rejected)
        return _verdict(pinned, found)


def _key(reference: Reference, logins: Sequence[Login]) -> _Key:
    return reference, tuple((login.source, login.identity) for login in logins)


def _pinned(reference: Reference, digest: str) -> Reference:
    return Reference(reference.registry, reference.repository, None, digest)


def _verdict(reference: Reference, manifest: Manifest) -> Trouble | None:
    """Judge a manifest: None for an image."""
    why = manifests.why_not_image(manifest.document)
    if why is None:
        return None
    message = f"{reference} is {why}; name a tag of a container image"
    return Trouble(TroubleReason.NotAnImage, message, transient=False)


def _is_verdict(trouble: Trouble | None) -> bool:
    """Whether it tells about the content, which never changes, and not about the moment."""
    return trouble is None or trouble.reason is TroubleReason.NotAnImage


def _trouble(reference: Reference, error: RegistryError, rejected: tuple[str, ...]) -> Trouble:
    if not isinstance(error, DeniedError):
        return error.trouble(rejected)
    said = f" ({error.text})" if error.text else ""
    advice = "check the name and the tag"
    if rejected:
        named = ", ".join(dict.fromkeys(rejected))
        advice += f", and the credentials of {named}, which were refused"
    else:
        advice += "; a private image needs a pull secret"
    message = f"{reference}: no such image, or no permission to read it{said}; {advice}"
    return Trouble(TroubleReason.ImageNotFoundOrDenied, message, transient=False, rejected=rejected)
