"""The stage of one case: a Deployment and a policy of one name, and the tags that they follow.

All stages share the images' digests, so what is left at the end can be compared.
"""

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from cluster.story import entry, ready, rollouts, state
from imagerefresh.api.names import GROUP, REQUESTED_AT
from proof.faults.images import SIDE, WEB, Images, repository
from testbed.api import Manifest, path
from testbed.namespace import Namespace
from testbed.waiting import wait_until
from testbed.workloads import RESOURCES, container, environment, policy, restart, set_env, workload

T = TypeVar("T")

VARIABLE = "DIGEST"
PATIENCE = 120.0  # seconds for anything, the back-off of a write that is refused twice included
_PAUSE = 0.2  # a dozen stages wait at once
_RARELY = "720h"
_requests = itertools.count(1)
# Moments and serials differ from run to run, and say nothing of where things ended.
_FLEETING = {"serial", "askedTime", "lastRefreshTime", "deadlineSeen"}

_WHY = re.compile(r"did not become healthy \([^)]*\)")


@dataclass(frozen=True)
class Stage:
    """`name` is that of the Deployment, of the policy, and of the tags."""

    namespace: Namespace
    images: Images
    name: str

    def move(self, label: str, image: str = WEB) -> None:
        """Let the image's tag serve the digest of that label."""
        digest = self.images.digests[image][label]
        self.images.registry.retag(repository(image), self.name, digest)

    def create_target(
        self,
        *others: str,
        deadline: int | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """A Deployment with a container for image WEB, and one for each other image."""
        address = self.images.registry.address
        containers = [
            container(image, f"{address}/{repository(image)}:{self.name}", env={VARIABLE: ""})
            for image in (WEB, *others)
        ]
        self.namespace.create(
            workload(
                self.name,
                containers,
                progress_deadline_seconds=deadline,
                annotations=annotations,
            )
        )

    def create_policy(self, *images: Manifest, **spec: object) -> None:
        """A policy that runs only when it is asked to."""
        manifest = policy(self.name, self.name, images)
        manifest["spec"] |= {"interval": _RARELY, **spec}
        self.namespace.create(manifest)

    def restart(self, image: str = WEB) -> Manifest:
        return restart(image, self.images.registry.address, repository(image), self.name)

    def set_env(self, image: str = WEB) -> Manifest:
        return set_env(
            image,
            self.images.registry.address,
            repository(image),
            self.name,
            container=image,
            variable=VARIABLE,
        )

    def request(self) -> str:
        """Ask for a run, and don't wait for it; returns what status says once it is handled."""
        value = f"proof-{next(_requests)}"
        self.namespace.annotate("ImageRefreshPolicy", self.name, **{REQUESTED_AT: value})
        return value

    def check(self) -> None:
        """Ask for a run, and wait for its end."""
        value = self.request()
        self.wait_for(
            lambda: (
                self.namespace.policy(self.name)["status"].get("lastHandledRequestedAt") == value
            ),
            "the request is handled",
        )

    def rest(self, reason: str) -> None:
        """Wait until the event of that reason is written, the last one, and all else is, too."""
        api, resource = self.namespace.control_plane.api, RESOURCES["Event"]
        selector = f"regarding.name={self.name},reason={reason}"
        query = "?" + urlencode({"fieldSelector": selector})
        self.wait_for(
            lambda: bool(api.request("GET", path(resource, self.namespace.name) + query)["items"]),
            f"the event {reason} is there",
        )
        self.check()

    def wait_asked(self, label: str, image: str = WEB) -> None:
        digest = self.images.digests[image][label]
        self.wait_for(
            lambda: state(self.namespace.deployment(self.name), image).get("asked") == digest,
            f"{label} of {image} is asked",
        )

    def wait_told(self, label: str, image: str = WEB) -> None:
        """Wait until status, too, has heard of the ask."""
        digest = self.images.digests[image][label]
        self.wait_for(
            lambda: entry(self.namespace.policy(self.name), image).get("asked") == digest,
            f"{label} of {image} is told",
        )

    def wait_carried(self, label: str) -> None:
        """Wait until the variable of WEB's container has the digest."""
        digest = self.images.digests[WEB][label]
        self.wait_for(
            lambda: environment(self.namespace.deployment(self.name), WEB)[VARIABLE] == digest,
            f"{label} is carried",
        )

    def wait_recorded(self, label: str, image: str = WEB) -> None:
        """Wait until status says that it is proven, and the policy that it is Ready."""
        digest = self.images.digests[image][label]

        def is_recorded() -> bool:
            found = self.namespace.policy(self.name)
            is_ready = ready(found) == ("True", "UpToDate")
            return is_ready and entry(found, image).get("recorded") == digest

        self.wait_for(is_recorded, f"{label} of {image} is recorded")

    def wait_held(self, label: str, image: str = WEB) -> None:
        digest = self.images.digests[image][label]

        def is_held() -> bool:
            found = entry(self.namespace.policy(self.name), image)
            return (found.get("state"), found.get("failed")) == ("Held", digest)

        self.wait_for(is_held, f"{label} of {image} is held")

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        try:
            wait_until(condition, timeout=PATIENCE, pause=_PAUSE)
        except TimeoutError:
            status = self.readable(self.namespace.policy(self.name).get("status", {}))
            raise AssertionError(f"not so in {PATIENCE:g} s: {what}; status {status}") from None

    def revision(self) -> int:
        """How many rollouts there were."""
        annotations = self.namespace.deployment(self.name)["metadata"]["annotations"]
        return int(annotations["deployment.kubernetes.io/revision"])

    def serial(self) -> int:
        """Of the state of image WEB on the target."""
        found: int = state(self.namespace.deployment(self.name), WEB).get("serial", 0)
        return found

    def snapshot(self) -> Manifest:
        """Where things stand, in words that all stages share: without moments and serials, and
        without what a process that is killed can't hand on, why a rollout has failed.
        """
        target = self.namespace.deployment(self.name)
        template = target["spec"]["template"]
        status = self.namespace.policy(self.name).get("status", {})
        annotations = target["metadata"].get("annotations", {})
        found: Manifest = {
            "remembered": {image: _lasting(state(target, image)) for image in (WEB, SIDE)},
            "recorded": {
                key: value for key, value in annotations.items() if "/last-refreshed-" in key
            },
            "template": {
                **{key: text.split(" ")[-1] for key, text in _ours(template).items()},
                **{
                    each["name"]: [each["image"], each["env"][0].get("value")]
                    for each in template["spec"]["containers"]
                },
            },
            "conditions": [
                {key: _lasting(each)[key] for key in ("type", "status", "reason", "message")}
                for each in status.get("conditions", [])
            ],
            "images": [_lasting(each) for each in status.get("images", [])],
            "replica sets": rollouts(self.namespace, self.name),
            "revision": annotations.get("deployment.kubernetes.io/revision"),
        }
        readable: Manifest = self.readable(found)
        return readable

    def readable(self, found: T) -> T:
        """The same with labels for digests, and without this stage's name."""
        text = json.dumps(found)
        for digest, label in self.images.labels():
            text = text.replace(digest, label)
        changed: T = json.loads(text.replace(f":{self.name}", ":TAG"))
        return changed

    def strike(self) -> None:
        """Delete it all, without waiting for the end."""
        for kind in ("ImageRefreshPolicy", "Deployment"):
            if self.namespace.find(kind, self.name):
                self.namespace.delete(kind, self.name)


def _lasting(found: Manifest) -> Manifest:
    kept = {key: value for key, value in found.items() if key not in _FLEETING}
    if "setBackTimes" in kept:
        kept["setBackTimes"] = len(kept["setBackTimes"])
    if "message" in kept:
        kept["message"] = _WHY.sub("did not become healthy", kept["message"])
    return kept


def _ours(template: Manifest) -> dict[str, str]:
    annotations: dict[str, str] = template["metadata"].get("annotations", {})
    return {key: value for key, value in annotations.items() if key.startswith(f"{GROUP}/")}
