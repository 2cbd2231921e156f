"""The subject of one run: a policy as it was at the start, and what has come to be known since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from imagerefresh.api.names import RETRY_AT
from imagerefresh.api.policy import Spec
from imagerefresh.api.status import Status
from imagerefresh.plan.claims import Claimant
from imagerefresh.plan.due import next_check
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.summary import is_requested, request_mark, request_marks
from imagerefresh.reconcile.track import Track


@dataclass(slots=True)
class Run:
    """One run: the policy as it was when the run began, and what the run has come to know."""

    policy: Mapping[str, Any]
    spec: Spec
    track: Track
    before: Status
    """The status that the next report builds on."""
    wall: float
    """Seconds since the epoch when the run began."""
    began: float
    """The same moment on the monotonic clock."""
    own: Claimant | None = None
    """The policy as the others on its target see it, if it is known to them."""
    others: Sequence[Claimant] = ()
    """The other policies on the target."""
    looked: set[str] = field(default_factory=set)
    """Images whose tags were looked at in this run."""

    @property
    def now(self) -> datetime:
        """When the run began."""
        return datetime.fromtimestamp(self.wall, UTC)

    @property
    def annotations(self) -> Mapping[str, str]:
        """The policy's annotations."""
        return self.policy["metadata"].get("annotations") or {}

    @property
    def generation(self) -> int:
        """The policy's generation."""
        generation: int = self.policy["metadata"]["generation"]
        return generation

    @property
    def is_requested(self) -> bool:
        """A person asks for a look now, by a request or a changed spec; each is looked for once."""
        if self.before.observed_generation is None:
            return False  # a new policy: all of its images have a first turn anyway
        marks = request_marks(self.policy)
        return is_requested(self.policy, self.before) and marks != self.track.looked_for

    @property
    def retry_at(self) -> str | None:
        """A retry request that was not handled yet as a whole."""
        mark = request_mark(self.annotations, RETRY_AT)
        return mark if mark != self.before.last_handled_retry_at else None

    def found(self, **found: Any) -> Findings:
        """What the run has come to know, to be told."""
        latest, troubles, complaints = {}, {}, {}
        for image in self.spec.images:
            answer = self.track.answers.get(image.name)
            if answer and answer.reference == str(image.reference):
                if answer.latest:
                    latest[image.name] = answer.latest
                if answer.trouble:
                    troubles[image.name] = answer.trouble
                if answer.complaint is not None:
                    complaints[image.name] = answer.complaint
            elif trouble := self.track.stored_trouble(image.name, self.before):
                troubles[image.name] = trouble
        return Findings(
            generation=self.generation,
            annotations=self.annotations,
            before=self.before,
            now=self.now,
            spec=self.spec,
            progress=self.track.progress,
            latest=latest,
            troubles=troubles,
            troubles_told=self.track.troubles_told,
            complaints=complaints,
            last_check=self.track.last_check,
            next_check=next_check(self.spec, self.track.looks, self.wall),
            **found,
        )
