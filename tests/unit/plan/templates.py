"""Targets with containers of a test's own, and the changes of their templates."""

from typing import Final

from imagerefresh.api.policy import ActionType, Image
from imagerefresh.plan.template import Stamp
from unit.plan.builders import D2, VARIABLE, Json, a_target, an_image, patched

WEB, INGESTOR, PROXY = (
    an_image(kind) for kind in (ActionType.RESTART, ActionType.SET_ENV, ActionType.SET_IMAGE)
)


STAMP: Final = Stamp(5, D2)


def with_containers(*containers: Json, init: Json = ()) -> dict[str, Json]:
    """A target with these containers."""
    target = a_target()
    target["spec"]["template"]["spec"] = {
        "containers": list(containers),
        "initContainers": list(init),
    }
    return target


def container(name: str, image: str = "busybox", pulls: str = "Always", **more: Json) -> Json:
    """A container as stored."""
    return {"name": name, "image": image, "imagePullPolicy": pulls, **more}


def restarting(*containers: str, assume_always_pulls: bool = False) -> Image:
    """The Restart image with details."""
    details = {"containers": list(containers), "assumeAlwaysPulls": assume_always_pulls}
    return an_image(ActionType.RESTART, action={"type": "Restart", "restart": details})


def setting(container_name: str) -> Image:
    """The SetEnv image, for a variable of another container."""
    details = {"container": container_name, "variable": VARIABLE}
    return an_image(ActionType.SET_ENV, action={"type": "SetEnv", "setEnv": details})


def wrapped(target: dict[str, Json], change: Json) -> dict[str, Json]:
    """The target after a change of its template."""
    return patched(target, {"spec": {"template": change}})


def image_of(target: dict[str, Json], name: str) -> str:
    """The image text of a container, init containers too."""
    spec = target["spec"]["template"]["spec"]
    every = [*spec["containers"], *spec.get("initContainers", [])]
    return str(next(each["image"] for each in every if each["name"] == name))
