"""What has changed with a run and is worth an event and a log line: transitions only, one each
(B27).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Condition, ConditionType, ImageStatus, Status
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.image_summary import HOLDS, TROUBLES
from imagerefresh.plan.steps import Step

UNTOLD = TROUBLES | HOLDS | {Reason.Suspended}
"""Reasons of Ready that are no news of their own: images tell them, or a person did it."""


@dataclass(frozen=True, slots=True)
class News:
    """One transition. `action` says in one CamelCase word what the operator did about it."""

    reason: Reason
    action: str
    note: str
    is_warning: bool = False


def transitions(found: Findings, after: Status) -> Iterator[News]:
    """The news between the status before the run and the one after it."""
    before = {image.name: image for image in found.before.images}
    for image in after.images:
        yield from _of_image(found, before.get(image.name) or ImageStatus(name=image.name), image)
    yield from _of_policy(found.before, after)


def _of_image(found: Findings, before: ImageStatus, after: ImageStatus) -> Iterator[News]:
    what = f"{after.name} ({after.reference})"
    if (
        after.latest
        and before.latest
        and before.reference == after.reference
        and after.latest != before.latest
    ):
        yield News(Reason.Moved, "Polled", f"{what} moved from {before.latest} to {after.latest}")
    yield from _of_registry(found, before, after)
    outcome = found.plan.outcomes.get(after.name) if found.plan else None
    match outcome.step if outcome else Step.NOTHING:
        case Step.ASK:
            is_other = before.asked not in (None, after.asked)
            instead = f" instead of {before.asked}" if is_other else ""
            yield News(Reason.Asked, "Asked", f"asked to run {what} at {after.asked}{instead}")
        case Step.RECORD | Step.ADOPT if after.recorded == after.asked:
            how = "found and recorded" if after.adopted else "proven healthy and recorded"
            yield News(Reason.Recorded, "Recorded", f"{what}: {after.recorded} {how}")
        case Step.FAIL:
            reason = after.reason if after.reason in HOLDS else Reason.RolloutFailed
            yield News(reason, "Held", f"{what}: {after.message}", is_warning=True)
        case Step.REJECT:
            yield News(Reason.Rejected, "Held", f"{what}: {after.message}", is_warning=True)
        case Step.ROLL_BACK:
            yield News(Reason.RolledBack, "RolledBack", f"{what}: {after.message}", is_warning=True)
        case Step.SET_BACK:
            yield News(Reason.DriftCorrected, "SetBack", f"{what}: set back to {after.asked}")
        case _:
            pass


def _of_registry(found: Findings, before: ImageStatus, after: ImageStatus) -> Iterator[News]:
    """Trouble with the registry, when it begins and ends, and with pull secrets."""
    what = f"{after.name} ({after.reference})"
    was_troubled = before.reason in TROUBLES or after.name in found.troubles_told
    trouble = found.troubles.get(after.name)
    if trouble and not was_troubled:
        told = f"{what}: {trouble.problem.message}"
        yield News(Reason.RegistryTrouble, "Polled", told, is_warning=True)
    if was_troubled and not trouble:
        yield News(Reason.RegistryRecovered, "Polled", f"{what} can be resolved again")
    if after.pull_secret_problem not in (None, before.pull_secret_problem):
        told = f"{what}: {after.pull_secret_problem}"
        yield News(Reason.PullSecretTrouble, "Polled", told, is_warning=True)


def _of_policy(before: Status, after: Status) -> Iterator[News]:
    """What a person must mend, when it begins; images tell their own news."""
    was, now = _ready(before), _ready(after)
    if now is None or now.status != "False" or now.reason in UNTOLD:
        return
    if was is None or was.reason != now.reason:
        yield News(now.reason, "Checked", now.message, is_warning=True)


def _ready(status: Status) -> Condition | None:
    return next((each for each in status.conditions if each.type is ConditionType.READY), None)
