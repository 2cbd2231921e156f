"""What a manifest is: media types, digests, and whether there is anything in it to run.

Pure: bytes and headers in, verdicts out. How they are fetched is the business of `lookup`.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from imagerefresh.reference import is_digest
from imagerefresh.registry.error_text import clean

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"

# All four in one line: a registry that misses one of them may convert, and answer with another
# digest, and some read the first line only. The tail is for servers that would answer 406.
ACCEPT = f"{OCI_INDEX}, {DOCKER_LIST}, {OCI_MANIFEST}, {DOCKER_MANIFEST}, */*;q=0.1"

DIGEST_HEADER = "Docker-Content-Digest"
MAX_SIZE = 4 * 1024 * 1024
_MAX_CHILDREN = 1000

_TYPES = frozenset({OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST})
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,127}/[\w.+-]{1,127}", re.ASCII)  # RFC 6838, 4.2
_SHAPES = frozenset({"manifests", "config", "fsLayers"})
_CONFIG_SUFFIXES = (".container.image.v1+json", ".image.config.v1+json")


@dataclass(frozen=True, slots=True)
class Child:
    """An entry of an index, its texts made fit for people.

    Attributes:
        platform: such as ``linux/arm64/v8``; "" if the index does not say.
        digest: as the index says.
        is_image: False for an attestation, a signature or another artifact.
    """

    platform: str
    digest: str
    is_image: bool


def header_digest(headers: Mapping[str, str]) -> str | None:
    """Return the digest that the registry claims, None if missing or not a valid one."""
    digest = headers.get(DIGEST_HEADER)
    return digest if digest is not None and is_digest(digest) else None


def media_type(headers: Mapping[str, str]) -> str:
    """Return the content type in lower case and without parameters, "" if there is none."""
    found = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return found if _MEDIA_TYPE.fullmatch(found) else ""


def body_digest(body: bytes, algorithm: str) -> str:
    """Return the digest of a body; the algorithm is sha256 or sha512."""
    return f"{algorithm}:{hashlib.new(algorithm, body).hexdigest()}"


def read(body: bytes) -> Mapping[str, object] | None:
    """Parse a manifest or an index; None if it is neither."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or _SHAPES.isdisjoint(document):
        return None
    return document


def is_web_page(body: bytes) -> bool:
    """Whether something meant for a browser came instead: of a proxy, or to log in."""
    return body.lstrip()[:1] == b"<"


def declared_type(document: Mapping[str, object], header_type: str) -> str:
    """Return the media type of a manifest: its own word, then the header's, then its shape."""
    own = document.get("mediaType")
    if isinstance(own, str) and _MEDIA_TYPE.fullmatch(own):
        return own
    if _is_manifest_type(header_type):
        return header_type
    return OCI_INDEX if "manifests" in document else OCI_MANIFEST


def why_not_image(document: Mapping[str, object]) -> str | None:
    """Say why a manifest can't be run, as the end of a sentence; None if it can (B5)."""
    if document.get("artifactType"):
        return "an artifact of another kind, not a container image"
    if "manifests" in document:
        children = document["manifests"]
        if isinstance(children, list) and any(_is_runnable(child) for child in children):
            return None
        return "an index without an image for any platform"
    config = document.get("config")
    config_type = config.get("mediaType") if isinstance(config, dict) else None
    if isinstance(config_type, str) and config_type.endswith(_CONFIG_SUFFIXES):
        return None
    if "fsLayers" in document:
        return "an image in the obsolete schema 1 format"
    return "an artifact of another kind, not a container image"


def children(document: Mapping[str, object]) -> list[Child]:
    """Return the entries of an index, in its order; none for anything else."""
    entries = document.get("manifests")
    if not isinstance(entries, list):
        return []
    return [
        Child(_platform(entry), _text(entry.get("digest")), _is_runnable(entry))
        for entry in entries[:_MAX_CHILDREN]
        if isinstance(entry, dict)
    ]


def digests(digest: str, document: Mapping[str, object]) -> frozenset[str]:
    """Return the digest of a manifest and, if it is no index, that of its config."""
    config = document.get("config")
    inner = config.get("digest") if isinstance(config, dict) else None
    return frozenset({digest, inner} if isinstance(inner, str) and is_digest(inner) else {digest})


def _platform(entry: Mapping[str, object]) -> str:
    platform = entry.get("platform")
    if not isinstance(platform, dict):
        return ""
    parts = (_text(platform.get(key)) for key in ("os", "architecture", "variant"))
    return "/".join(part for part in parts if part)


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _is_manifest_type(value: object) -> bool:
    return isinstance(value, str) and value in _TYPES


def _is_runnable(child: object) -> bool:
    """Whether an index entry is an image: not an attestation, a signature or another artifact."""
    if not isinstance(child, dict) or child.get("artifactType"):
        return False
    if not _is_manifest_type(child.get("mediaType", OCI_MANIFEST)):
        return False
    annotations = child.get("annotations")
    if isinstance(annotations, dict) and "vnd.docker.reference.type" in annotations:
        return False
    platform = child.get("platform")
    return not (
        isinstance(platform, dict)
        and platform.get("os") == "unknown"
        and platform.get("architecture") == "unknown"
    )
