"""What people are told of one image: its entry in the policy's status (B26)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from imagerefresh.api.names import FIELD_MANAGER, RETRY_AT
from imagerefresh.api.policy import Image
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageState, ImageStatus, cut_message
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.case import Case
from imagerefresh.plan.decide import Outcome
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.steadiness import ASK_LIMIT
from imagerefresh.plan.steps import Step
from imagerefresh.plan.template import RESTART, Problem
from imagerefresh.plan.view import ImageView, View, is_disproved, stuck_on

TROUBLES = frozenset(
    {
        Reason.ImageNotFoundOrDenied,
        Reason.NotAnImage,
        Reason.RateLimited,
        Reason.RegistryUnavailable,
        Reason.RegistryMisconfigured,
    }
)
TRANSIENT = frozenset({Reason.RateLimited, Reason.RegistryUnavailable})
ALSO = "; also: "
MISMATCH = (
    "all running pods have another digest than the one that was asked: see whether the nodes pull"
    " through a mirror that serves an older image"
)
BROKEN_POD = (
    "the rollout waits for {} to become ready: delete that pod, as a StatefulSet that keeps the"
    " order does not replace it by itself"
)
HOLDS = frozenset({Reason.RolloutFailed, Reason.Rejected, Reason.DigestMismatch})


def describe_image(found: Findings, image: Image) -> ImageStatus:
    """The image's entry after the run; what the run did not look at stays as it was."""
    reference = str(image.reference)
    before = next((each for each in found.before.images if each.name == image.name), None)
    entry = before or ImageStatus(name=image.name, reference=reference, reason=Reason.Checking)
    if found.view or entry.reference == reference:
        latest = entry.latest if entry.reference == reference else None
        entry = entry.model_copy(update={"latest": found.latest.get(image.name, latest)})
    complaint = found.complaints.get(image.name, entry.pull_secret_problem) or None
    entry = entry.model_copy(update={"pull_secret_problem": complaint})
    if found.spec and found.spec.suspend:
        return entry
    if image.pinned:
        pinned = {
            "state": ImageState.PINNED,
            "reason": Reason.Pinned,
            "message": "pinned: never polled, never acted on",
            "pull_secret_problem": None,
        }
        return entry.model_copy(update=pinned)
    if entry.state is ImageState.PINNED:
        entry = entry.model_copy(
            update={"state": ImageState.PENDING, "reason": Reason.Checking, "message": None}
        )
    if found.view:
        own = next(each for each in found.view.images if each.image.name == image.name)
        outcome = found.plan.outcomes[image.name] if found.plan else None
        memory = outcome.memory if outcome else own.memory
        state, story = _stand(found.view, own, memory, outcome, entry)
        refreshed = {
            "last_refresh_time": _last_refresh(found, memory, entry),
            "seen_in_pods": _seen_in_pods(own, memory, entry),
        }
        entry = entry.model_copy(
            update={
                # What the older policy has done is not ours to tell.
                **({} if own.conflict else _remembered(memory) | refreshed),
                "state": state,
                "reason": story.reason,
                "message": cut_message(story.message),
                "mutation": own.mutation.mark if own.mutation else None,
            }
        )
    trouble = found.troubles.get(image.name)
    if trouble is None:
        return entry
    if entry.state in (ImageState.HELD, ImageState.BLOCKED):
        # What a person has to mend stays in front; without a view both are told already.
        both = cut_message(f"{entry.message}{ALSO}{trouble.problem.message}")
        return entry.model_copy(update={"message": both}) if found.view else entry
    told = {"reason": trouble.problem.reason, "message": cut_message(trouble.problem.message)}
    return entry.model_copy(update=told)


def tell_image(image: ImageStatus) -> str:
    """What is the matter with an image, in a sentence."""
    also = f"{ALSO}{image.pull_secret_problem}" if image.pull_secret_problem else ""
    return f"{image.name}: {image.message}{also}"


def is_assumed(image: ImageStatus) -> bool:
    """Whether nobody knows that pods run what was taken over as found (B12)."""
    is_restart = image.claim == RESTART
    return image.adopted and is_restart and image.seen_in_pods != image.recorded


def _stand(
    view: View, own: ImageView, memory: Memory, outcome: Outcome | None, before: ImageStatus
) -> tuple[ImageState, Problem]:
    """Where the image stands, and the reason and sentence for it."""
    if problem := own.conflict or own.carried.problem:
        return ImageState.BLOCKED, problem
    if own.mutation:
        return ImageState.BLOCKED, Problem(Reason.MutatedByAdmission, own.mutation.message)
    is_contested = outcome.row.name == "contested" if outcome else own.was_contested
    if is_contested:
        return ImageState.BLOCKED, Problem(
            Reason.Contested,
            f"{other_manager(view.target) or 'somebody else'} keeps changing back what is written:"
            " leave the field out of what it applies, or remove the image from this policy",
        )
    if outcome and (put_off := _put_off(view, own, memory, outcome)):
        return put_off
    if memory.asked is None:
        return ImageState.PENDING, Problem(Reason.Checking, "not looked at yet")
    if memory.failed is not None:
        if (
            before.state is ImageState.HELD
            and before.failed == memory.failed
            and before.reason in HOLDS
        ):
            return ImageState.HELD, Problem(
                before.reason, (before.message or "").partition(ALSO)[0]
            )
        return ImageState.HELD, _hold(view, own, memory, outcome)
    if not memory.is_proven:
        is_new = outcome is not None and outcome.step is Step.ASK
        return _to_be_proven(view, memory, is_disproved=is_disproved(own) and not is_new)
    if before.latest is None:
        told = "what the tag serves is not known yet"
        return ImageState.PENDING, Problem(Reason.Checking, told)
    return ImageState.CURRENT, _how_proven(own, memory, before)


