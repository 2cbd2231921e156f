"""The policies of a soak and their targets: of all kinds, actions and numbers of images."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from imagerefresh.api.names import GROUP, record_annotation, stamp_annotation, state_annotation
from imagerefresh.plan.memory import parse_state
from proof.soak.history import Look, Mark, Stamp
from testbed.api import Manifest
from testbed.workloads import (
    container,
    environment,
    policy,
    restart,
    rolled_out,
    set_env,
    set_image,
    workload,
)

TAG: Final = "prod"
VARIABLE: Final = "DIGEST"
_ACTIONS: Final = ("Restart", "SetEnv", "SetImage")
_SHARED: Final = 7  # every so many policies have an image in common


@dataclass(frozen=True)
class Followed:
    """An image of a policy. The container has its name."""

    name: str
    action: str
    repository: str


@dataclass(frozen=True)
class Member:
    """A target and its policy, or several with an image each. The first policy has the target's
    name.
    """

    name: str
    kind: str
    images: tuple[Followed, ...]
    is_shared: bool
    """Each image has a policy of its own."""
    interval: int
    """Seconds."""
    replicas: int
    on_failure: str
    deadline: int
    """Seconds that a Deployment gives a rollout to make progress; by the policy the other kinds
    have half a minute.
    """

    @property
    def policy_names(self) -> list[str]:
        """The names of its policies."""
        others = self.images[1:] if self.is_shared else ()
        return [self.name, *(f"{self.name}-{each.name}" for each in others)]

    def policies(self, registry: str) -> list[Manifest]:
        """Its policies, to be created."""
        shares = [[each] for each in self.images] if self.is_shared else [self.images]
        return [
            policy(
                name,
                self.name,
                [self._image(each, registry) for each in share],
                kind=self.kind,
                interval=f"{self.interval}s",
                rollout={"timeout": "30s", "onFailure": self.on_failure},
            )
            for name, share in zip(self.policy_names, shares, strict=True)
        ]

    def target(self, registry: str) -> Manifest:
        """The target, to be created."""
        containers = [
            container(each.name, f"{registry}/{each.repository}:{TAG}") for each in self.images
        ]
        manifest = workload(
            self.name,
            containers,
            kind=self.kind,
            replicas=self.replicas,
            progress_deadline_seconds=self.deadline if self.kind == "Deployment" else None,
        )
        if self.kind == "StatefulSet":  # in order, a pod that can't run blocks its own replacement
            manifest["spec"]["podManagementPolicy"] = "Parallel"
        return manifest

    def look(self, at: float, target: Manifest) -> Look:
        """What the target says now."""
        return Look(at, rolled_out(target), {e.name: _mark(e, target) for e in self.images})

    def _image(self, image: Followed, registry: str) -> Manifest:
        place = (image.name, registry, image.repository, TAG)
        if image.action == "SetEnv":
            return set_env(*place, container=image.name, variable=VARIABLE)
        if image.action == "SetImage":
            return set_image(*place, container=image.name)
        return restart(*place)


def crowd(count: int, *, deadline: int = 20) -> list[Member]:
    """Members with so many policies in all, always the same."""
    members: list[Member] = []
    while count > 0:
        members.append(_member(len(members), deadline))
        count -= len(members[-1].policy_names)
    return members


def _member(number: int, deadline: int) -> Member:
    kind = {8: "StatefulSet", 9: "DaemonSet"}.get(number % 10, "Deployment")
    return Member(
        name=f"soak-{number}",
        kind=kind,
        images=tuple(_images(number)),
        is_shared=number % 8 == 4,
        interval=10 + number % 11,
        replicas=3 if number % 5 == 0 else 1,
        on_failure="Rollback" if number % 2 else "Hold",
        deadline=deadline,
    )


def _images(number: int) -> Iterator[Followed]:
    shared = "soak/shared" if number % _SHARED == 0 else f"soak/{number}-first"
    yield Followed("first", _ACTIONS[number % 3], shared)
    if number % 4 == 0:
        yield Followed("second", _ACTIONS[(number // 4) % 3], f"soak/{number}-second")


def _mark(image: Followed, target: Manifest) -> Mark:
    annotations = target["metadata"].get("annotations", {})
    template = target["spec"]["template"]
    state = parse_state(annotations.get(state_annotation(image.name)))
    return Mark(
        stamp=_stamp(template["metadata"].get("annotations", {}).get(stamp_annotation(image.name))),
        field=_field(image, target),
        record=annotations.get(record_annotation(GROUP, image.name)),
        failed=state.failed if state else None,
        is_adopted=bool(state and state.adopted),
    )


def _stamp(text: str | None) -> Stamp | None:
    serial, _, digest = (text or "").partition(" ")
    return Stamp(int(serial), digest) if digest else None


def _field(image: Followed, target: Manifest) -> str | None:
    if image.action == "SetEnv":
        return environment(target, image.name).get(VARIABLE, "")
    if image.action == "SetImage":
        containers: list[dict[str, Any]] = target["spec"]["template"]["spec"]["containers"]
        text: str = next(each["image"] for each in containers if each["name"] == image.name)
        return text.partition("@")[2]
    return None
