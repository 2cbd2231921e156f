"""The operator in the model: the real reconciler, run once on a world.

A run never waits for anything here, so it needs no event loop.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from typing_extensions import override

from imagerefresh.api.policy import Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status, parse_status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.connection import JsonObject
from imagerefresh.plan.due import latest_turn
from imagerefresh.plan.evidence import weigh
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.news import News
from imagerefresh.plan.summary import request_marks
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View
from imagerefresh.reconcile.looking import TagWatch
from imagerefresh.reconcile.reconciler import Reconciler
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.telling import Teller
from imagerefresh.reconcile.track import Answer, Track
from imagerefresh.reconcile.witness import Testimony, Witness
from proof.model.reading import Reader, timed_after, timed_before
from proof.model.rendering import (
    DIGEST_TEXTS,
    NOW,
    SEEN,
    Setting,
    known_progress,
    policy_json,
    target_json,
)
from proof.model.world import TROUBLE, World
from unit.plan.builders import patched

if TYPE_CHECKING:
    from imagerefresh.cluster.events import EventRecorder
    from imagerefresh.cluster.pods import Pods
    from imagerefresh.cluster.secrets import PullSecrets
    from imagerefresh.registry import RegistryClient
    from imagerefresh.telemetry.metrics import Metrics

UNREACHABLE = Trouble(Problem(Reason.RegistryUnavailable, "no connection"), is_transient=True)


class Ran(NamedTuple):
    """What a run came to."""

    patches: tuple[World, ...]
    """The world after each patch, if the operator is killed right then."""
    world: World
    told: Status
    """The status as people read it."""


class _Cluster(Cluster):
    """The API server's side of one run."""

    def __init__(self, policy: JsonObject, target: JsonObject) -> None:
        self.policy = policy
        self.target = target
        self.patches: list[JsonObject] = []

    @override
    async def get_policy(self, namespace: str, name: str) -> JsonObject:
        return self.policy

    @override
    async def get_target(self, namespace: str, kind: str, name: str) -> JsonObject:
        return self.target

    @override
    async def patch_target(
        self, namespace: str, kind: str, name: str, patch: JsonObject, resource_version: str
    ) -> JsonObject:
        assert resource_version == self.target["metadata"]["resourceVersion"]
        self.target = patched(self.target, patch)
        metadata = self.target["metadata"]
        metadata["generation"] += 1
        metadata["resourceVersion"] = str(int(resource_version) + 1)
        self.patches.append(self.target)
        return self.target

    @override
    async def patch_status(
        self, namespace: str, name: str, status: JsonObject, resource_version: str | None = None
    ) -> JsonObject:
        metadata = {**self.policy["metadata"], "resourceVersion": "2"}
        self.policy = {**self.policy, "metadata": metadata, "status": status}
        return self.policy


@dataclass(frozen=True, slots=True)
class _Tags(TagWatch):
    """The registry's side of one run."""

    answers: Mapping[str, str | None] = field(default_factory=dict)
    """By image; None if it can't be reached."""

    @override
    async def look(
        self,
        spec: Spec,
        wanted: Mapping[str, float],
        track: Track,
        before: Status,
        *,
        is_turn: bool,
    ) -> None:
        for image in spec.images:
            if image.name in wanted:
                digest = self.answers[image.name]
                track.answers[image.name] = _answer(str(image.reference), digest, SEEN + 1)


@dataclass(frozen=True, slots=True)
class _Witness(Witness):
    """The pods of one run, by image: what they run, or nothing if that can't be known."""

    running: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @override
    async def hear(self, run: Run, view: View, questions: Mapping[str, str]) -> Testimony:
        return {
            (name, digest): weigh(sorted(self.running[name]), {digest})
            for name, digest in questions.items()
        }


class _Quiet(Teller):
    """Writes status only: what else is told changes nothing."""

    @override
    def spread(self, policy: Mapping[str, Any], news: Iterable[News]) -> None:
        pass


def _answer(reference: str, digest: str | None, sent_at: float) -> Answer:
    return Answer(reference, sent_at, digest, None if digest else UNREACHABLE)


def run(setting: Setting, world: World, looks: Sequence[bool]) -> Ran:
    """Runs the reconciler once. `looks` tells of which images the turn has come."""
    policy = policy_json(setting, world)
    cluster = _Cluster(policy, target_json(setting, world))
    served = {
        name: DIGEST_TEXTS[share.tag] if world.is_up else None
        for name, share in zip(setting.names, world.shares, strict=True)
    }
    teller = _Quiet(cluster, cast("EventRecorder", None), cast("Metrics", None))
    reconciler = Reconciler(
        cluster,
        _Tags(cast("RegistryClient", None), served),
        teller,
        cast("PullSecrets", None),
        _Witness(cast("Pods", None), cast("RegistryClient", None), _pods(setting, world)),
        wall_clock=NOW.timestamp,
        monotonic=lambda: SEEN,
    )
    reconciler.neighbourhood.notice(policy, Track())
    if world.has_rival:
        reconciler.neighbourhood.notice(_rival(policy), Track())
    track = _track(setting, world, looks, policy)
    try:
        reconciler.run(policy, track).send(None)
    except StopIteration:
        pass
    else:
        raise AssertionError("a run waits for something that the model does not have")
    told = parse_status(cluster.policy["status"])
    killed = Reader(setting, timed_before(setting, world))
    ended = Reader(setting, timed_after(setting, world, track.progress, told, cluster.target))
    after = ended.target(cluster.target, world)
    if not cluster.patches:
        after = after._replace(is_observed=world.is_observed)
    return Ran(
        patches=tuple(forget(killed.target(each, world)) for each in cluster.patches),
        world=ended.process(track, cluster.target, ended.status(told, after)),
        told=told,
    )


def _pods(setting: Setting, world: World) -> Mapping[str, frozenset[str]]:
    """What the pods of the present template run."""
    return {
        name: frozenset(
            digest
            for number, digest in enumerate(DIGEST_TEXTS)
            if setting.sees_pods and share.past and share.past[-1].pods >> number & 1
        )
        for name, share in zip(setting.names, world.shares, strict=True)
    }


def _rival(policy: JsonObject) -> JsonObject:
    older = timestamp(NOW - timedelta(days=99))
    metadata = {**policy["metadata"], "name": "older", "uid": "p0", "creationTimestamp": older}
    return {**policy, "metadata": metadata}


def forget(world: World) -> World:
    """The world once the operator was killed and starts again."""
    shares = tuple(share._replace(answer=None) for share in world.shares)
    return world._replace(shares=shares, progress=None)


def _track(setting: Setting, world: World, looks: Sequence[bool], policy: JsonObject) -> Track:
    track = Track(looked_for=request_marks(policy), progress=known_progress(setting, world))
    spec = track.spec(policy)
    for image, share, is_due in zip(spec.images, world.shares, looks, strict=True):
        reference = str(image.reference)
        if share.answer is not None:
            digest = None if share.answer == TROUBLE else DIGEST_TEXTS[share.answer]
            track.answers[image.name] = _answer(reference, digest, SEEN - 1)
        if not is_due:
            track.looks.moments[image.name] = latest_turn(spec, reference, NOW.timestamp())
    return track
