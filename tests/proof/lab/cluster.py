"""The API server and the registry that the operator talks to, and what its patches must obey."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import override

from imagerefresh.api.names import record_annotation, stamp_annotation, state_annotation
from imagerefresh.api.policy import ActionType, Image, Spec, parse_spec
from imagerefresh.api.status import Status
from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.connection import JsonObject
from imagerefresh.cluster.errors import Conflict, NotFound
from imagerefresh.plan.health import judge
from imagerefresh.plan.memory import parse_state
from imagerefresh.plan.news import News
from imagerefresh.plan.template import claim_of, read
from imagerefresh.reconcile.looking import TagWatch
from imagerefresh.reconcile.telling import Teller
from imagerefresh.reconcile.track import Answer, Track
from proof.lab.accounts import Accounts
from proof.lab.workload import Json, Workload
from proof.model.refresher import UNREACHABLE

if TYPE_CHECKING:
    from imagerefresh.cluster.events import EventRecorder
    from imagerefresh.telemetry.metrics import Metrics


class Killed(BaseException):
    """The operator is killed right after a write."""


@dataclass
class Shop(Cluster):
    """A namespace: policies, targets and tags, which rules watch over."""

    targets: dict[str, Workload] = field(default_factory=dict)
    policies: dict[str, Json] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    """The digest that each tag serves."""
    is_up: bool = True
    now: float = 0.0
    running: str = ""
    """The policy whose run it is."""
    writes_left: int | None = None
    """How many writes there are until the operator is killed."""
    accounts: Accounts = field(default_factory=Accounts)
    news: int = 0
    """Writes that said more than when tags were last looked at."""

    def spec(self, policy: str) -> Spec:
        """A policy's spec."""
        return parse_spec(self.policies[policy]["spec"])

    def target_of(self, policy: str) -> Workload:
        """The target of a policy."""
        return self.targets[self.policies[policy]["spec"]["targetRef"]["name"]]

    @override
    async def get_policy(self, namespace: str, name: str) -> JsonObject:
        if name not in self.policies:
            raise NotFound("gone")
        return cast("JsonObject", deepcopy(self.policies[name]))

    @override
    async def get_target(self, namespace: str, kind: str, name: str) -> JsonObject:
        return cast("JsonObject", deepcopy(self.targets[name].document))

    @override
    async def patch_target(
        self, namespace: str, kind: str, name: str, patch: JsonObject, resource_version: str
    ) -> JsonObject:
        target = self.targets[name]
        if target.metadata["resourceVersion"] != resource_version:
            raise Conflict("somebody else wrote first")
        before = deepcopy(target.document)
        target.apply(patch)
        check_patch(self, target, before)
        self.news += 1
        self._count()
        return cast("JsonObject", deepcopy(target.document))

    @override
    async def patch_status(
        self, namespace: str, name: str, status: JsonObject, resource_version: str | None = None
    ) -> JsonObject:
        policy = self.policies[name]
        self.news += _without_times(policy["status"]) != _without_times(status)
        policy["status"] = deepcopy(status)
        policy["metadata"]["resourceVersion"] = str(int(policy["metadata"]["resourceVersion"]) + 1)
        self._count()
        return cast("JsonObject", deepcopy(policy))

    def _count(self) -> None:
        if self.writes_left is not None:
            self.writes_left -= 1
            if self.writes_left <= 0:
                raise Killed


@dataclass(frozen=True, slots=True)
class Tags(TagWatch):
    """The registry."""

    shop: Shop = field(default_factory=Shop)

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
                digest = self.shop.tags[image.repository] if self.shop.is_up else None
                trouble = None if digest else UNREACHABLE
                reference = str(image.reference)
                track.answers[image.name] = Answer(reference, self.shop.now, digest, trouble)


class Silent(Teller):
    """Writes status, and tells nothing else."""

    def __init__(self, shop: Shop) -> None:
        super().__init__(shop, cast("EventRecorder", None), cast("Metrics", None))

    @override
    def spread(self, policy: Mapping[str, Any], news: Iterable[News]) -> None:
        pass


def _without_times(status: JsonObject | None) -> JsonObject:
    silent = ("lastCheckTime", "nextCheckTime")
    return {key: value for key, value in (status or {}).items() if key not in silent}


