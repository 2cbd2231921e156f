import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from imagerefresh.registry import manifests

DIGEST = "sha256:" + "a1" * 32
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"


def test_accept_names_all_four_types_in_one_line() -> None:
    """B5."""
    assert manifests.ACCEPT.split(", ") == [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
        "*/*;q=0.1",
    ]


@pytest.mark.parametrize(
    "name", ["Docker-Content-Digest", "docker-content-digest", "DOCKER-CONTENT-DIGEST"]
)
@pytest.mark.parametrize(
    ("value", "digest"),
    [
        (DIGEST, DIGEST),
        ("sha512:" + "b2" * 64, "sha512:" + "b2" * 64),
        ("a1" * 32, None),
        ("sha256:short", None),
        ("sha256:" + "A1" * 32, None),
        ("", None),
    ],
)
def test_header_digest(name: str, value: str, digest: str | None) -> None:
    """B5: header names in any case; a digest that is not valid is none."""
    assert manifests.header_digest(CIMultiDict({name: value})) == digest
    assert manifests.header_digest(CIMultiDict()) is None


@pytest.mark.parametrize(
    ("value", "media_type"),
    [
        ("application/json", "application/json"),
        ("Application/JSON; charset=utf-8", "application/json"),
        ("", ""),
        ("text/\x1b[2Jhtml", ""),
        ("text", ""),
        ("text/html/x", ""),
    ],
)
def test_media_type(value: str, media_type: str) -> None:
    assert manifests.media_type(CIMultiDict({"content-type": value})) == media_type
    assert manifests.media_type(CIMultiDict()) == ""


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_body_digest(algorithm: str) -> None:
    expected = f"{algorithm}:{hashlib.new(algorithm, b'x').hexdigest()}"
    assert manifests.body_digest(b"x", algorithm) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"errors":[]}',
        b"<html>",
        b"\xff",
        b"[" * 100000,
        b"1" * 9999,
    ],
)
def test_what_is_no_manifest(body: bytes) -> None:
    assert manifests.read(body) is None


def test_a_web_page_is_told_apart() -> None:
    assert manifests.is_web_page(b"\n <!doctype html><html>")
    assert not manifests.is_web_page(b'{"a": "<"}')


@pytest.mark.parametrize(
    ("document", "header", "expected"),
    [
        ({"mediaType": manifests.DOCKER_LIST}, manifests.OCI_INDEX, manifests.DOCKER_LIST),
        ({"manifests": []}, manifests.DOCKER_LIST, manifests.DOCKER_LIST),
        ({"manifests": []}, "text/plain", manifests.OCI_INDEX),
        ({"config": {}}, "application/json", manifests.OCI_MANIFEST),
        ({"mediaType": 5, "config": {}}, "", manifests.OCI_MANIFEST),
        # What is no media type is not shown to people either: it may steer their terminal.
        ({"mediaType": "a/b\x1b[2J", "config": {}}, "", manifests.OCI_MANIFEST),
        ({"mediaType": "a" * 999 + "/b", "config": {}}, "", manifests.OCI_MANIFEST),
    ],
)
def test_declared_type(document: dict[str, object], header: str, expected: str) -> None:
    assert manifests.declared_type(document, header) == expected


def child(**fields: Any) -> dict[str, Any]:
    platform = {"os": "linux", "architecture": "amd64"}
    return {"mediaType": manifests.OCI_MANIFEST, "platform": platform, **fields}


ATTESTATION = child(
    platform={"os": "unknown", "architecture": "unknown"},
    annotations={"vnd.docker.reference.type": "attestation-manifest"},
)


@pytest.mark.parametrize(
    "document",
    [
        {"config": {"mediaType": OCI_CONFIG}, "layers": []},
        {"config": {"mediaType": DOCKER_CONFIG}, "layers": []},
        {"manifests": [child()]},
        {"manifests": [child(mediaType=manifests.DOCKER_MANIFEST)]},
        {"manifests": [ATTESTATION, child()]},
        {"manifests": [{"digest": DIGEST}]},
        {"manifests": [child(platform=None)]},
        {"manifests": [child(platform={"os": "unknown", "architecture": "arm64"})]},
        {"manifests": [child(mediaType=manifests.OCI_INDEX)]},
    ],
)
def test_images(document: dict[str, object]) -> None:
    """B5: what can be run."""
    assert manifests.why_not_image(document) is None


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({"config": {"mediaType": "application/vnd.cncf.helm.config.v1+json"}}, "artifact"),
        ({"config": {"mediaType": "application/vnd.oci.empty.v1+json"}}, "artifact"),
        ({"config": {"mediaType": OCI_CONFIG}, "artifactType": "application/spdx"}, "artifact"),
        ({"config": {}}, "artifact"),
        ({"config": None}, "artifact"),
        ({"config": {"mediaType": 5}}, "artifact"),
        ({"manifests": [child()], "artifactType": "application/x"}, "artifact"),
        ({"manifests": []}, "index"),
        ({"manifests": None}, "index"),
        ({"manifests": [ATTESTATION]}, "index"),
        ({"manifests": [child(annotations={"vnd.docker.reference.type": "x"})]}, "index"),
        ({"manifests": [child(artifactType="application/x")]}, "index"),
        ({"manifests": [child(mediaType="application/vnd.x")]}, "index"),
        ({"manifests": [child(mediaType=["x"])]}, "index"),
        ({"manifests": ["x", 5, None]}, "index"),
        ({"schemaVersion": 1, "fsLayers": []}, "schema 1"),
    ],
)
def test_what_is_not_an_image(document: dict[str, object], word: str) -> None:
    """B5: artifacts, and an index without a runnable child."""
    why = manifests.why_not_image(document)
    assert why is not None
    assert word in why


KEYS = [
    "manifests", "config", "mediaType", "artifactType", "platform", "annotations", "os", "fsLayers",
]  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from([manifests.OCI_INDEX, manifests.OCI_MANIFEST, OCI_CONFIG, "unknown"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_raises_nothing(value: object) -> None:
    document = manifests.read(json.dumps(value).encode())
    if document is not None:
        manifests.why_not_image(document)
        manifests.declared_type(document, "")
