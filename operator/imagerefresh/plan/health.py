"""How a target fares: what `kubectl rollout status` would say of it, read from the one object
(B19).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from imagerefresh.api.policy import TargetKind

DEADLINE_REASON = "ProgressDeadlineExceeded"
ON_DELETE = "update strategy OnDelete: the pods change only when somebody deletes them"
SCALED_TO_ZERO = "scaled to zero"
NO_NODE = "no node is to run a pod"
PAUSED = "the Deployment is paused: resume it to let rollouts go on"
UNOBSERVED = "waiting for the controller to see the latest change"


class Verdict(StrEnum):
    """What a look at a target comes to."""

    HEALTHY = "Healthy"
    IDLE = "Idle"
    """No pods are wanted. `kubectl rollout status` is content, but nothing runs that could prove a
    digest.
    """
    PROGRESSING = "Progressing"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    PAUSED = "Paused"
    UNPROVABLE = "Unprovable"
    """The update strategy leaves the rollout to a person (OnDelete, a partition), so it can't be
    proven automatically.
    """


@dataclass(frozen=True, slots=True)
class Counts:
    """Replicas of the target: those of the present template, ready and available ones, and those
    left of older templates.
    """

    updated: int = 0
    ready: int = 0
    available: int = 0
    old: int = 0

    def surpasses(self, best: "Counts") -> bool:
        """Whether this is progress over the best seen so far (B19)."""
        return (
            self.updated > best.updated
            or self.ready > best.ready
            or self.available > best.available
            or self.old < best.old
        )

    def best_of(self, other: "Counts") -> "Counts":
        """The best of both, count by count."""
        return Counts(
            max(self.updated, other.updated),
            max(self.ready, other.ready),
            max(self.available, other.available),
            min(self.old, other.old),
        )


@dataclass(frozen=True, slots=True)
class Health:
    """One look at a target.

    `counts` is None while they speak of an older template. `deadline_time` is when the control
    plane said ProgressDeadlineExceeded, if it says so now.
    """

    verdict: Verdict
    message: str
    counts: Counts | None = None
    deadline_time: str | None = None
    broken_pod: str | None = None
    """Which pod of an older template the rollout waits for, for people: it is not ready, and a new
    template does not replace it, so if it stays so a person has to delete it.
    """

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is the matter with it; zero of zero wanted pods is healthy."""
        return self.verdict in (Verdict.HEALTHY, Verdict.IDLE)

    @property
    def is_idle(self) -> bool:
        """Whether it is healthy for want of pods."""
        return self.verdict is Verdict.IDLE


def judge(target: Mapping[str, Any]) -> Health:
    """The health of a Deployment, StatefulSet or DaemonSet, a JSON object as the API server returns
    it.
    """
    match TargetKind(target["kind"]):
        case TargetKind.DEPLOYMENT:
            return _deployment(target)
        case TargetKind.STATEFUL_SET:
            return _stateful_set(target)
        case TargetKind.DAEMON_SET:
            return _daemon_set(target)


def _deployment(target: Mapping[str, Any]) -> Health:
    spec, status = target["spec"], target.get("status") or {}
    wanted = spec.get("replicas", 1)
    updated = status.get("updatedReplicas", 0)
    available = status.get("availableReplicas", 0)
    old = status.get("replicas", 0) - updated
    counts = _counts(updated, status.get("readyReplicas", 0), available, old)
    deadline_time = next(
        (
            condition.get("lastUpdateTime") or condition.get("lastTransitionTime")
            for condition in status.get("conditions") or []
            if condition.get("type") == "Progressing" and condition.get("reason") == DEADLINE_REASON
        ),
        None,
    )
    if spec.get("paused"):
        known = None if _is_unobserved(target) else counts
        return Health(Verdict.PAUSED, PAUSED, known, deadline_time)
    if _is_unobserved(target):
        return Health(Verdict.PROGRESSING, UNOBSERVED, deadline_time=deadline_time)
    if deadline_time is not None:
        how_far = f"{counts.available} of {wanted} updated replicas available"
        message = f"the rollout exceeded its progressDeadlineSeconds: {how_far}"
        return Health(Verdict.DEADLINE_EXCEEDED, message, counts, deadline_time)
    if updated < wanted:
        return Health(Verdict.PROGRESSING, f"{updated} of {wanted} replicas updated", counts)
    if old > 0:
        return Health(Verdict.PROGRESSING, f"{old} old replicas still running", counts)
    if available < updated:
        return Health(
            Verdict.PROGRESSING, f"{available} of {updated} updated replicas available", counts
        )
    if wanted == 0:
        return Health(Verdict.IDLE, SCALED_TO_ZERO, counts)
    return Health(
        Verdict.HEALTHY, f"{available} of {wanted} replicas updated and available", counts
    )


