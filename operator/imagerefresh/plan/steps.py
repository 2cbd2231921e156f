"""What a row of the decision table can do with an image, and what comes of it.

A step is carried out on paper only: it gives the state of the image afterwards, and the change of
the target's template that goes with it.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.case import SET_BACK_LIMIT, Case
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import Stamp
from imagerefresh.plan.template_change import pin, set_digest, unpin


class Step(StrEnum):
    """What a row does with an image."""

    NOTHING = "Nothing"
    CONFIRM = "Confirm"
    """Look at the tag once more and decide again."""
    EXAMINE = "Examine"
    """Look at the pods and decide again."""
    ASK = "Ask"
    ADOPT = "Adopt"
    RECORD = "Record"
    RELEASE = "Release"
    SET_BACK = "SetBack"
    REJECT = "Reject"
    FAIL = "Fail"
    ROLL_BACK = "RollBack"
    RESTORE = "Restore"


def carry_out(step: Step, case: Case) -> tuple[Memory, Mapping[str, Any]]:
    """The state after a step, but for its serial, and the template change that goes with it."""
    memory, own = case.memory, case.own
    match step:
        case Step.ASK if own.latest is not None:
            asked = _newly_asked(case, own.latest, is_adopted=False)
            return asked, set_digest(own.image, case.view.target, _stamp(memory, own.latest))
        case Step.ADOPT if own.latest is not None:
            found = own.latest if case.is_restart else own.carried.digest or own.latest
            adopted = _newly_asked(case, found, is_adopted=True)
            is_sure = not case.is_restart or case.own.is_confirmed
            is_proven = case.view.health.is_healthy and is_sure and not case.is_disproved
            return replace(adopted, recorded=found) if is_proven else adopted, {}
        case Step.RECORD:
            failed = None if case.held == memory.asked else case.held
            return replace(memory, recorded=memory.asked, failed=failed), {}
        case Step.RELEASE:
            # Without a known latest a floating tag might serve just the digest that failed.
            change = unpin(own.image, case.view.target) if own.latest is not None else {}
            return replace(memory, failed=None), change
        case Step.SET_BACK if memory.asked is not None:
            times = (*memory.set_back_times, timestamp(case.view.now))[-SET_BACK_LIMIT:]
            # Taken back to a revision that we had pinned: nothing is held, so the tag will do.
            floats = memory.failed is None and own.latest == memory.asked
            return replace(memory, set_back_times=times), _bring_back(
                case, memory.asked, floats=floats
            )
        case Step.REJECT | Step.FAIL:
            return replace(memory, failed=memory.asked), {}
        case Step.ROLL_BACK if memory.recorded is not None:
            back = replace(
                memory,
                asked=memory.recorded,
                asked_time=timestamp(case.view.now),
                failed=memory.asked,
                set_back_times=(),
            )
            return back, _bring_back(case, memory.recorded)
        case _:
            return memory, {}


def _newly_asked(case: Case, digest: str, *, is_adopted: bool) -> Memory:
    return replace(
        case.memory,
        asked=digest,
        asked_time=timestamp(case.view.now),
        adopted=is_adopted,
        failed=None,
        handled_retry_at=case.view.retry_at or case.memory.handled_retry_at,
        set_back_times=(),
        deadline_seen=case.view.health.deadline_time,
    )


def _bring_back(case: Case, digest: str, *, floats: bool = False) -> Mapping[str, Any]:
    """A Restart image is brought back to a digest by our pin, the others by their field."""
    change = pin if case.is_restart and not floats else set_digest
    return change(case.own.image, case.view.target, _stamp(case.memory, digest))


def _stamp(memory: Memory, digest: str) -> Stamp:
    """Carries the serial that the state will have: D1, D2, D1 changes the template each time."""
    return Stamp(memory.serial + 1, digest)
