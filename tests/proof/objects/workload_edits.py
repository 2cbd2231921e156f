"""How a workload is changed in one place. Pure."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeAlias

from testbed.api import Manifest

Edit: TypeAlias = Callable[[Manifest], object]
"""Changes a manifest, or a part of one, in place."""
ALL_KINDS = ("Deployment", "StatefulSet", "DaemonSet")


@dataclass(frozen=True)
class WorkloadChange:
    """A change of workloads of the kinds named."""

    kind: str
    """Such as "replicas"; changes of one kind are counted together."""
    name: str
    edit: Edit
    of: tuple[str, ...] = ALL_KINDS

    def apply(self, workload: Manifest) -> Manifest:
        """A copy of the workload with the change made."""
        changed = deepcopy(workload)
        self.edit(changed)
        return changed


def put(where: str, value: object) -> Edit:
    """Sets a member of spec, such as "template.spec.priority"; None removes it."""

    def edit(workload: Manifest) -> None:
        *parents, last = where.split(".")
        place = workload["spec"]
        for part in parents:
            place = place.setdefault(part, {})
        _put(place, last, value)

    return edit


def annotate(key: str, text: str | None, *, pods: bool = False) -> Edit:
    """Sets an annotation of the workload, or of its pod template; None removes it."""

    def edit(workload: Manifest) -> None:
        metadata = (workload["spec"]["template"] if pods else workload)["metadata"]
        _put(metadata.setdefault("annotations", {}), key, text)

    return edit


def in_containers(edit: Callable[[list[Manifest]], object]) -> Edit:
    """Changes the list of containers."""
    return lambda workload: edit(workload["spec"]["template"]["spec"]["containers"])


def in_container(name: str, edit: Edit) -> Edit:
    """Changes one container."""
    return in_containers(lambda them: edit(named(them, name)))


def in_field(name: str, field: str, value: object) -> Edit:
    """Sets a field of one container; None removes it."""
    return in_container(name, lambda it: _put(it, field, value))


def named(containers: list[Manifest], name: str) -> Manifest:
    """The container of a name."""
    return next(each for each in containers if each["name"] == name)


def _put(place: Manifest, key: str, value: object) -> None:
    if value is None:
        place.pop(key, None)
    else:
        place[key] = value
