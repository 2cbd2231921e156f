"""One image of a view, with the questions that the decision table asks of it."""

from dataclasses import dataclass
from datetime import timedelta

from imagerefresh.api.policy import ActionType
from imagerefresh.api.timestamps import parse_timestamp
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.health import Verdict
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import carries, carries_ask
from imagerefresh.plan.view import ImageView, View, in_question, is_disproved, waits_for_registry

SET_BACK_LIMIT = 3
"""How often one value is set back within the window before it is a fight (B17)."""
SET_BACK_WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Case:
    """One image of a view, with the questions that the table asks."""

    view: View
    own: ImageView
    all_holds_end: bool
    is_behind_neighbour: bool = False
    """Another image is recorded or adopted first, and asked right after: then both are asked in
    one rollout (B13).
    """

    @property
    def memory(self) -> Memory:
        """What is remembered of the image."""
        return self.own.memory

    @property
    def is_restart(self) -> bool:
        """Whether its action is Restart."""
        return self.own.image.action.type is ActionType.RESTART

    @property
    def carries_asked(self) -> bool:
        """Whether the template carries what is asked."""
        floats = self.is_restart and not self.own.carried.is_pinned
        if floats and self.memory.is_proven and self.held is not None:
            return False  # rolled back: its tag serves just the digest that failed
        if self.is_unproven and not self.memory.adopted:
            return carries_ask(self.own.image, self.own.carried, self.memory.asked)
        return carries(self.own.image, self.own.carried, self.memory.asked)

    @property
    def is_unproven(self) -> bool:
        """Something is asked that was not proven yet."""
        return self.memory.asked is not None and not self.memory.is_proven

    @property
    def is_proving(self) -> bool:
        """The target is healthy while its template carries an asked digest that is not recorded
        yet.

        Without pods nothing is proven that somebody was made to run; what was found on the target
        is taken over as it is (B12, B19).
        """
        health = self.view.health
        is_content = health.is_healthy and (self.memory.adopted or not health.is_idle)
        return is_content and self.carries_asked and self.is_unproven

    @property
    def is_disproved(self) -> bool:
        """The pods clearly run another digest."""
        return is_disproved(self.own)

    @property
    def is_to_be_examined(self) -> bool:
        """What the pods run would decide about a record now, and is not known yet.

        A variable is no image of the pod, and a restart whose tag has moved on is not recorded.
        """
        if self.own.image.action.type is ActionType.SET_ENV or self.view.health.is_idle:
            return False
        digest = in_question(self.own)
        is_near = self.is_proving or (self.is_provable_at_once and digest is not None)
        is_current = not self.is_restart or self.own.latest == digest
        is_open = self.own.evidence is Evidence.UNSOUGHT and not self.is_retry_pending
        return is_near and is_current and is_open

    @property
    def is_unlike(self) -> bool:
        """What was only taken over is not what the pods run, and nobody was made to run it yet."""
        is_found = self.is_proving and self.memory.adopted and not self.memory.is_held
        return is_found and self.is_disproved and self.own.latest == self.memory.asked

    @property
    def is_mismatched(self) -> bool:
        """The pods had the time to turn to what was asked, and run something else."""
        is_asked = self.is_proving and not self.memory.adopted and not self.is_failed
        is_late = self.view.stalled_for >= self.view.rollout_timeout
        return is_asked and self.is_disproved and is_late

    @property
    def is_failed(self) -> bool:
        """What is asked has failed already."""
        return self.memory.failed is not None and self.memory.failed == self.memory.asked

    @property
    def is_provable_at_once(self) -> bool:
        """A first observation of a healthy target: all there is to know is what its tag serves."""
        is_known = self.own.latest is not None
        return self.memory.is_first_observation and is_known and self.view.health.is_healthy

    @property
    def held(self) -> str | None:
        """The failed digest, unless all holds end with this run."""
        return None if self.all_holds_end else self.memory.failed

    @property
    def has_moved(self) -> bool:
        """The tag serves another digest than the asked one, and not the held one."""
        latest = self.own.latest
        return (
            self.memory.asked is not None
            and latest is not None
            and latest not in (self.memory.asked, self.held)
        )

    @property
    def is_unsteady(self) -> bool:
        """The tag has come back to a digest that it has been asked for too often."""
        return self.has_moved and self.own.latest in self.own.overasked

    @property
    def is_to_be_filled(self) -> bool:
        """Its field waits for a first digest."""
        is_known = self.own.latest is not None
        is_empty = not self.is_restart and self.own.carried.digest is None
        return self.memory.is_first_observation and is_known and is_empty

    @property
    def is_retried(self) -> bool:
        """A person wants another try, and it is known of what."""
        return self.is_retry_pending and self.own.latest is not None

    @property
    def is_released(self) -> bool:
        """A held tag has moved away, here or on another image, or our pin to what is asked is there
        without a hold.
        """
        is_asked = self.carries_asked or not self.memory.is_proven
        return (self.all_holds_end and self.memory.is_held) or (self.has_idle_pin and is_asked)

    @property
    def is_waiting(self) -> bool:
        """It would make a rollout of its own, and another policy's is under way (B23)."""
        makes_rollout = (
            self.is_retried
            or self.has_moved
            or self.is_released
            or self.is_to_be_filled
            or self.is_unlike
        )
        return self.view.awaited is not None and makes_rollout

    @property
    def is_asked_next(self) -> bool:
        """Once it is recorded, or adopted as found, a newer digest waits to be asked."""
        latest = self.own.latest
        if not self.memory.is_first_observation:
            return self.has_moved
        return latest is not None and self.own.carried.digest not in (None, latest)

    @property
    def has_failed(self) -> bool:
        """The rollout of what this image asked came to nothing (B19)."""
        if not self.is_unproven or self.view.health.is_healthy:
            return False
        if waits_for_registry(self.view.images):
            return False  # the nodes can't pull either (B21)
        health = self.view.health
        if health.verdict is Verdict.UNPROVABLE or health.broken_pod:
            return False  # no pod has run it yet
        deadline = (
            health.verdict is Verdict.DEADLINE_EXCEEDED
            and health.deadline_time != self.memory.deadline_seen
        )
        return deadline or self.view.stalled_for >= self.view.rollout_timeout

    @property
    def has_idle_pin(self) -> bool:
        """Our pin is there without a hold, and the tag is known: a leftover of an undo."""
        return self.own.carried.is_pinned and self.held is None and self.own.latest is not None

    @property
    def is_contested(self) -> bool:
        """Asked was set back so often within the window that somebody else must be writing the
        field, too.
        """
        times = [parse_timestamp(time) for time in self.memory.set_back_times]
        known = [time for time in times if time is not None]
        if len(known) < SET_BACK_LIMIT or known[-1] - known[-SET_BACK_LIMIT] > SET_BACK_WINDOW:
            return False
        return self.own.was_contested or self.view.now - known[-1] <= SET_BACK_WINDOW

    @property
    def is_retry_pending(self) -> bool:
        """A new retry-at that this image has something to do about."""
        is_new = (
            self.view.retry_at is not None and self.view.retry_at != self.memory.handled_retry_at
        )
        is_rejected = self.is_unproven and not self.carries_asked
        is_stopped = self.memory.is_held or self.has_failed or self.is_contested or is_rejected
        is_stopped = is_stopped or self.is_unsteady
        return is_new and is_stopped and not self.own.image.pinned
