"""A world as the operator gets to see it: the policy and its target in JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

from imagerefresh.api.names import (
    GROUP,
    RETRY_AT,
    pin_annotation,
    record_annotation,
    stamp_annotation,
    state_annotation,
)
from imagerefresh.api.policy import ActionType, Image, OnFailure, parse_spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageStatus, RolloutProgress, Status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.health import DEADLINE_REASON, Counts
from imagerefresh.plan.memory import Memory, state_text
from imagerefresh.plan.progress import NO_ASKS, identify_asks, identify_rollout
from imagerefresh.plan.progress import Progress as KnownProgress
from imagerefresh.plan.template import Pin, Stamp, claim_of
from proof.model.world import DIGESTS, Entry, Part, Phase, Progress, State, World

Json = Any
"""Any JSON value."""
NOW: Final = datetime(2026, 2, 3, 12, tzinfo=UTC)
SEEN: Final = 1_000_000.0
"""Now, on the monotonic clock."""
HOUR: Final = 3600.0
"""In seconds."""
LONGEST_AGE: Final = 4
"""Hours that are told apart."""
UID: Final = "t1"
DIGEST_TEXTS: Final = tuple(f"sha256:{digit * 64}" for digit in "123")
NUMBERS: Final = {digest: number for number, digest in enumerate(DIGEST_TEXTS)}
RETRY: Final = "now"
TIMED: Final = timestamp(NOW - timedelta(hours=48))
UNTIMED: Final = timestamp(NOW - timedelta(hours=49))
DEADLINE: Final = timestamp(NOW - timedelta(minutes=1))
_HOST: Final = "registry.example.com"
VARIABLE: Final = "DIGEST"
OTHER: Final = "kubectl.kubernetes.io/restartedAt"
FOREIGN: Final = "v1"
GARBLED: Final = '{"serial":'
"""It counts as missing."""
_STATUS: Final[Mapping[Phase, Json]] = {
    Phase.PROGRESSING: {"replicas": 2, "updatedReplicas": 1, "readyReplicas": 1},
    Phase.LATE: {
        "replicas": 2,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "conditions": [
            {"type": "Progressing", "reason": DEADLINE_REASON, "lastUpdateTime": DEADLINE}
        ],
    },
    Phase.UNAVAILABLE: {"replicas": 1, "updatedReplicas": 1},
    Phase.HEALTHY: {
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
    },
}


@dataclass(frozen=True)
class Setting:
    """What does not change in one search: the images' actions, and what is done about failures."""

    actions: tuple[ActionType, ...]
    on_failure: OnFailure = OnFailure.HOLD
    sees_pods: bool = False
    """The operator may list pods."""
    revisions: int = 1
    """ReplicaSets that are kept: with one, nobody can undo a rollout."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the images."""
        return tuple("abcde"[: len(self.actions)])

    @cached_property
    def images(self) -> tuple[Image, ...]:
        """As no person has pinned them."""
        return tuple(parse_spec(self.spec_json((False,) * len(self.actions))).images)

    @cached_property
    def restarts(self) -> tuple[bool, ...]:
        """Which images are restarted."""
        return tuple(action is ActionType.RESTART for action in self.actions)

    def spec_json(self, pinned: Iterable[bool], *, is_suspended: bool = False) -> Json:
        """The policy's spec."""
        return {
            "targetRef": {"kind": "Deployment", "name": "web"},
            "suspend": is_suspended,
            "rollout": {"onFailure": self.on_failure},
            "images": [
                {
                    "name": name,
                    "registry": _HOST,
                    "repository": name,
                    "tag": "prod",
                    "pinned": is_pinned,
                    "action": _action(kind, name),
                }
                for name, kind, is_pinned in zip(self.names, self.actions, pinned, strict=True)
            ],
        }


def _action(kind: ActionType, name: str) -> Json:
    match kind:
        case ActionType.RESTART:
            return {"type": kind}
        case ActionType.SET_ENV:
            return {"type": kind, "setEnv": {"container": name, "variable": VARIABLE}}
        case ActionType.SET_IMAGE:
            return {"type": kind, "setImage": {"container": name}}


def policy_json(setting: Setting, world: World) -> Json:
    """The policy as the API server returns it."""
    pinned = [share.is_pinned for share in world.shares]
    return {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "p1",
            "generation": 1,
            "resourceVersion": "1",
            "creationTimestamp": timestamp(NOW - timedelta(days=9)),
            "annotations": {RETRY_AT: RETRY} if world.has_retry else {},
        },
        "spec": setting.spec_json(pinned, is_suspended=world.is_suspended),
        "status": _status(setting, world).to_json(),
    }


def _status(setting: Setting, world: World) -> Status:
    return Status(
        observed_generation=1,
        images=[
            _entry_status(image, share.entry)
            for image, share in zip(setting.images, world.shares, strict=True)
            if share.entry is not None
        ],
        target_uid=UID if world.is_met else "an earlier one",
        rollout=_rollout_status(mark_of(setting, world), world.stored),
    )


