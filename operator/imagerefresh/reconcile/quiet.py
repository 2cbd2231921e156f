"""The quiet turn: the tags are found as they were, and nobody is told (B5, B27).

Almost all turns are this, so it is kept apart from a run, and cheap: a run would find the same.
"""

from collections.abc import Callable

from imagerefresh.api.timestamps import parse_timestamp
from imagerefresh.cluster.errors import ClusterError
from imagerefresh.plan.due import due_images, is_settled
from imagerefresh.plan.image_summary import TROUBLES
from imagerefresh.plan.summary import REFRESH_AGE, is_in_flight, is_ready
from imagerefresh.reconcile.keys import resolve
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.track import QuietSpell, Track
from imagerefresh.registry import RegistryClient, Resolved


def quiet_spell(run: Run, quiet_look: float) -> QuietSpell | None:
    """What may stay alone after a run, and until when; None if the next turn needs a run.

    `quiet_look` is in seconds: the age at which a look at the target gets old.
    """
    track, status = run.track, run.track.status(run.policy)
    checked = parse_timestamp(status.last_check_time)
    if not is_settled(status) or not is_ready(status) or is_in_flight(run.policy, status):
        return None
    if track.target_seen is None or checked is None:
        return None
    entries = {entry.name: entry for entry in status.images}
    digests, complaints = {}, {}
    for image in run.spec.images:
        if image.pinned:
            continue
        entry = entries.get(image.name)
        if entry is None or entry.latest is None or entry.reason in TROUBLES:
            return None
        digests[image.name] = entry.latest
        complaints[image.name] = entry.pull_secret_problem or ""
    told_until = run.began + (checked - run.now + REFRESH_AGE).total_seconds()
    until = min(track.target_seen + quiet_look, told_until)
    return QuietSpell(run.spec, digests, until, run.policy, complaints)


async def pass_quietly(
    registry: RegistryClient, track: Track, wall: float, monotonic: Callable[[], float]
) -> bool:
    """Lets the turns pass that have come, if they bring nothing new; else a run is needed."""
    spell, began = track.quiet, monotonic()
    if spell is None or began >= spell.until:
        return False
    due = due_images(spell.spec, track.looks, wall)
    for image in spell.spec.images:
        if image.name not in due:
            continue
        fresh_since = began - (wall - due[image.name])
        try:
            reply = await resolve(registry, track.keys, spell.spec, image.reference, fresh_since)
        except ClusterError:
            return False  # a run meets it, too, and knows what to do about it
        digest = spell.digests.get(image.name)
        if not isinstance(reply.answer, Resolved) or reply.answer.digest != digest:
            return False
        if reply.complaint != spell.complaints.get(image.name, ""):
            return False
        track.looks.note(spell.spec, image, wall, has_failed=False)
        track.last_check = wall
    return track.quiet is spell
