"""One image, and what is recollected of it from here and there."""

from typing import Final

from imagerefresh.api.status import ImageStatus
from imagerefresh.plan.memory import Memory, Recollection, recollect
from imagerefresh.plan.template import Carried
from unit.plan.builders import D1, D2, GROUP, LATE_TIME, Json, a_memory

NAME, REFERENCE = "web", "registry.example.com/example/web:prod"
OTHER_TOOL = "other.example.com"
FLOATING: Final = Carried(containers=("web",))


def known(asked: str | None = D2, recorded: str | None = D1, **fields: Json) -> Memory:
    """What is remembered of the image of these tests."""
    return a_memory(asked, recorded, **{"reference": REFERENCE, **fields})


def in_status(memory: Memory) -> ImageStatus:
    """An image's entry in the policy's status that mirrors a memory."""
    return ImageStatus(
        name=NAME,
        reference=memory.reference,
        claim=memory.claim or None,
        asked=memory.asked,
        asked_time=memory.asked_time,
        adopted=memory.adopted,
        recorded=memory.recorded,
        failed=memory.failed,
        serial=memory.serial,
        handled_retry_at=memory.handled_retry_at,
        set_back_times=list(memory.set_back_times),
        deadline_seen=memory.deadline_seen,
    )


def recall(
    annotations: dict[str, str] | None = None,
    status: Memory | ImageStatus | None = None,
    carried: Carried = FLOATING,
    *,
    reference: str = REFERENCE,
    prefix: str = GROUP,
    claim: str = "",
) -> Recollection:
    """What is recollected of the image of these tests."""
    return recollect(
        name=NAME,
        reference=reference,
        prefix=prefix,
        annotations=annotations or {},
        status=in_status(status) if isinstance(status, Memory) else status,
        carried=carried,
        claim=claim,
    )


OLDER: Final = known(D1, D1, serial=3)
NEWER: Final = known(D2, D1, serial=5, failed=D2, deadline_seen=LATE_TIME)