def _stateful_set(target: Mapping[str, Any]) -> Health:
    spec, status = target["spec"], target.get("status") or {}
    strategy = spec.get("updateStrategy") or {}
    wanted = spec.get("replicas", 1)
    updated = status.get("updatedReplicas", 0)
    ready = status.get("readyReplicas", 0)
    available = status.get("availableReplicas", 0)
    counts = _counts(updated, ready, available, status.get("replicas", 0) - updated)
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return Health(Verdict.UNPROVABLE, ON_DELETE, counts)
    if (strategy.get("rollingUpdate") or {}).get("partition"):
        return Health(
            Verdict.UNPROVABLE, "a partition keeps part of the pods on the old template", counts
        )
    if _is_unobserved(target):
        return Health(Verdict.PROGRESSING, UNOBSERVED)
    if ready < wanted:
        told = f"{ready} of {wanted} pods ready"
        broken = _broken_pod(target)
        return Health(Verdict.PROGRESSING, told, counts, broken_pod=broken)
    if status.get("updateRevision") != status.get("currentRevision"):
        return Health(Verdict.PROGRESSING, f"{updated} of {wanted} pods updated", counts)
    if wanted == 0:
        return Health(Verdict.IDLE, SCALED_TO_ZERO, counts)
    if available < wanted:
        return Health(Verdict.PROGRESSING, f"{available} of {wanted} pods available", counts)
    return Health(Verdict.HEALTHY, f"{available} of {wanted} pods updated and available", counts)


def _broken_pod(target: Mapping[str, Any]) -> str | None:
    """The pod of an older template that an ordered rollout waits for, as far as the status tells.

    A StatefulSet that keeps the order replaces no pod before all of them are ready, so it never
    replaces one that can't become ready, whatever the template is by now. It begins with the
    highest ordinal, so pods of a template between the present one and the last complete one are
    those at the top, and the lowest of these is where that template's rollout came to a halt.
    """
    spec, status = target["spec"], target["status"]
    if spec.get("podManagementPolicy", "OrderedReady") != "OrderedReady":
        return None
    replicas, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
    updated, current = status.get("updatedReplicas", 0), status.get("currentReplicas", 0)
    is_complete = status.get("updateRevision") == status.get("currentRevision")
    between = replicas - updated - (0 if is_complete else current)
    if ready >= replicas or (updated and not between):
        return None
    name = target["metadata"]["name"]
    if between <= 0:
        return f"the pod that is not ready (kubectl get pods -l {_labels(spec)})"
    first = (spec.get("ordinals") or {}).get("start", 0)
    above = 0 if is_complete else updated
    return f"pod {name}-{first + replicas - above - between}"


def _labels(spec: Mapping[str, Any]) -> str:
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _daemon_set(target: Mapping[str, Any]) -> Health:
    spec, status = target["spec"], target.get("status") or {}
    strategy = spec.get("updateStrategy") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    updated = status.get("updatedNumberScheduled", 0)
    available = status.get("numberAvailable", 0)
    old = status.get("currentNumberScheduled", 0) - updated
    counts = _counts(updated, status.get("numberReady", 0), available, old)
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return Health(Verdict.UNPROVABLE, ON_DELETE, counts)
    if _is_unobserved(target):
        return Health(Verdict.PROGRESSING, UNOBSERVED)
    if wanted == 0:
        return Health(Verdict.IDLE, NO_NODE, counts)
    if updated < wanted:
        return Health(Verdict.PROGRESSING, f"{updated} of {wanted} pods updated", counts)
    if available < wanted:
        return Health(Verdict.PROGRESSING, f"{available} of {wanted} pods available", counts)
    return Health(Verdict.HEALTHY, f"{available} of {wanted} pods updated and available", counts)


def _counts(updated: int, ready: int, available: int, old: int) -> Counts:
    """Ready and available pods are counted over all templates: at least so many are new ones."""
    old = max(old, 0)
    return Counts(updated, max(ready - old, 0), max(available - old, 0), old)


def _is_unobserved(target: Mapping[str, Any]) -> bool:
    observed: int = (target.get("status") or {}).get("observedGeneration", 0)
    generation: int = target["metadata"].get("generation", 0)
    return observed < generation
