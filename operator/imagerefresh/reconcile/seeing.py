"""From a target as read, and what is remembered and known of its images, to the view that is
decided from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from imagerefresh.api.policy import Image
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageStatus
from imagerefresh.plan import progress, template
from imagerefresh.plan.claims import awaited, conflicts
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.health import Health, Verdict
from imagerefresh.plan.image_summary import ALSO
from imagerefresh.plan.memory import Memory, recollect
from imagerefresh.plan.steadiness import Steadiness
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import (
    ImageView,
    Mutation,
    View,
    in_question,
    is_under_way,
    waits_for_registry,
)
from imagerefresh.reconcile.acting import unmet
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.witness import Testimony

LEFT_TO_A_PERSON = frozenset({Verdict.PAUSED, Verdict.UNPROVABLE})
"""A rollout then goes on when somebody lets it, so its clock does not run (B19)."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A target as read or stored, its health, and since when that is so (monotonic)."""

    target: Mapping[str, Any]
    health: Health
    seen: float
    testimony: Testimony = field(default_factory=dict)
    """What its pods said, as far as they were asked since then."""


def see(run: Run, sight: Sight) -> View:
    """The view of a target. Notes the rollout's progress in the policy's track."""
    target, health, seen = sight.target, sight.health, sight.seen
    clashes = conflicts(run.own, run.others) if run.own else {}
    images = tuple(
        _heard(_see_image(run, image, target, seen, clashes.get(image.name)), sight.testimony)
        for image in run.spec.images
    )
    _note_progress(run, images, sight)
    return View(
        spec=run.spec,
        target=target,
        health=health,
        stalled_for=run.track.progress.stalled_for if run.track.progress else progress.NO_TIME,
        images=images,
        now=run.now,
        retry_at=run.retry_at,
        awaited=awaited(run.own, run.others, target, health) if run.own else None,
    )


def note_mutations(run: Run, found: Findings, stored: Mapping[str, Any]) -> None:
    """Compares what was stored with what was sent, and notes what admission made of it (B29)."""
    if not found.view or not found.plan:
        return
    for own in found.view.images:
        patch = found.plan.outcomes[own.image.name].patch
        if changed := ", ".join(sorted(unmet(patch or {}, stored))):
            mark = _mutation_mark(run, own.image, stored)
            told = f"admission changed what was written to {changed}"
            run.track.mutations[own.image.name] = Mutation(mark, told)


def note_asks(run: Run, found: Findings, now: float) -> None:
    """Notes what was asked, and how often: a tag may go back and forth (B13)."""
    for name, outcome in found.plan.outcomes.items() if found.plan else ():
        if outcome.row.name == "retry":
            run.track.steadiness.pop(name, None)
        elif outcome.row.name == "move" and outcome.memory.asked:
            run.track.steadiness.setdefault(name, Steadiness()).note(outcome.memory.asked, now)


def _mutation_mark(run: Run, image: Image, target: Mapping[str, Any]) -> str:
    """What has to change before the write is tried again: the spec, the tag or the field."""
    answer = run.track.answers.get(image.name)
    entry = next((each for each in run.before.images if each.name == image.name), None)
    latest = answer.latest if answer and answer.latest else entry.latest if entry else None
    field = template.read(image, target).digest
    return blake2b(f"{run.generation} {latest} {field}".encode(), digest_size=8).hexdigest()


def _see_image(
    run: Run, image: Image, target: Mapping[str, Any], seen: float, conflict: Problem | None
) -> ImageView:
    name, reference, metadata = image.name, str(image.reference), target["metadata"]
    carried = template.read(image, target)
    is_same_target = run.before.target_uid in (None, metadata["uid"])
    entry = next((each for each in run.before.images if each.name == name), None)
    recollection = recollect(
        name=name,
        reference=reference,
        prefix=run.spec.annotation_prefix,
        annotations=metadata.get("annotations") or {},
        status=entry if is_same_target else None,
        carried=carried,
        claim=template.claim_of(image),
    )
    answer = run.track.answers.get(name)
    if answer and answer.reference != reference:
        answer = None
    latest = answer.latest if answer else None
    steadiness = run.track.steadiness.get(name)
    mutation = run.track.mutations.get(name)
    if mutation is None and entry and entry.mutation:
        mutation = Mutation(entry.mutation, (entry.message or "").partition(ALSO)[0])
    if mutation and mutation.mark != _mutation_mark(run, image, target):
        mutation = None
    return ImageView(
        image=image,
        memory=recollection.memory,
        is_missing_on_target=recollection.is_missing_on_target,
        carried=carried,
        latest=latest,
        is_confirmed=answer is not None and latest is not None and answer.sent_at >= seen,
        is_reachable=not (answer and answer.trouble and answer.trouble.is_transient),
        conflict=conflict,
        overasked=steadiness.overasked(seen) if steadiness else frozenset(),
        was_contested=entry is not None and entry.reason is Reason.Contested,
        was_mismatched=_was_mismatched(entry, recollection.memory),
        mutation=mutation,
    )


def _heard(own: ImageView, testimony: Testimony) -> ImageView:
    """What the pods said of the digest in question."""
    digest = in_question(own)
    evidence = testimony.get((own.image.name, digest)) if digest else None
    return replace(own, evidence=evidence or Evidence.UNSOUGHT)


def _was_mismatched(entry: ImageStatus | None, memory: Memory) -> bool:
    """The status speaks of a mismatch of the very ask that there is now."""
    if entry is None or entry.reason is not Reason.DigestMismatch:
        return False
    return (entry.asked, entry.asked_time) == (memory.asked, memory.asked_time)


def _note_progress(run: Run, images: tuple[ImageView, ...], sight: Sight) -> None:
    track, health, seen = run.track, sight.health, sight.seen
    asks = progress.identify_asks(each.memory for each in images if is_under_way(each))
    if health.is_idle or (health.is_healthy and not asks):  # a rollout from zero begins anew
        track.progress = None
        return
    earlier = track.progress or progress.from_status(run.before.rollout, seen=seen, now=run.now)
    track.progress = progress.advance(
        earlier,
        progress.identify_rollout(asks, sight.target["spec"]["template"]),
        health.counts,
        is_healthy=health.is_healthy,
        is_running=health.verdict not in LEFT_TO_A_PERSON and not waits_for_registry(images),
        seen=seen,
        now=run.now,
    )