def _entry_status(image: Image, entry: Entry) -> ImageStatus:
    memory = _memory(image, entry.state, entry.recorded)
    return ImageStatus(
        name=image.name,
        reference=memory.reference,
        claim=memory.claim,
        reason=Reason.Contested if entry.is_contested else None,
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


def _rollout_status(mark: str, progress: Progress | None) -> RolloutProgress | None:
    if progress is None or progress.best is None:
        return None
    updated, ready, available, old = progress.best
    return RolloutProgress(
        asks=mark,
        updated=updated,
        ready=ready,
        available=available,
        old=old,
        last_progress_time=_ago(progress.age + progress.elapsed),
    )


def known_progress(setting: Setting, world: World) -> KnownProgress | None:
    """The progress as the operator's process has it."""
    progress = world.progress
    if progress is None:
        return None
    age = progress.age + progress.elapsed
    return KnownProgress(
        asks=mark_of(setting, world),
        best=Counts(*progress.best) if progress.best else None,
        since=SEEN - HOUR * age,
        seen=SEEN - HOUR * progress.elapsed,
        since_time=NOW - timedelta(hours=age),
        is_running=progress.is_running,
        was_healthy=progress.was_healthy,
    )


def mark_of(setting: Setting, world: World) -> str:
    """The mark of the rollout whose progress is counted."""
    template = {} if world.has_other_template else template_json(setting, world)
    return identify_rollout(asks_of(world), template)


def asks_of(world: World) -> str:
    """The part of it that the asks make up."""
    memories = (
        Memory(asked=_digest(share.timed), asked_time=None if share.is_time_lost else TIMED)
        for share in world.shares
        if share.timed is not None
    )
    return identify_asks(memories) or NO_ASKS


def target_json(setting: Setting, world: World) -> Json:
    """The target as the API server returns it."""
    annotations: dict[str, str] = {}
    for image, share in zip(setting.images, world.shares, strict=True):
        state, record = share.note
        if state is not None:
            annotations[state_annotation(image.name)] = state_text(_memory(image, state, None))
        elif record is not None:
            annotations[state_annotation(image.name)] = GARBLED
        if record is not None:
            annotations[record_annotation(GROUP, image.name)] = DIGEST_TEXTS[record]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": UID,
            "generation": 2,
            "resourceVersion": "1",
            "annotations": annotations,
        },
        "spec": {
            "replicas": 1,
            "paused": world.is_paused,
            "template": template_json(setting, world),
        },
        "status": {
            "observedGeneration": 2 if world.is_observed else 1,
            **_STATUS[world.phase],
        },
    }


def template_json(setting: Setting, world: World) -> Json:
    """The pod template of the target."""
    annotations: dict[str, str] = {OTHER: str(world.restarts)}
    containers = []
    for image, share in zip(setting.images, world.shares, strict=True):
        part = share.part
        if part.stamp is not None:
            serial, digest = part.stamp
            annotations[stamp_annotation(image.name)] = str(Stamp(serial, DIGEST_TEXTS[digest]))
        if part.pin is not None:
            pin = Pin(DIGEST_TEXTS[part.pin], {image.name: str(image.reference)})
            annotations[pin_annotation(image.name)] = str(pin)
        containers.append(_container(image, part))
    return {"metadata": {"annotations": annotations}, "spec": {"containers": containers}}


def _container(image: Image, part: Part) -> Json:
    text = str(image.reference)
    digest = None if part.field is None else DIGEST_TEXTS[part.field]
    if image.action.type is ActionType.SET_ENV:
        value = FOREIGN if part.is_foreign else digest or ""
        env = [{"name": VARIABLE, "value": value}]
        return {"name": image.name, "image": "registry.example.com/api:1", "env": env}
    if part.is_foreign:
        return {"name": image.name, "image": "registry.example.com/other:1"}
    return {
        "name": image.name,
        "image": f"{text}@{digest}" if digest else text,
        "imagePullPolicy": "Always",
    }


def _memory(image: Image, state: State, recorded: int | None) -> Memory:
    return Memory(
        reference=str(image.reference),
        claim=claim_of(image),
        serial=state.serial,
        asked=_digest(state.asked),
        asked_time=TIMED if state.is_timed else UNTIMED,
        adopted=state.adopted,
        failed=_digest(state.failed),
        handled_retry_at=RETRY if state.has_handled_retry else None,
        set_back_times=tuple(_ago(age) for age in state.set_back_ages),
        deadline_seen=DEADLINE if state.has_seen_deadline else None,
        recorded=_digest(recorded),
    )


def _digest(number: int | None) -> str | None:
    return None if number is None else DIGEST_TEXTS[number]


def _ago(hours: int) -> str:
    return timestamp(NOW - timedelta(hours=hours))


assert len(DIGEST_TEXTS) == DIGESTS
