"""What the operator asks about policies and targets: one method per call, JSON dicts both ways."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from imagerefresh.api.names import FIELD_MANAGER, GROUP, PLURAL, VERSION
from imagerefresh.cluster.connection import Connection, JsonObject
from imagerefresh.cluster.errors import NotFound, NotServed

_TARGET_PLURALS: Final[Mapping[str, str]] = {
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
}
_WRITE: Final = {"fieldManager": FIELD_MANAGER}


class Cluster:
    """Reads and patches policies and their targets; raises a `ClusterError` when it can't.

    Nothing is retried here: the caller decides again with what it then sees.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def policy_is_served(self) -> bool:
        """Whether the CRD is installed and established."""
        try:
            found = await self._connection.request("GET", f"/apis/{GROUP}/{VERSION}")
        except (NotFound, NotServed):
            return False
        return any(resource.get("name") == PLURAL for resource in found.get("resources", ()))

    async def list_policies(self, namespace: str, *, limit: int) -> list[JsonObject]:
        """The first policies of a namespace, or of all if it is empty."""
        scope = f"/namespaces/{quote(namespace, '')}" if namespace else ""
        found = await self._connection.request(
            "GET", f"/apis/{GROUP}/{VERSION}{scope}/{PLURAL}", query={"limit": str(limit)}
        )
        items: list[JsonObject] = found["items"]
        return items

    async def get_policy(self, namespace: str, name: str) -> JsonObject:
        """The policy as it is now, past any watch (B24)."""
        return await self._connection.request("GET", _policy_path(namespace, name))

    async def get_target(self, namespace: str, kind: str, name: str) -> JsonObject:
        """`kind` is one of the apps/v1 workloads that a policy may name."""
        return _lean(await self._connection.request("GET", _target_path(namespace, kind, name)))

    async def patch_target(
        self, namespace: str, kind: str, name: str, patch: JsonObject, resource_version: str
    ) -> JsonObject:
        """Strategic merge patch of a target; returns the object as it was stored.

        Raises:
            Conflict: the target is no longer at `resource_version`, from which `patch` was decided.
        """
        metadata = {**patch.get("metadata", {}), "resourceVersion": resource_version}
        stored = await self._connection.request(
            "PATCH",
            _target_path(namespace, kind, name),
            query=_WRITE,
            body={**patch, "metadata": metadata},
            content_type="application/strategic-merge-patch+json",
        )
        return _lean(stored)

    async def patch_status(
        self, namespace: str, name: str, status: JsonObject, resource_version: str | None = None
    ) -> JsonObject:
        """Replaces the whole status of a policy; returns the object as it was stored.

        A JSON patch, since a merge patch leaves the keys that the new status no longer has.

        Raises:
            Conflict: `resource_version` is given and is not the policy's current one.
        """
        operations: list[JsonObject] = [{"op": "add", "path": "/status", "value": status}]
        if resource_version is not None:
            # Not the operation "test": the server answers its failure with 422, this with 409.
            operations.insert(
                0, {"op": "add", "path": "/metadata/resourceVersion", "value": resource_version}
            )
        return await self._connection.request(
            "PATCH",
            f"{_policy_path(namespace, name)}/status",
            query=_WRITE,
            body=operations,
            content_type="application/json-patch+json",
        )


def _lean(target: JsonObject) -> JsonObject:
    """The target with no more of its managedFields than which managers write the pod template.

    They are half of an object, and at a start there are as many targets in memory as policies.
    """
    for entry in target["metadata"].get("managedFields", ()):
        is_of_template = "f:template" in entry.get("fieldsV1", {}).get("f:spec", {})
        entry["fieldsV1"] = {"f:spec": {"f:template": {}}} if is_of_template else {}
    return target


def _policy_path(namespace: str, name: str) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{quote(namespace, '')}/{PLURAL}/{quote(name, '')}"


def _target_path(namespace: str, kind: str, name: str) -> str:
    plural = _TARGET_PLURALS[kind]
    return f"/apis/apps/v1/namespaces/{quote(namespace, '')}/{plural}/{quote(name, '')}"
