"""The state of the model: small nested tuples, so that worlds compare and hash fast.

What differs without ever making a difference is left out or made relative: serials are compared
only, and times tell only whether they are the same or long ago. Digests are the numbers 0, 1 and 2.
"""

from enum import IntEnum, IntFlag
from typing import NamedTuple

DIGESTS = 3
TROUBLE = -1
"""In place of a digest: the registry could not be reached."""


class State(NamedTuple):
    """The state of an image, on the target or in status: `Memory` without what never differs."""

    serial: int
    asked: int | None
    is_timed: bool
    """It was asked at the time that the rollout's progress counts from."""
    adopted: bool
    failed: int | None
    has_handled_retry: bool
    """The request that status has not handled yet."""
    set_back_ages: tuple[int, ...]
    """In hours."""
    has_seen_deadline: bool
    """The ProgressDeadlineExceeded that the target shows was there when it was asked."""


class Note(NamedTuple):
    """What the target's own annotations say of an image."""

    state: State | None = None
    """None where it is missing or garbled."""
    record: int | None = None


class Part(NamedTuple):
    """What the pod template holds for an image."""

    field: int | None = None
    """The digest in the variable or image field."""
    stamp: tuple[int, int] | None = None
    """Serial and digest."""
    pin: int | None = None
    """The digest in our mark that we have pinned the container."""
    is_foreign: bool = False
    """The field holds something that no policy may touch."""


class Past(NamedTuple):
    """What a ReplicaSet keeps of an image."""

    part: Part
    note: Note
    """Its copy of the Deployment's annotations."""
    pods: int
    """What its pods run: a set of digests, as bits; 0 where there are none."""


class Entry(NamedTuple):
    """What the policy's status says of an image."""

    state: State
    recorded: int | None
    is_contested: bool = False


class Cause(IntFlag):
    """What entitles the operator to one more rollout."""

    NONE = 0
    MOVE = 1
    RETRY = 2
    REVERT = 4
    FAILURE = 8


class Share(NamedTuple):
    """All that concerns one image."""

    tag: int
    """What the registry serves."""
    answer: int | None = None
    """The registry's last word, a digest or TROUBLE, as the operator's process knows it."""
    is_pinned: bool = False
    note: Note = Note()
    part: Part = Part()
    past: tuple[Past, ...] = ()
    """ReplicaSets, oldest first; the last one is the one that the controller has observed."""
    entry: Entry | None = None
    timed: int | None = None
    """What the rollout whose progress is counted is to prove."""
    is_time_lost: bool = False
    """Both copies of the state are lost, and with them the time when that was asked."""
    has_flickered: bool = False
    """The tag went away from what is asked and came back, while pods were pulling it."""
    causes: Cause = Cause.NONE
    """Those that are not used up: the accounts of the model, not of the operator."""


class Phase(IntEnum):
    """What the Deployment's status says of the rollout that its controller has observed."""

    PROGRESSING = 0
    LATE = 1
    HEALTHY = 2
    UNAVAILABLE = 3
    """It was healthy, and its pods fail since."""


class Progress(NamedTuple):
    """How far a rollout is, as the operator counts it."""

    best: tuple[int, int, int, int] | None
    age: int
    """Hours without progress at the last look."""
    elapsed: int
    """Hours since."""
    is_running: bool
    was_healthy: bool = False
    """At the last look."""


class World(NamedTuple):
    """All of it: the registry and the policy, then the target, then the operator."""

    shares: tuple[Share, ...]
    is_up: bool = True
    """The registry can be reached, by the operator and by the nodes."""
    is_suspended: bool = False
    has_retry: bool = False
    """There is a retry-at that status does not say was handled."""
    has_rival: bool = False
    """An older policy has the same claims on the target."""
    phase: Phase = Phase.HEALTHY
    is_observed: bool = True
    is_paused: bool = False
    restarts: int = 0
    """Stands for all of the template that is not ours."""
    revisions: tuple[int, ...] = ()
    """The same of each ReplicaSet."""
    is_met: bool = True
    """Status speaks of this target, not of an earlier one of the same name."""
    stored: Progress | None = None
    """In status."""
    progress: Progress | None = None
    """In the operator's process."""
    has_other_template: bool = False
    """The template is not the one whose rollout is counted."""


def newest(world: World, share: Share) -> tuple[State | None, int | None]:
    """The copy of an image's state with the higher serial, and the record that goes with it. A
    person may have edited the record on the target.
    """
    state, record = share.note
    entry = share.entry if world.is_met else None
    if entry is None or (state is not None and state.serial > entry.state.serial):
        return state, record
    is_edited = state is not None and state.serial == entry.state.serial and record is not None
    return entry.state, record if is_edited else entry.recorded
