"""Small real images, indexes and artifacts as bytes. Pure: sends nothing.

Specifications: OCI image-spec 1.1 (manifest, index, config) and Docker's image manifest version 2,
schema 2.
"""

import gzip
import hashlib
import io
import itertools
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass

BAD = "sha256:bad"
"""How the digests begin that the simulated kubelet never makes ready."""

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
MANIFEST_TYPES = (OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST)
IN_TOTO = "application/vnd.in-toto+json"
ARTIFACT = "application/vnd.example.report.v1+json"

PLATFORMS = ("linux/amd64", "linux/arm64")


@dataclass(frozen=True)
class Content:
    """A blob or manifest; the media type is what a descriptor or the PUT of it says."""

    media_type: str
    data: bytes

    @property
    def digest(self) -> str:
        return digest(self.data)

    def descriptor(self, **more: object) -> dict[str, object]:
        described = {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data)}
        return described | more


@dataclass(frozen=True)
class Bundle:
    """Everything to upload, in order; the tag goes to the last manifest."""

    blobs: tuple[Content, ...]
    manifests: tuple[Content, ...]

    @property
    def tagged(self) -> Content:
        return self.manifests[-1]


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def image(
    label: str,
    *,
    platforms: Sequence[str] = PLATFORMS,
    attestation: bool = True,
    docker: bool = False,
    bad: bool = False,
) -> Bundle:
    """An image whose content, and so its digest, follows from the arguments.

    One platform without an attestation gives a plain manifest, all else an index (a manifest list
    with `docker`). With `bad`, the digest of what the tag points to begins with BAD.
    """
    layer = Content(DOCKER_LAYER if docker else OCI_LAYER, _layer(label))
    bundle = _bundle(layer, label, platforms, attestation=attestation, docker=docker)
    if not bad:
        return bundle
    return Bundle(bundle.blobs, (*bundle.manifests[:-1], _made_bad(bundle.tagged)))


def artifact(label: str, *, by_config: bool = False) -> Bundle:
    """Something that is no image: by its artifactType, or by its config's media type alone."""
    body = Content(ARTIFACT, json.dumps({"version": label}).encode())
    config = Content(ARTIFACT if by_config else "application/vnd.oci.empty.v1+json", b"{}")
    manifest = _json(
        OCI_MANIFEST,
        {} if by_config else {"artifactType": ARTIFACT},
        config=config.descriptor(),
        layers=[body.descriptor()],
    )
    return Bundle((config, body), (manifest,))


def _made_bad(content: Content) -> Content:
    """Count an annotation up until the digest begins with BAD: about 4,096 tries."""
    document = json.loads(content.data) | {"annotations": {"attempt": "?"}}
    start, end = json.dumps(document).encode().split(b"?")
    for attempt in itertools.count():
        candidate = Content(content.media_type, b"%b%d%b" % (start, attempt, end))
        if candidate.digest.startswith(BAD):
            return candidate
    raise AssertionError  # count never ends


def _bundle(
    layer: Content,
    label: str,
    platforms: Sequence[str],
    *,
    attestation: bool,
    docker: bool,
) -> Bundle:
    blobs = [layer]
    manifests = []
    children = []
    for platform in platforms:
        config = _config(platform, layer, label, docker=docker)
        manifest = _json(
            DOCKER_MANIFEST if docker else OCI_MANIFEST,
            config=config.descriptor(),
            layers=[layer.descriptor()],
        )
        blobs.append(config)
        manifests.append(manifest)
        children.append(manifest.descriptor(platform=_platform(platform)))
        if attestation:
            statement, proof_config, proof = _attestation(manifest)
            blobs += [statement, proof_config]
            manifests.append(proof)
            children.append(
                proof.descriptor(
                    annotations={
                        "vnd.docker.reference.type": "attestation-manifest",
                        "vnd.docker.reference.digest": manifest.digest,
                    },
                    platform=_platform("unknown/unknown"),
                )
            )
    if len(children) > 1:
        manifests.append(_json(DOCKER_LIST if docker else OCI_INDEX, manifests=children))
    return Bundle(tuple(blobs), tuple(manifests))


def _config(platform: str, layer: Content, label: str, *, docker: bool) -> Content:
    config = {
        **_platform(platform),
        "config": {"Cmd": ["/app"], "Labels": {"version": label}},
        "rootfs": {"type": "layers", "diff_ids": [digest(gzip.decompress(layer.data))]},
    }
    return Content(DOCKER_CONFIG if docker else OCI_CONFIG, json.dumps(config).encode())


def _attestation(manifest: Content) -> tuple[Content, Content, Content]:
    """A provenance statement about `manifest`, as build tools attach it.

    Returns its layer, config and manifest.
    """
    subject = {"name": "image", "digest": dict([manifest.digest.split(":")])}
    statement = Content(
        IN_TOTO,
        json.dumps(
            {
                "_type": "https://in-toto.io/Statement/v0.1",
                "predicateType": "https://slsa.dev/provenance/v0.2",
                "subject": [subject],
                "predicate": {},
            }
        ).encode(),
    )
    config = {
        **_platform("unknown/unknown"),
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [statement.digest]},
    }
    proof_config = Content(OCI_CONFIG, json.dumps(config).encode())
    proof = _json(OCI_MANIFEST, config=proof_config.descriptor(), layers=[statement.descriptor()])
    return statement, proof_config, proof


def _platform(platform: str) -> dict[str, str]:
    keys = ("os", "architecture", "variant")
    return dict(zip(keys, platform.split("/"), strict=False))


def _json(media_type: str, first: dict[str, object] | None = None, **fields: object) -> Content:
    document = {"schemaVersion": 2, "mediaType": media_type, **(first or {}), **fields}
    return Content(media_type, json.dumps(document).encode())


def _layer(label: str) -> bytes:
    """A compressed archive of one file; no time goes in, so that equal labels give equal bytes."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("app")
        entry.mode = 0o755
        data = f"#!/bin/sh\necho {label}\n".encode()
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(archive.getvalue(), mtime=0)
