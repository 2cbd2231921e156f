"""What the running pods of a target say about a digest that it was asked to run (B15).

A pod's imageID may hold the digest of the index, of the platform's manifest or of the config,
whatever the repository, so it is compared with all digests of an image. Unknown is no disproof.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from imagerefresh.api.policy import TargetKind
from imagerefresh.plan.template import as_digest

Json: TypeAlias = Mapping[str, Any]

_REVISION_LABELS = {
    TargetKind.DEPLOYMENT: "pod-template-hash",
    TargetKind.STATEFUL_SET: "controller-revision-hash",
    TargetKind.DAEMON_SET: "controller-revision-hash",
}


class Evidence(StrEnum):
    """What the pods say of a digest."""

    UNSOUGHT = "Unsought"
    """They were not looked at yet."""
    UNKNOWN = "Unknown"
    """Nothing, or they can't be looked at."""
    AGREES = "Agrees"
    """One of them at least runs it."""
    DIFFERS = "Differs"
    """All of them clearly run something else."""


def running_digests(
    target: Json, pods: Sequence[Json], containers: Container[str]
) -> list[str | None]:
    """The digest in the imageID of each of the named containers in each running pod of the target's
    present template; None where there is none. `pods` are all that the target's selector matches.
    """
    return [
        _digest_in(status.get("imageID") or "")
        for pod in _present_pods(target, pods)
        for part in ("initContainerStatuses", "containerStatuses")
        for status in pod["status"].get(part) or []
        if status.get("name") in containers
    ]


def weigh(found: Sequence[str | None], digests: Container[str]) -> Evidence:
    """What the digests that pods run say of an image, all of whose digests are given."""
    known = [digest for digest in found if digest is not None]
    if any(digest in digests for digest in known):
        return Evidence.AGREES
    is_clear = bool(found) and len(known) == len(found)
    return Evidence.DIFFERS if is_clear else Evidence.UNKNOWN


def broken_pod(target: Json, pods: Sequence[Json]) -> str | None:
    """The pod of an older template that a StatefulSet's ordered rollout waits for: the lowest one
    that is not ready.
    """
    kind, present = TargetKind(target["kind"]), target["status"].get("updateRevision")
    broken = [
        pod["metadata"]["name"]
        for pod in pods
        if _is_pod_of(target, kind, pod) and _revision(kind, pod) != present and not _is_ready(pod)
    ]
    return min(broken, key=lambda name: int(name.rpartition("-")[2]), default=None)


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _present_pods(target: Json, pods: Sequence[Json]) -> list[Json]:
    """Those that run and do not end, of the present template.

    Which revision that is a StatefulSet says itself. Of the others the pods are looked at only when
    none of an older template is left, so they must be of one revision.
    """
    kind = TargetKind(target["kind"])
    own = [
        pod
        for pod in pods
        if (pod.get("status") or {}).get("phase") == "Running"
        and not pod["metadata"].get("deletionTimestamp")
        and _is_pod_of(target, kind, pod)
    ]
    if kind is TargetKind.STATEFUL_SET:
        present = (target.get("status") or {}).get("updateRevision")
        return [pod for pod in own if _revision(kind, pod) == present]
    return own if len({_revision(kind, pod) for pod in own}) == 1 else []


def _is_pod_of(target: Json, kind: TargetKind, pod: Json) -> bool:
    name = target["metadata"]["name"]
    for owner in _controllers(pod):
        if kind is TargetKind.DEPLOYMENT:
            return bool(
                owner.get("kind") == "ReplicaSet"
                and owner.get("name") == f"{name}-{_revision(kind, pod)}"
            )
        return bool(owner.get("uid") == target["metadata"]["uid"])
    return False


def _controllers(pod: Json) -> Iterator[Json]:
    return (
        owner for owner in pod["metadata"].get("ownerReferences") or [] if owner.get("controller")
    )


def _revision(kind: TargetKind, pod: Json) -> str | None:
    return (pod["metadata"].get("labels") or {}).get(_REVISION_LABELS[kind])


def _digest_in(image_id: str) -> str | None:
    """The digest at the end of an imageID: `repository@digest`, `runtime://digest`, `digest`."""
    return as_digest(image_id.rpartition("@")[2].rpartition("/")[2])