def older_claimants(shop: Shop, policy: str) -> list[str]:
    """The policies that are older, on the same target."""
    own = shop.policies[policy]["metadata"]["creationTimestamp"]
    return [
        name
        for name, other in shop.policies.items()
        if other["metadata"]["creationTimestamp"] < own
        and shop.target_of(name) is shop.target_of(policy)
    ]


def is_taken(shop: Shop, policy: str, image: Image) -> bool:
    """Whether an older policy has the image's name, or writes or restarts the same (B23)."""

    def claims(each: Image) -> set[str]:
        is_restart = each.action.type is ActionType.RESTART
        what = f"{claim_of(each)} {each.reference if is_restart else ''}"
        return {each.name, what}

    return any(
        claims(image) & claims(other)
        for older in older_claimants(shop, policy)
        for other in shop.spec(older).images
    )


def check_patch(shop: Shop, target: Workload, before: Json) -> None:
    """What must hold of each patch, whatever happened before."""
    spec, after = shop.spec(shop.running), target.document
    assert not spec.suspend, "a suspended policy leaves its target alone"
    assert not before["spec"].get("paused"), "a paused target is left alone"
    untouched = deepcopy(after)
    for image in spec.images:
        old, new = _part(spec, image, before), _part(spec, image, after)
        if image.pinned or is_taken(shop, shop.running, image):
            assert old == new, "what is pinned or another policy's is left alone"
        _check_record(shop, target, spec, image, before)
        _check_cause(shop, target, image, before)
        _put_part(image, untouched, before)
    for key in ("name", "image", "env"):
        assert _each(untouched, key) == _each(before, key), "only what is its own is written"


def _part(spec: Spec, image: Image, document: Json) -> tuple[object, ...]:
    annotations = document["metadata"]["annotations"]
    keys = state_annotation(image.name), record_annotation(spec.annotation_prefix, image.name)
    marks = document["spec"]["template"]["metadata"]["annotations"]
    carried = read(image, document)
    stamp = marks.get(stamp_annotation(image.name))
    return (*(annotations.get(key) for key in keys), stamp, carried)


def _check_record(shop: Shop, target: Workload, spec: Spec, image: Image, before: Json) -> None:
    """Recorded is only what was healthy while asked."""
    key = record_annotation(spec.annotation_prefix, image.name)
    record = target.metadata["annotations"].get(key)
    entries = (shop.policies[shop.running].get("status") or {}).get("images", [])
    known = {each.get("recorded") for each in entries if each["name"] == image.name}
    if record in (None, before["metadata"]["annotations"].get(key), *known):
        return
    state = parse_state(target.metadata["annotations"].get(state_annotation(image.name)))
    assert state is not None
    assert state.asked == record, "recorded is only what was asked"
    # Annotations that the same run has written before are no reason to doubt what it saw.
    observed = {**before["metadata"], "generation": before["status"].get("observedGeneration")}
    assert judge({**before, "metadata": observed}).is_healthy, "recorded is only what is healthy"
    container = image.repository
    if image.action.type is not ActionType.RESTART:
        assert read(image, before).digest == record, "recorded is only what the field holds"
    elif not state.adopted and container not in target.flickered:
        assert target.pods.get(container) == {record}, "recorded is only what all pods run"


def _check_cause(shop: Shop, target: Workload, image: Image, before: Json) -> None:
    """A stamp is written with each rollout of an image (B13)."""
    key = stamp_annotation(image.name)
    marks = before["spec"]["template"]["metadata"]["annotations"]
    if target.template["metadata"]["annotations"].get(key) == marks.get(key):
        return
    shop.accounts.use_up(shop.running, image.name)
    annotations = target.metadata["annotations"]
    state = parse_state(annotations.get(state_annotation(image.name)))
    assert state is not None
    prefix = shop.spec(shop.running).annotation_prefix
    if state.asked != annotations.get(record_annotation(prefix, image.name)):
        shop.accounts.ask(shop.running, target.name)


def _put_part(image: Image, document: Json, before: Json) -> None:
    """Puts an image's container back, so that what is left to differ is not the image's."""
    places = document["spec"]["template"]["spec"]["containers"]
    for place, old in enumerate(before["spec"]["template"]["spec"]["containers"]):
        if old["name"] == image.repository:
            places[place] = old


def _each(document: Json, key: str) -> list[Json]:
    return [each.get(key) for each in document["spec"]["template"]["spec"]["containers"]]
