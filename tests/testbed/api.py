"""A small JSON client for the API server, for arranging and polling in tests.

kubectl costs 50 ms and more a call, this about one. It holds no opinion about any resource.
"""

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Manifest = dict[str, Any]
"""A Kubernetes object as JSON: its shape is the API server's business, not ours."""

_MANAGER = "testbed"
_PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}


class ApiError(RuntimeError):
    """The API server refused; `code` is the HTTP status, the text is the server's message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


@contextmanager
def if_found() -> Iterator[None]:
    """Do nothing about what doesn't exist, or no longer."""
    try:
        yield
    except ApiError as error:
        if error.code != http.HTTPStatus.NOT_FOUND:
            raise


def path(resource: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The URL path of `resource`: "v1/pods", "apps/v1/deployments", ..."""
    version, _, plural = resource.rpartition("/")
    parts = ["apis" if "/" in version else "api", version]
    parts += ["namespaces", namespace] if namespace else []
    parts += [part for part in (plural, name, subresource) if part]
    return "/" + "/".join(parts)


class Api:
    """Usable from several threads; each keeps one connection open."""

    def __init__(self, server: str, token: str, ca: Path) -> None:
        url = urlsplit(server)
        self._host, self._port = url.hostname or "", url.port
        self._tls = ssl.create_default_context(cafile=str(ca))
        self._headers = {"Authorization": f"Bearer {token}"}
        self._local = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []

    def request(
        self,
        method: str,
        target: str,
        body: object = None,
        content_type: str = "application/json",
    ) -> Manifest:
        """Send one request and return the JSON answer; a plain text answer under "text".

        Raises:
            ApiError: the status was not 2xx.
            OSError: no connection.
        """
        status, data = self._exchange(
            method, target, None if body is None else json.dumps(body).encode(), content_type
        )
        answer = _decode(data)
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(status, str(answer.get("message", answer.get("text", ""))))
        return answer

    def get(self, resource: str, namespace: str, name: str, *, subresource: str = "") -> Manifest:
        return self.request("GET", path(resource, namespace, name, subresource))

    def find(self, resource: str, namespace: str, name: str) -> Manifest | None:
        """As get, but None if it doesn't exist."""
        try:
            return self.get(resource, namespace, name)
        except ApiError as error:
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None
            raise

    def items(self, resource: str, namespace: str = "", *, selector: str = "") -> list[Manifest]:
        query = "?" + urlencode({"labelSelector": selector}) if selector else ""
        items: list[Manifest] = self.request("GET", path(resource, namespace) + query)["items"]
        return items

    def create(self, resource: str, manifest: Manifest) -> Manifest:
        namespace = manifest["metadata"].get("namespace", "")
        return self.request("POST", path(resource, namespace), manifest)

    def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: object,
        *,
        kind: str = "merge",
        subresource: str = "",
    ) -> Manifest:
        """Patch; `kind` is "merge", "strategic" or "json"."""
        target = path(resource, namespace, name, subresource)
        return self.request("PATCH", target, patch, _PATCHES[kind])

    def apply(self, resource: str, manifest: Manifest) -> Manifest:
        """Create the object, or make what the manifest names as it says."""
        metadata = manifest["metadata"]
        target = path(resource, metadata.get("namespace", ""), metadata["name"])
        query = f"?fieldManager={_MANAGER}&force=true"
        return self.request("PATCH", target + query, manifest, "application/apply-patch+yaml")

    def delete(self, resource: str, namespace: str, name: str) -> Manifest:
        return self.request("DELETE", path(resource, namespace, name))

    def delete_all(self, resource: str, namespace: str) -> None:
        """Delete every object of the resource in a namespace, without waiting for the end."""
        self.request("DELETE", path(resource, namespace))

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def _exchange(
        self, method: str, target: str, body: bytes | None, content_type: str
    ) -> tuple[int, bytes]:
        connection = self._connection()
        headers = self._headers | ({} if body is None else {"Content-Type": content_type})
        try:
            return _send(connection, method, target, body, headers)
        except (ConnectionError, ssl.SSLError):  # perhaps closed while idle
            return _send(connection, method, target, body, headers)

    def _connection(self) -> http.client.HTTPSConnection:
        kept: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if kept is None:
            kept = http.client.HTTPSConnection(
                self._host, self._port, timeout=30, context=self._tls
            )
            self._local.connection = kept
            self._connections.append(kept)
        return kept


def _send(
    connection: http.client.HTTPSConnection,
    method: str,
    target: str,
    body: bytes | None,
    headers: dict[str, str],
) -> tuple[int, bytes]:
    try:
        connection.request(method, target, body, headers)
        with connection.getresponse() as response:
            return response.status, response.read()
    except (OSError, http.client.HTTPException):
        connection.close()  # the next request opens it again
        raise


def _decode(data: bytes) -> Manifest:
    try:
        answer = json.loads(data)
    except ValueError:
        return {"text": data.decode(errors="replace")}
    return answer if isinstance(answer, dict) else {"text": str(answer)}
