"""Whether a policy has come to rest, and whether what it says then is true.

What a tag serves and what a target carries is taken from registry and target, never from the
operator's word.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from imagerefresh.api.names import GROUP, REQUESTED_AT, record_annotation
from testbed.api import Manifest
from testbed.workloads import condition, environment, rolled_out

Serves: TypeAlias = Callable[[str, str], str]
"""The digest that a tag serves, by repository and tag."""

_MARK_LENGTH: Final = 1024
"""Characters of a request that status keeps (B4)."""
_TROUBLES: Final = frozenset(
    {
        "ImageNotFoundOrDenied",
        "NotAnImage",
        "RateLimited",
        "RegistryUnavailable",
        "RegistryMisconfigured",
    }
)


class Outcome(StrEnum):
    """What a change of an object came to."""

    CONVERGED = "converged"
    TOLD = "told"
    """A condition says why it can't converge."""
    REFUSED = "refused"
    """By the API server; nothing has changed."""


@dataclass(frozen=True)
class Settled:
    """How a policy came to rest: the reason and the message are those that people read."""

    outcome: Outcome
    reason: str
    message: str


def judge(policy: Manifest, target: Manifest | None, serves: Serves) -> Settled | None:
    """How a policy has settled; None while it has not.

    Raises:
        AssertionError: what it says is contradictory or untrue.
    """
    ready = condition(policy, "Ready")
    if ready is None or not _is_answered(policy):
        return None
    check_kstatus(policy)
    told = Settled(Outcome.TOLD, ready["reason"], ready.get("message", ""))
    assert told.message, f"{told.reason} without a message"
    if told.reason == "Suspended":
        return told
    if condition(policy, "Reconciling") and told.reason != "PatchRefused":
        return None
    if ready["status"] == "False":
        return told
    if ready["status"] == "Unknown":
        return _tell_trouble(policy)
    wrong = _find_wrong(policy, target, serves)
    assert not wrong, f"Ready, but {wrong}"
    return Settled(Outcome.CONVERGED, told.reason, told.message)


def check_kstatus(policy: Manifest) -> None:
    """Conditions as kstatus reads them (B26).

    Raises:
        AssertionError: they contradict each other.
    """
    status = policy.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", [])}
    abnormal = [kind for kind in ("Reconciling", "Stalled") if kind in conditions]
    assert len(abnormal) <= 1, f"both Reconciling and Stalled: {conditions}"
    assert all(conditions[kind]["status"] == "True" for kind in abnormal), conditions
    ready = conditions["Ready"]["status"]
    assert ready != "True" or not abnormal, f"Ready and {abnormal}: {conditions}"
    assert ready == "False" or "Stalled" not in conditions, f"Stalled, but not False: {conditions}"
    generations = {each.get("observedGeneration") for each in conditions.values()}
    assert generations == {status.get("observedGeneration")}, f"of several generations: {status}"


def _is_answered(policy: Manifest) -> bool:
    status = policy.get("status", {})
    requested = policy["metadata"].get("annotations", {}).get(REQUESTED_AT)
    return bool(
        status.get("observedGeneration") == policy["metadata"]["generation"]
        and status.get("lastHandledRequestedAt") == ((requested or "")[:_MARK_LENGTH] or None)
    )


def _tell_trouble(policy: Manifest) -> Settled | None:
    """The trouble at a registry that keeps a policy from knowing what it should run (B7)."""
    for each in policy["status"].get("images", []):
        if each.get("reason") in _TROUBLES:
            return Settled(Outcome.TOLD, each["reason"], each["message"])
    return None


def _find_wrong(policy: Manifest, target: Manifest | None, serves: Serves) -> str:
    """What a Ready policy does not tell truly; empty if nothing."""
    spec = policy["spec"]
    images = [each for each in spec["images"] if not each.get("pinned")]
    if not images:
        return ""
    if target is None:
        return "there is no target"
    if not rolled_out(target) and not _is_manual(target):
        return f"its target is not rolled out: {target.get('status')}"
    entries = {each["name"]: each for each in policy["status"].get("images", [])}
    annotations = target["metadata"].get("annotations", {})
    for image in images:
        name, entry = image["name"], entries.get(image["name"], {})
        served = serves(image["repository"], image["tag"])
        record = record_annotation(spec.get("annotationPrefix") or GROUP, name)
        places = {
            "latest": entry.get("latest"),
            "asked": entry.get("asked"),
            "recorded": entry.get("recorded"),
            "the record on the target": annotations.get(record),
            "the target": _carried(target, image, served),
        }
        for place, digest in places.items():
            if digest != served:
                return f"{name}: the tag serves {served}, and {place} has {digest}"
    return ""


def _is_manual(target: Manifest) -> bool:
    """Whether its strategy leaves the rollout to a person."""
    strategy = target["spec"].get("updateStrategy") or {}
    partition = (strategy.get("rollingUpdate") or {}).get("partition")
    return strategy.get("type") == "OnDelete" or bool(partition)


def _carried(target: Manifest, image: Manifest, served: str) -> str | None:
    """What the target's field holds; a tag that floats carries whatever it serves."""
    action = image["action"]
    if action["type"] == "SetEnv":
        return environment(target, action["setEnv"]["container"]).get(action["setEnv"]["variable"])
    if action["type"] == "SetImage":
        containers = target["spec"]["template"]["spec"]["containers"]
        name = action["setImage"]["container"]
        text: str = next(each["image"] for each in containers if each["name"] == name)
        return text.partition("@")[2]
    return served
