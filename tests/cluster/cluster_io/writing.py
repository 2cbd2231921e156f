"""Writing as a run does."""

from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.connection import JsonObject
from imagerefresh.cluster.errors import Conflict
from testbed.namespace import Namespace

_TRIES = 5


async def patch_latest(
    cluster: Cluster, namespace: Namespace, patch: JsonObject, kind: str = "Deployment"
) -> JsonObject:
    """Patches the target `web`, and again when its controller was faster (B29)."""
    for _ in range(_TRIES):
        found = await cluster.get_target(namespace.name, kind, "web")
        version = found["metadata"]["resourceVersion"]
        try:
            return await cluster.patch_target(namespace.name, kind, "web", patch, version)
        except Conflict:
            continue
    raise AssertionError("a conflict each time")
