"""What the process remembers of one policy between runs. All of it may be lost: a restart rebuilds
it from what is stored.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from imagerefresh.api.policy import Image, Spec, parse_spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ConditionType, Status, parse_status
from imagerefresh.api.timestamps import parse_timestamp
from imagerefresh.plan.due import Looks, is_settled, latest_turn
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.image_summary import TRANSIENT, TROUBLES
from imagerefresh.plan.news import News
from imagerefresh.plan.progress import Progress
from imagerefresh.plan.readiness import TROUBLE_TURNS
from imagerefresh.plan.steadiness import Steadiness
from imagerefresh.plan.summary import REFRESH_AGE
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import Mutation
from imagerefresh.reconcile.keys import Keys

FIRST_BACKOFF = 10.0
LONGEST_BACKOFF = 600.0
"""Seconds between tries of a write that the API server refuses (B29)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The last word of a registry on one image. `sent_at` is monotonic; latest is None if it can't
    be asked.
    """

    reference: str
    sent_at: float
    latest: str | None = None
    trouble: Trouble | None = None
    complaint: str | None = ""
    """What is wrong with the pull secrets; None if this answer does not tell."""


@dataclass(frozen=True, slots=True)
class QuietSpell:
    """While nothing happens to a policy: what its tags serve, and what is told of its pull secrets,
    by image name.

    `until` is the monotonic time from which a turn has to look at more than the tags.
    """

    spec: Spec
    digests: Mapping[str, str]
    until: float
    policy: Mapping[str, Any]
    """The object that the spell was found for; another one may ask for something."""
    complaints: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Track:
    """One policy, as this process has come to know it."""

    is_gone: bool = False
    """The policy was deleted: told by the watch, or found out where the watch missed it (B24)."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """By image name."""
    looks: Looks = field(default_factory=Looks)
    quiet: QuietSpell | None = None
    last_check: float | None = None
    looked_for: tuple[object, ...] | None = None
    """The requests that the tags were last looked at for."""
    news_told: set[News] = field(default_factory=set)
    """News that was told, but is not in status yet: a write that fails must not repeat it."""
    troubles_told: frozenset[str] = frozenset()
    """Images whose trouble at the registry is told already."""
    progress: Progress | None = None
    steadiness: dict[str, Steadiness] = field(default_factory=dict)
    """By image name."""
    mutations: dict[str, Mutation] = field(default_factory=dict)
    """Writes that admission changed, by image name."""
    target_seen: float | None = None
    """Monotonic time of the last look at the target."""
    keys: Keys | None = None
    """The pull secrets; none are known before the first run."""
    not_before: float = 0.0
    """Monotonic time before which the API server is left alone with writes of this policy."""
    refusals: int = 0
    refusal: Problem | None = None
    _written: tuple[int, Status] | None = None
    _written_version: str = ""
    _parsed_status: tuple[str, Status] | None = None
    _parsed_spec: tuple[tuple[str, int], Spec] | None = None

    def spec(self, policy: Mapping[str, Any]) -> Spec:
        """The policy's spec.

        Raises:
            InvalidSpec: it breaks a rule.
        """
        metadata = policy["metadata"]
        key = (metadata["uid"], metadata["generation"])
        if self._parsed_spec is None or self._parsed_spec[0] != key:
            self._parsed_spec = key, parse_spec(policy.get("spec") or {})
        return self._parsed_spec[1]

    def status(self, policy: Mapping[str, Any]) -> Status:
        """The newest status that is known: the watch may not have brought back yet what was just
        written.
        """
        version = policy["metadata"]["resourceVersion"]
        if self._written is not None:
            if _number(version) < self._written[0]:
                return self._written[1]
            self._written = None
        if self._parsed_status is None or self._parsed_status[0] != version:
            self._parsed_status = version, parse_status(policy.get("status"))
        return self._parsed_status[1]

    def version(self, policy: Mapping[str, Any]) -> str:
        """The newest resource version that is known of the policy."""
        version: str = policy["metadata"]["resourceVersion"]
        written = self._written[0] if self._written else 0
        return str(max(_number(version), written)) if written else version

    def is_own_write(self, policy: Mapping[str, Any]) -> bool:
        """Whether the policy is as our last status write left it."""
        version: str = policy["metadata"]["resourceVersion"]
        return version == self._written_version

    def has_written(self, policy: Mapping[str, Any], status: Status) -> None:
        """Remembers a status write by the API server's answer."""
        self._written_version = policy["metadata"]["resourceVersion"]
        self._written = _number(self._written_version), status

    def meet(self, spec: Spec, status: Status, now: float) -> None:
        """At the first sight of a policy: what was observed before a restart waits for its next
        turn (B6), or for a second look if the last one has failed or its turn was missed.
        """
        if self.looks.moments or not is_settled(status):
            return
        for image in spec.images:
            trouble = self.stored_trouble(image.name, status)
            has_failed = trouble is not None and trouble.is_transient
            is_missed = _is_missed(spec, image, status, now)
            self.looks.note(spec, image, now, has_failed=has_failed or is_missed)

    def has_looked(self, spec: Spec, names: Collection[str], now: float) -> None:
        """Remembers that images were looked at, and which of the looks have failed."""
        for image in spec.images:
            if image.name in names:
                trouble = self.answers[image.name].trouble
                has_failed = trouble is not None and trouble.is_transient
                self.looks.note(spec, image, now, has_failed=has_failed)

    def earlier_turns(self, name: str, status: Status) -> int:
        """How many turns in a row had failed for an image before this one."""
        answer = self.answers.get(name)
        trouble = answer.trouble if answer else self.stored_trouble(name, status)
        return trouble.turns if trouble else 0

    def stored_trouble(self, name: str, status: Status) -> Trouble | None:
        """The trouble that status tells of an image; a restart continues it until the next look."""
        entry = next((image for image in status.images if image.name == name), None)
        if entry is None or entry.reason not in TROUBLES:
            return None
        is_unavailable = any(
            each.type is ConditionType.READY and each.reason is Reason.RegistryUnavailable
            for each in status.conditions
        )
        return Trouble(
            Problem(entry.reason, entry.message or ""),
            is_transient=entry.reason in TRANSIENT,
            turns=TROUBLE_TURNS if is_unavailable else 0,
        )

    def back_off(self, now: float, refusal: Problem) -> None:
        """After a refused write: from 10 s to 10 min (B29)."""
        self.not_before = now + min(FIRST_BACKOFF * 2 ** min(self.refusals, 10), LONGEST_BACKOFF)
        self.refusals += 1
        self.refusal = refusal

    def recover(self) -> None:
        """The API server takes writes again."""
        self.refusals = 0
        self.refusal = None
        self.not_before = 0.0


def _is_missed(spec: Spec, image: Image, status: Status, now: float) -> bool:
    """Whether nobody was there at the last turn. Status tells of checks at most that late."""
    checked = parse_timestamp(status.last_check_time)
    turn = latest_turn(spec, str(image.reference), now)
    return checked is not None and checked.timestamp() < turn - REFRESH_AGE.total_seconds()


def _number(resource_version: str) -> int:
    """Resource versions of one resource are numbers that grow (Kubernetes API concepts, "resource
    versions").
    """
    return int(resource_version) if resource_version.isdecimal() else 0