def _put_off(
    view: View, own: ImageView, memory: Memory, outcome: Outcome
) -> tuple[ImageState, Problem] | None:
    """Why a digest that the tag serves is not asked yet, if so."""
    match outcome.row.name:
        case "unsteady":
            told = (
                f"the tag goes back and forth between {memory.asked} and {own.latest}, which was"
                f" asked {ASK_LIMIT} times within the hour: see whether the registry's replicas are"
                f" out of sync; it is asked again in an hour, or on a retry ({RETRY_AT})"
            )
            return ImageState.BLOCKED, Problem(Reason.TagUnsteady, told)
        case "wait":
            told = f"asked after {view.awaited}, which is neither proven nor failed yet"
            return ImageState.WAITING, Problem(Reason.WaitingForPolicy, told)
        case _:
            return None


def _how_proven(own: ImageView, memory: Memory, before: ImageStatus) -> Problem:
    if memory.adopted and own.image.action.restart:
        # Without a look into the pods nobody knows which image they pulled (B12).
        is_seen = _seen_in_pods(own, memory, before) is not None
        how = "the pods run it" if is_seen else "that the pods run this digest is assumed"
        return Problem(Reason.UpToDate, f"taken over as found; {how}")
    return Problem(Reason.UpToDate, "proven")


def _to_be_proven(view: View, memory: Memory, *, is_disproved: bool) -> tuple[ImageState, Problem]:
    found = view.health.message
    if is_disproved:
        state = ImageState.PROVING if memory.adopted else ImageState.ROLLING_OUT
        return state, Problem(Reason.DigestMismatch, MISMATCH)
    if memory.adopted:
        told = f"taken over as found; to be proven: {found}"
        return ImageState.PROVING, Problem(Reason.Proving, told)
    if view.health.is_idle:
        told = f"asked; {found}: it is proven when pods run"
        return ImageState.ROLLING_OUT, Problem(Reason.ScaledToZero, told)
    if broken := stuck_on(view):
        return ImageState.ROLLING_OUT, Problem(Reason.BrokenPod, BROKEN_POD.format(broken))
    return ImageState.ROLLING_OUT, Problem(Reason.RollingOut, f"asked; {found}")


def _hold(view: View, own: ImageView, memory: Memory, outcome: Outcome | None) -> Problem:
    """Why a digest is held. The run that found out may have come to an end before it could tell:
    then the target tells.
    """
    until = f"held until the tag moves or a retry is requested ({RETRY_AT})"
    is_rolled_back = memory.asked != memory.failed
    is_carried = Case(view, replace(own, memory=memory), all_holds_end=False).carries_asked
    if not (is_rolled_back or is_carried):
        who = other_manager(view.target) or "somebody"
        return Problem(
            Reason.Rejected, f"{who} took {memory.failed} back before it was proven, {until}"
        )
    if not is_rolled_back and view.health.is_healthy and is_disproved(own):
        told = f"{memory.failed} is not what runs: {MISMATCH}; {until}"
        return Problem(Reason.DigestMismatch, told)
    is_found_now = outcome is not None and outcome.step is Step.ROLL_BACK
    how = f" ({view.health.message})" if is_found_now or not is_rolled_back else ""
    rolled_back = ", the template is rolled back" if is_rolled_back else ""
    return Problem(
        Reason.RolloutFailed, f"{memory.failed} did not become healthy{how}{rolled_back}, {until}"
    )


def other_manager(target: Mapping[str, Any]) -> str | None:
    """The field manager that last changed the target's pod template besides us."""
    writers = [
        entry
        for entry in target["metadata"].get("managedFields") or []
        if entry.get("manager") != FIELD_MANAGER
        and "f:template" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    latest = max(writers, key=lambda entry: entry.get("time") or "", default=None)
    name = latest.get("manager") if latest else None
    return name if name != "unknown" else None  # what the API server calls a client without a name


def _remembered(memory: Memory) -> dict[str, Any]:
    return {
        "reference": memory.reference,
        "claim": memory.claim,
        "asked": memory.asked,
        "asked_time": memory.asked_time,
        "adopted": memory.adopted,
        "recorded": memory.recorded,
        "failed": memory.failed,
        "serial": memory.serial,
        "handled_retry_at": memory.handled_retry_at,
        "set_back_times": list(memory.set_back_times),
        "deadline_seen": memory.deadline_seen,
    }


def _seen_in_pods(own: ImageView, memory: Memory, before: ImageStatus) -> str | None:
    """The recorded digest, if running pods were seen to have it."""
    is_seen = own.evidence is Evidence.AGREES or before.seen_in_pods == memory.recorded
    return memory.recorded if memory.is_proven and is_seen else None


def _last_refresh(found: Findings, memory: Memory, before: ImageStatus) -> str | None:
    """A refresh is a record of something that we asked; a baseline that was taken over is none."""
    is_refresh = memory.is_proven and not memory.adopted and memory.asked_time is not None
    if is_refresh and memory.recorded != before.recorded:
        return timestamp(found.now)
    return before.last_refresh_time
