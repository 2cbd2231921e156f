"""Whether a policy of a soak is where it must be once all is quiet: no update is lost. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from imagerefresh.api.names import GROUP, record_annotation
from proof.soak.crowd import Followed, Member
from proof.soak.history import Deeds
from testbed.api import Manifest
from testbed.workloads import condition, rolled_out

_FIGHT: Final = 3
"""Edits after which a field may be contested (B17)."""


def find_unsettled(
    member: Member,
    policies: Sequence[Manifest],
    target: Manifest,
    deeds: Deeds,
    *,
    is_healed: bool,
) -> Iterator[str]:
    """What is not as it must be.

    Recorded is what the tag serves, or that has failed: because no pod can run it, or somebody took
    it back. With `is_healed` only the first will do.
    """
    entries = {
        each["name"]: each
        for policy in policies
        for each in policy.get("status", {}).get("images", [])
    }
    for image in member.images:
        if problem := _problem(member, image, entries.get(image.name, {}), target, deeds):
            yield f"{member.name}, {image.name}: {problem}"
        elif is_healed and entries[image.name]["state"] != "Current":
            yield f"{member.name}, {image.name}: is not healed: {entries[image.name]}"
    for policy in policies if is_healed else ():
        ready = condition(policy, "Ready") or {}
        if ready.get("status") != "True" or not rolled_out(target):
            yield f"{member.name}: not Ready: {ready.get('reason')}: {ready.get('message')}"


def _problem(
    member: Member, image: Followed, entry: Manifest, target: Manifest, deeds: Deeds
) -> str:
    moved, served = deeds.moves[image.repository][-1]
    annotations = target["metadata"].get("annotations", {})
    recorded = annotations.get(record_annotation(GROUP, image.name))
    edits = deeds.disturbed(member.name, 0.0, float("inf"))
    match entry.get("state"):
        case "Current":
            wrong = {entry.get("recorded"), recorded} != {served}
            return f"serves {served}, but has {recorded} and says {entry}" if wrong else ""
        case "Held" if entry.get("failed") == served:
            # One pod, one fate: what another image asked fails all. Its next move ends the hold
            # of its own policy's images only.
            since = moved if member.is_shared else float("inf")
            is_bad = any(deeds.served_bad(each.repository, since) for each in member.images)
            is_due = is_bad or deeds.disturbed(member.name, moved, float("inf"))
            return "" if is_due else f"held without a reason: {entry}"
        case "Blocked" if entry.get("reason") == "Contested" and edits >= _FIGHT:
            return ""
        case _:
            return f"serves {served}, and says {entry}"
