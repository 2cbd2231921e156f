"""Pods of the target `web`, as the API server returns them."""

from typing import Final

from unit.plan.builders import D1, UID, Json

HASH: Final = "5d4f"


def a_pod(
    image_id: str = D1,
    *,
    container: str = "web",
    labels: Json = None,
    owner: Json = None,
    phase: str = "Running",
    part: str = "containerStatuses",
    **metadata: Json,
) -> dict[str, Json]:
    """A pod of the Deployment."""
    replica_set = {"kind": "ReplicaSet", "name": f"web-{HASH}", "uid": "r", "controller": True}
    return {
        "metadata": {
            "labels": {"pod-template-hash": HASH} if labels is None else labels,
            "ownerReferences": [replica_set] if owner is None else owner,
            **metadata,
        },
        "status": {"phase": phase, part: [{"name": container, "imageID": image_id}]},
    }


def a_member(
    kind: str, revision: str, image_id: str = D1, *, is_ready: bool = False, **metadata: Json
) -> dict[str, Json]:
    """A pod of a StatefulSet or DaemonSet."""
    owner = {"kind": kind, "name": "web", "uid": UID, "controller": True}
    labels = {"controller-revision-hash": revision}
    pod = a_pod(image_id, labels=labels, owner=[owner], **metadata)
    ready = {"type": "Ready", "status": "True" if is_ready else "False"}
    return {**pod, "status": {**pod["status"], "conditions": [ready]}}
