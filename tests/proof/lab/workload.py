"""A Deployment with its controller, ReplicaSets and pods."""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from imagerefresh.plan.health import DEADLINE_REASON
from proof.model.rendering import VARIABLE
from unit.plan.builders import patched

Json = Any
CONTAINERS: Final = tuple("abcde")
HOST: Final = "registry.example.com"


def image_text(container: str) -> str:
    """The floating image of a container."""
    return f"{HOST}/{container}:prod"


@dataclass
class Revision:
    """A ReplicaSet, and by container what its pods pulled."""

    template: Json
    annotations: dict[str, str]
    pods: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class Workload:
    """One target. `deadlines` counts those that rollouts exceeded, to tell their times apart."""

    name: str
    document: Json = field(init=False)
    revisions: list[Revision] = field(default_factory=list)
    flickered: set[str] = field(default_factory=set)
    """Containers whose tag went away and came back since their pods pulled."""
    deadlines: int = 0

    def __post_init__(self) -> None:
        containers = [
            {
                "name": name,
                "image": image_text(name),
                "imagePullPolicy": "Always",
                "env": [{"name": VARIABLE, "value": ""}],
            }
            for name in CONTAINERS
        ]
        self.document = {
            "kind": "Deployment",
            "metadata": {
                "name": self.name,
                "namespace": "shop",
                "uid": f"uid-{self.name}",
                "generation": 1,
                "resourceVersion": "1",
                "annotations": {},
            },
            "spec": {
                "replicas": 1,
                "selector": {},
                "template": {"metadata": {"annotations": {}}, "spec": {"containers": containers}},
            },
            "status": {},
        }

    @property
    def metadata(self) -> Json:
        """The target's own."""
        return self.document["metadata"]

    @property
    def template(self) -> Json:
        """The pod template."""
        return self.document["spec"]["template"]

    @property
    def is_observed(self) -> bool:
        """Whether the controller has seen the latest change."""
        return bool(
            self.document["status"].get("observedGeneration") == self.metadata["generation"]
        )

    @property
    def pods(self) -> dict[str, set[str]]:
        """What the pods of the observed template pulled, by container."""
        return self.revisions[-1].pods

    def container(self, name: str) -> Json:
        """A container of the template."""
        return next(each for each in self.template["spec"]["containers"] if each["name"] == name)

    def apply(self, patch: Json) -> None:
        """Somebody's patch."""
        self.document = patched(self.document, patch)
        self.touch()

    def touch(self) -> None:
        """After a change of spec or annotations."""
        self.metadata["generation"] += 1
        self.metadata["resourceVersion"] = str(int(self.metadata["resourceVersion"]) + 1)

    def observe(self) -> None:
        """The controller sees the latest change."""
        self.document["status"]["observedGeneration"] = self.metadata["generation"]
        annotations = dict(self.metadata["annotations"])
        if self.revisions and self.revisions[-1].template == self.template:
            self.revisions[-1].annotations |= annotations
            return
        same = [each for each in self.revisions if each.template == self.template]
        self.revisions = [each for each in self.revisions if each not in same]
        revision = same[0] if same else Revision(deepcopy(self.template), annotations)
        revision.annotations |= annotations
        self.revisions.append(revision)
        self.flickered.clear()
        self._show(replicas=2, updatedReplicas=1, readyReplicas=1)

    def pull(self, tags: dict[str, str]) -> None:
        """New pods pull what floats."""
        for name in CONTAINERS:
            _, _, digest = self.container(name)["image"].partition("@")
            self.pods.setdefault(name, set()).add(digest or tags[name])

    def finish(self) -> None:
        """The rollout ends well."""
        for revision in self.revisions[:-1]:
            revision.pods = {}
        self._show(replicas=1, updatedReplicas=1, readyReplicas=1, availableReplicas=1)

    def exceed_deadline(self) -> None:
        """The rollout does not."""
        self.deadlines += 1
        condition = {
            "type": "Progressing",
            "reason": DEADLINE_REASON,
            "lastUpdateTime": f"2026-01-01T00:{self.deadlines // 60:02}:{self.deadlines % 60:02}Z",
        }
        self._show(replicas=2, updatedReplicas=1, readyReplicas=1, conditions=[condition])

    def lose_pods(self) -> None:
        """The pods fail, and with them what they had pulled."""
        self._show(replicas=1, updatedReplicas=1)

    def undo(self) -> None:
        """`kubectl rollout undo` restores the annotations, too."""
        before = self.revisions[-2]
        self.document["spec"]["template"] = deepcopy(before.template)
        self.metadata["annotations"] = dict(before.annotations)
        self.touch()

    def _show(self, **status: Json) -> None:
        observed = self.document["status"]["observedGeneration"]
        self.document["status"] = {"observedGeneration": observed, **status}
        self.metadata["resourceVersion"] = str(int(self.metadata["resourceVersion"]) + 1)
