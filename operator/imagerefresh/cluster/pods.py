"""The pods of a target: read where the operator's Role lets it (B15, B28).

It is an optional right, so before pods are listed the API server is asked whether they may be:
everybody may ask that, while a refused list would be noise in an audit log.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote
from weakref import WeakValueDictionary

from imagerefresh.cluster.connection import Connection, JsonObject
from imagerefresh.cluster.errors import Refused

PERMISSION_HOLDS: Final = 300.0
"""Seconds after which it is asked again whether pods may be listed."""
MOST: Final = 500
"""Pods that are looked at: of a larger target so many say as much."""

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Pods:
    """Lists pods; one per process."""

    def __init__(
        self, connection: Connection, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connection
        self._monotonic = monotonic
        self._permissions: dict[str, tuple[float, bool]] = {}
        """By namespace: since when it is known, and whether pods may be listed."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def find(self, namespace: str, selector: Mapping[str, Any]) -> list[JsonObject] | None:
        """The pods that a workload's label selector matches, at most `MOST`; None if they may not
        be listed.

        Raises:
            ClusterError: the API server can't answer now.
        """
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            if not await self._may_list(namespace):
                return None
        query = {"labelSelector": label_selector(selector), "limit": str(MOST)}
        path = f"/api/v1/namespaces/{quote(namespace, '')}/pods"
        try:
            found = await self._connection.request("GET", path, query=query)
        except Refused:
            self._permissions[namespace] = self._monotonic(), False
            return None
        pods: list[JsonObject] = found["items"]
        return pods

    async def _may_list(self, namespace: str) -> bool:
        now = self._monotonic()
        since, is_allowed = self._permissions.get(namespace, (now - PERMISSION_HOLDS, False))
        if now - since < PERMISSION_HOLDS:
            return is_allowed
        wanted = {"namespace": namespace, "verb": "list", "group": "", "resource": "pods"}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": wanted},
        }
        try:
            answer = await self._connection.request("POST", _REVIEWS, body=review)
        except Refused:  # some clusters let nobody ask
            is_allowed = False
        else:
            is_allowed = (answer.get("status") or {}).get("allowed") is True
        self._permissions[namespace] = now, is_allowed
        return is_allowed


def label_selector(selector: Mapping[str, Any]) -> str:
    """A workload's `spec.selector` in the form that a list takes."""
    labels: Mapping[str, str] = selector.get("matchLabels") or {}
    expressions: Sequence[Mapping[str, Any]] = selector.get("matchExpressions") or ()
    return ",".join(
        [*(f"{key}={value}" for key, value in labels.items()), *map(_requirement, expressions)]
    )


def _requirement(expression: Mapping[str, Any]) -> str:
    key, values = expression["key"], ",".join(expression.get("values") or ())
    match expression["operator"]:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return f"{key}"
        case _:
            return f"!{key}"
