"""Image references: what a name like ``nginx`` or ``localhost:5000/app:1`` means, in one form.

Two texts that mean the same image give equal `Reference` objects, so they can be compared and
used as keys (B1). The grammar is that of the OCI distribution specification and of container
runtimes. Pure text work: which server answers for a registry is not decided here.
"""

import ipaddress
import re
from dataclasses import dataclass, replace
from functools import lru_cache

DOCKER_HUB = "docker.io"

# Docker Hub goes by several names. All mean the same images, credentials and limits.
DOCKER_HUB_NAMES = frozenset(
    {DOCKER_HUB, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"}
)

_MAX_HOST = 255
_MAX_PATH = 255
_MAX_PORT = 65535
_MAX_TEXT = 1024

# The quantifiers are possessive where a match can't be continued another way, so that matching
# takes linear time whatever the input.
_COMPONENT = r"[a-z0-9]++(?:(?:[._]|__|-++)[a-z0-9]++)*+"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*+", re.ASCII)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}", re.ASCII)
_IMAGE_ID = re.compile(r"[a-f0-9]{64}", re.ASCII)
_HOST_LABEL = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?", re.ASCII)
_PORT = re.compile(r"[0-9]{1,8}", re.ASCII)


class InvalidReference(ValueError):  # noqa: N818 - it says what the text is
    """The text names no image; the message tells a person what to change."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A normalised image reference, made by `parse` or `normalise`.

    Attributes:
        registry: host in lower case, with its port unless that is the default one. Docker Hub is
            always ``docker.io``; an IPv6 address stands in brackets.
        repository: the path, with ``library/`` where Docker Hub implies it.
        tag: the tag, or None if the text had a digest and no tag.
        digest: ``sha256:...`` or ``sha512:...``, or None. Next to a tag it is a pin.
    """

    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag is not None else ""
        digest = f"@{self.digest}" if self.digest is not None else ""
        return f"{self.registry}/{self.repository}{tag}{digest}"

    @property
    def name(self) -> str:
        """Registry and repository, without tag and digest."""
        return f"{self.registry}/{self.repository}"

    def with_digest(self, digest: str) -> "Reference":
        """Return the same reference pinned to `digest`; a malformed one is InvalidReference."""
        return replace(self, digest=_checked_digest(digest))

    def without_digest(self) -> "Reference":
        """Return the same reference without its pin."""
        return replace(self, digest=None)


def parse(text: str) -> Reference:
    """Read the image field of a container.

    A name alone implies the tag ``latest``; a tag and a digest may stand together and are both
    kept. Raises InvalidReference.
    """
    if not text:
        raise InvalidReference("the image reference is empty")
    if len(text) > _MAX_TEXT:
        raise InvalidReference(f"the image reference is longer than {_MAX_TEXT} characters")
    if _IMAGE_ID.fullmatch(text):
        raise InvalidReference("64 hex digits are an image id, not an image reference")
    rest, has_digest, digest = text.partition("@")
    first, slash, path = rest.partition("/")
    if not slash or not _is_host(first):
        first, path = DOCKER_HUB, rest
    path, has_tag, tag = path.partition(":")
    registry = _normal_host(first)
    return Reference(
        registry,
        _normal_path(registry, path),
        _checked_tag(tag) if has_tag else (None if has_digest else "latest"),
        _checked_digest(digest) if has_digest else None,
    )


def normalise(registry: str, repository: str, tag: str) -> Reference:
    """Join the three fields of a policy's image; raises InvalidReference."""
    if "/" in registry:
        raise InvalidReference(
            f"{_shown(registry)} is not a registry: give the host alone, such as ghcr.io or "
            "registry.example.com:5000, without scheme and path"
        )
    host = _normal_host(registry)
    return Reference(host, _normal_path(host, repository), _checked_tag(tag))


def is_digest(text: str) -> bool:
    """Whether the text is a digest that can be pinned: sha256 or sha512, in lower case."""
    return _DIGEST.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def is_loopback(registry: str) -> bool:
    """Whether the registry's host names this very machine: localhost, 127.0.0.0/8 or ::1."""
    host = registry.partition("]")[0][1:] if registry[:1] == "[" else registry.partition(":")[0]
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_host(first: str) -> bool:
    """Whether the part before the first slash is a host rather than a path on Docker Hub."""
    return first == "localhost" or "." in first or ":" in first or first.lower() != first


def _normal_host(text: str) -> str:
    if len(text) > _MAX_HOST:
        raise InvalidReference(f"the registry host is longer than {_MAX_HOST} characters")
    host, port = _split_port(text)
    if host in DOCKER_HUB_NAMES and port in (None, 443):
        return DOCKER_HUB
    # Registries on this machine are spoken to in plain http, all others over TLS.
    default_port = 80 if is_loopback(host) else 443
    if port not in (None, default_port):
        return f"{host}:{port}"
    if "." in host or host == "localhost" or host.startswith("["):
        return host
    # Without a dot and without a port it would read as a path on Docker Hub.
    return f"{host}:{default_port}"


def _split_port(text: str) -> tuple[str, int | None]:
    """Split and check host and port; the host is in lower case, an IPv6 address compressed."""
    host, port = text, ""
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        host = f"[{_ipv6(host[1:], text)}]" if bracket else ""
        colon, port = rest[:1], rest[1:]
        if not bracket or (rest and colon != ":"):
            raise _bad_host(text)
    else:
        host, colon, port = text.partition(":")
        host = host.lower()
        if not all(_HOST_LABEL.fullmatch(label) for label in host.split(".")):
            raise _bad_host(text)
    if not colon:
        return host, None
    if not _PORT.fullmatch(port) or not 0 < int(port) <= _MAX_PORT:
        raise _bad_host(text)
    return host, int(port)


def _ipv6(text: str, whole: str) -> str:
    # A zone would name an interface of one machine; a dot, an IPv4 address in disguise.
    if "%" in text or "." in text:
        raise _bad_host(whole)
    try:
        return ipaddress.IPv6Address(text).compressed
    except ValueError:
        raise _bad_host(whole) from None


def _normal_path(registry: str, path: str) -> str:
    if not _PATH.fullmatch(path):
        if path != path.lower() and _PATH.fullmatch(path.lower()):
            raise InvalidReference(f"the repository {_shown(path)} must be in lower case")
        raise InvalidReference(
            f"{_shown(path)} is not a repository: give a path such as example/app, in lower case "
            "letters, digits and single separators"
        )
    if registry == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    if len(path) > _MAX_PATH:
        raise InvalidReference(f"the repository is longer than {_MAX_PATH} characters")
    return path


def _checked_tag(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise InvalidReference(
            f"{_shown(tag)} is not a tag: up to 128 letters, digits, and . _ - but neither . nor - "
            "at the start"
        )
    return tag


def _checked_digest(digest: str) -> str:
    if not is_digest(digest):
        raise InvalidReference(
            f"{_shown(digest)} is not a digest: sha256: and 64, or sha512: and 128 hex digits in "
            "lower case"
        )
    return digest


def _bad_host(text: str) -> InvalidReference:
    return InvalidReference(
        f"{_shown(text)} is not a registry: give a host name or address with an optional port, "
        "such as ghcr.io or registry.example.com:5000"
    )


def _shown(text: str) -> str:
    """Quote foreign text for a message: bounded, and without control characters."""
    limit = 80
    return ascii(text if len(text) <= limit else text[:limit] + "...")
