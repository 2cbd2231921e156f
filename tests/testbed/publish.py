"""Publishes images by the plain PUTs of the distribution specification."""

import base64
import http.client
import json
import uuid
from collections.abc import Sequence
from typing import Self
from urllib.parse import quote, urlsplit

from testbed import images
from testbed.api import Manifest
from testbed.images import Bundle, Content

_ACCEPT = ",".join(images.MANIFEST_TYPES)


class PublishError(RuntimeError):
    """The registry refused; the text holds its answer."""


def publish(
    registry: str,
    repository: str,
    tag: str,
    *,
    label: str | None = None,
    platforms: Sequence[str] = images.PLATFORMS,
    attestation: bool = True,
    docker: bool = False,
    bad: bool = False,
) -> str:
    """Publish an image on the registry at "host:port", or "user:password@host:port", and return the
    digest that the tag has now.

    The same `label` (and other arguments) gives the same digest again, none a new one. See
    images.image for the rest.
    """
    bundle = images.image(
        label or uuid.uuid4().hex,
        platforms=platforms,
        attestation=attestation,
        docker=docker,
        bad=bad,
    )
    return push(registry, repository, tag, bundle)


def push(registry: str, repository: str, tag: str, bundle: Bundle) -> str:
    """Upload all of `bundle`, tag it, and return the tagged digest.

    Raises:
        PublishError: the registry refused.
    """
    with _Repository(registry, repository) as target:
        for blob in bundle.blobs:
            target.put_blob(blob)
        for manifest in bundle.manifests:
            target.put_manifest(manifest.digest, manifest)
        target.put_manifest(tag, bundle.tagged)
    return bundle.tagged.digest


def retag(registry: str, repository: str, tag: str, digest: str) -> None:
    """Point `tag` to what is there under `digest`."""
    with _Repository(registry, repository) as target:
        target.put_manifest(tag, target.get_manifest(digest))


def delete(registry: str, repository: str, reference: str) -> None:
    """Delete a tag, or by digest a manifest with all its tags."""
    with _Repository(registry, repository) as target:
        target.send("DELETE", f"manifests/{reference}", expect=202)


def head(registry: str, repository: str, reference: str) -> str:
    """The digest that the registry itself names."""
    with _Repository(registry, repository) as target:
        answer, _ = target.send("HEAD", f"manifests/{reference}", headers={"Accept": _ACCEPT})
        return answer.headers["Docker-Content-Digest"]


def read_manifest(registry: str, repository: str, reference: str) -> Manifest:
    """The manifest or index as JSON."""
    with _Repository(registry, repository) as target:
        manifest: Manifest = json.loads(target.get_manifest(reference).data)
        return manifest


class _Repository:
    def __init__(self, registry: str, repository: str) -> None:
        login, _, address = registry.rpartition("@")
        self._login = base64.b64encode(login.encode()).decode()
        self._connection = http.client.HTTPConnection(address, timeout=30)
        self._root = f"/v2/{repository}/"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        *,
        headers: dict[str, str] | None = None,
        expect: int = 200,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request; `target` is relative to the repository or begins with a slash."""
        url = target if target.startswith("/") else self._root + target
        authorization = {"Authorization": f"Basic {self._login}"} if self._login else {}
        self._connection.request(method, url, body, authorization | (headers or {}))
        with self._connection.getresponse() as answer:
            data = answer.read()
        if answer.status != expect:
            raise PublishError(f"{method} {url}: {answer.status} {data.decode(errors='replace')}")
        return answer, data

    def put_blob(self, blob: Content) -> None:
        answer, _ = self.send("POST", "blobs/uploads/", b"", expect=202)
        location = urlsplit(answer.headers["Location"])
        query = "&".join(filter(None, (location.query, f"digest={quote(blob.digest)}")))
        headers = {"Content-Type": "application/octet-stream"}
        self.send("PUT", f"{location.path}?{query}", blob.data, headers=headers, expect=201)

    def put_manifest(self, reference: str, manifest: Content) -> None:
        headers = {"Content-Type": manifest.media_type}
        self.send("PUT", f"manifests/{reference}", manifest.data, headers=headers, expect=201)

    def get_manifest(self, reference: str) -> Content:
        answer, data = self.send("GET", f"manifests/{reference}", headers={"Accept": _ACCEPT})
        return Content(answer.headers["Content-Type"], data)
