"""The look at the registries: which digest each image's tag serves, as far as it can be had (B5 to
B9).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from imagerefresh.api.policy import ActionType, Image, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageStatus, Status
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.template import Problem
from imagerefresh.reconcile.keys import Keys, resolve
from imagerefresh.reconcile.track import Answer, Track
from imagerefresh.registry import RegistryClient, Resolved
from imagerefresh.registry import Trouble as RegistryTrouble


@dataclass(frozen=True, slots=True)
class TagWatch:
    """Asks registries on behalf of policies, and keeps the answers in their tracks."""

    registry: RegistryClient

    async def look(
        self,
        spec: Spec,
        wanted: Mapping[str, float],
        track: Track,
        before: Status,
        *,
        is_turn: bool,
    ) -> None:
        """Resolves the wanted images at the same time.

        `wanted` gives by image name the monotonic time before which a request was sent whose answer
        won't do. `is_turn` tells a turn from a look in between: only turns count towards lasting
        trouble (B7).
        """
        images = [image for image in spec.images if image.name in wanted]
        found = await asyncio.gather(
            *(
                self._resolve(spec, image, _entry(before, image), wanted[image.name], track.keys)
                for image in images
            )
        )
        for image, answer in zip(images, found, strict=True):
            earlier = track.earlier_turns(image.name, before)
            track.answers[image.name] = _counted(answer, earlier + 1 if is_turn else earlier)

    async def _resolve(
        self, spec: Spec, image: Image, known: ImageStatus, fresh_since: float, keys: Keys | None
    ) -> Answer:
        reference = image.reference
        reply = await resolve(self.registry, keys, spec, reference, fresh_since)
        found, complaint = reply.answer, reply.complaint
        if isinstance(found, Resolved) and _has_moved(image, known, found):
            # Once after a move: what can't run is shown and never asked (B5).
            digest, credentials = found.digest, reply.credentials
            found = await self.registry.inspect(reference, digest, credentials) or found
        if isinstance(found, RegistryTrouble):
            return Answer(str(reference), fresh_since, trouble=_trouble(found), complaint=complaint)
        return Answer(str(reference), found.sent_at, latest=found.digest, complaint=complaint)


def _has_moved(image: Image, known: ImageStatus, found: Resolved) -> bool:
    is_first = known.asked is None and known.recorded is None
    if is_first and image.action.type is ActionType.RESTART:
        return False  # whatever it is, it runs already
    return found.digest not in (known.latest, known.asked, known.recorded, known.failed)


def _counted(answer: Answer, turns: int) -> Answer:
    if answer.trouble is None:
        return answer
    trouble = Trouble(answer.trouble.problem, answer.trouble.is_transient, turns)
    return replace(answer, trouble=trouble)


def _trouble(found: RegistryTrouble) -> Trouble:
    return Trouble(Problem(Reason(found.reason.value), found.message), found.transient)


def _entry(before: Status, image: Image) -> ImageStatus:
    reference = str(image.reference)
    for entry in before.images:
        if entry.name == image.name:
            return (
                entry if entry.reference == reference else entry.model_copy(update={"latest": None})
            )
    return ImageStatus(name=image.name)
