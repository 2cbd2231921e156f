"""A live policy and its target, with an image of each action, to be changed and looked at."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any, Final

from imagerefresh.api.names import GROUP, REQUESTED_AT, RETRY_AT
from proof.objects.verdict import Outcome, Settled, judge
from testbed.api import ApiError, Manifest, path
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import (
    RESOURCES,
    container,
    is_observed,
    policy,
    restart,
    set_env,
    set_image,
    workload,
)

PATIENCE: Final = 60.0
"""Seconds until a policy must have settled; a rollout takes one to three."""
POLICY: Final = "ImageRefreshPolicy"
TAG: Final = "prod"
IMAGES: Final = ("app", "env", "tool")
"""Names of the images, and of the containers that they go to: one of each action."""
VARIABLE: Final = "DIGEST"
MOVES: Final = 4
"""Every so many restorations an image moves on the way: a rollout takes its time."""
_REFUSALS: Final = (400, 422)
_requests = itertools.count(1)


class Subject:
    """A policy and its target, both of one name."""

    def __init__(self, namespace: Namespace, registry: Registry, name: str, kind: str) -> None:
        """Make them, and wait until all three images are recorded."""
        self.namespace, self.registry, self.name, self.kind = namespace, registry, name, kind
        for image in IMAGES:
            self.move(image)
        namespace.create(self._new_target())
        namespace.create(new_policy(self.name, self.kind, self.registry.address))
        self._expect_convergence()
        self._good_policy, self._good_target = self.policy(), self.target()

    def policy(self) -> Manifest:
        """The policy as it is."""
        return self.namespace.get(POLICY, self.name)

    def target(self) -> Manifest:
        """The target as it is."""
        return self.namespace.get(self.kind, self.name)

    def move(self, image: str) -> str:
        """Publish something new under the tag of an image, and return its digest."""
        repository = f"{self.name}/{image}"
        return self.registry.publish(repository, TAG, platforms=("linux/amd64",), attestation=False)

    def endure(self, change: Callable[["Subject"], None]) -> Settled:
        """Make a change and see how it settles, unless it is refused; then make all good again.

        Raises:
            AssertionError: it did not settle, or what the policy then says is not true.
        """
        before = self._wanted()
        try:
            change(self)
        except ApiError as refusal:
            if refusal.code not in _REFUSALS:
                raise
            message = str(refusal).partition(": ")[2]
        else:
            settled = self.settle()
            self.restore()
            return settled
        assert message, "refused without a word"
        assert self._wanted() == before, "refused, but something has changed"
        return Settled(Outcome.REFUSED, "", message)

    def settle(self) -> Settled:
        """Wait until the policy has answered the last request and come to rest."""

        def settled() -> Settled | None:
            if (found := self.namespace.find(POLICY, self.name)) is None:
                return Settled(Outcome.TOLD, "Deleted", "the policy is gone")
            return judge(found, self.namespace.find(self.kind, self.name), self.registry.head)

        def describe() -> str:
            found = self.policy()
            return f"{self.name} settles, with {found.get('spec')}: {found.get('status')}"

        found = eventually(settled, timeout=PATIENCE, describe=describe)
        assert found is not None
        return found

    def restore(self) -> None:
        """Make all as it was, and see the policy converge; now and then with a move of an image."""
        self._restore_target()
        if (number := next(_requests)) % MOVES == 0:
            self.move(IMAGES[number // MOVES % len(IMAGES)])
        if self.namespace.find(POLICY, self.name) is None:
            self.namespace.create(new_policy(self.name, self.kind, self.registry.address))
        else:
            spec = {"op": "add", "path": "/spec", "value": self._good_policy["spec"]}
            annotations = {
                "op": "add",
                "path": "/metadata/annotations",
                "value": {REQUESTED_AT: mark(), RETRY_AT: mark()},
            }
            self.namespace.patch(POLICY, self.name, [spec, annotations], how="json")
        self._expect_convergence()
        self._good_target = self.target()

    # Changes.

    def request(self, **more: str | None) -> None:
        """Ask for a run, perhaps by a value of one's own."""
        self.namespace.annotate(POLICY, self.name, **({REQUESTED_AT: mark()} | more))

    def change_spec(self, changed: Mapping[str, Any]) -> None:
        """Make the policy's spec that of a changed copy, and ask for a run."""
        where = f"/metadata/annotations/{REQUESTED_AT.replace('/', '~1')}"
        asked = {"op": "add", "path": where, "value": mark()}
        self.namespace.patch(POLICY, self.name, [_put("spec", changed), asked], how="json")

    def change_status(self, changed: Mapping[str, Any]) -> None:
        """Make the policy's status that of a changed copy, and ask for a run."""
        patch = [_put("status", changed)]
        self.namespace.patch(POLICY, self.name, patch, how="json", subresource="status")
        self.request()

    def change_target(self, changed: Manifest) -> None:
        """Replace the target by a changed copy, and ask for a run."""
        self._replace_target(changed)
        self.request()

    def create_target(self) -> None:
        """As it was made at first, and ask for a run."""
        self.namespace.create(self._new_target())
        self.request()

    def delete_target(self) -> None:
        """Delete it, and wait until it is gone."""
        self.namespace.delete(self.kind, self.name)
        self._let_go()

    def create_policy(self) -> None:
        """As it was made at first."""
        self.namespace.create(new_policy(self.name, self.kind, self.registry.address))

    def _replace_target(self, changed: Manifest) -> None:
        changed = deepcopy(changed)
        for key in ("resourceVersion", "managedFields", "uid"):
            changed["metadata"].pop(key, None)
        where = path(RESOURCES[self.kind], self.namespace.name, self.name)
        self.namespace.control_plane.api.request("PUT", where, changed)
        # Else the operator would meet a target that nobody has seen yet, and come again later.
        eventually(self._is_observed, describe="the controller has seen the change")

    def _let_go(self) -> None:
        """Wait for the end of a deletion, and let no finalizer hold it up."""
        with suppress(ApiError):  # it may be gone
            self.namespace.patch(self.kind, self.name, {"metadata": {"finalizers": None}})
        eventually(lambda: self.namespace.find(self.kind, self.name) is None, describe="it is gone")

    def _is_observed(self) -> bool:
        found = self.target()
        return is_observed(found) or "deletionTimestamp" in found["metadata"]

    def _wanted(self) -> object:
        target = self.namespace.find(self.kind, self.name)
        return _wanted_of(self.policy()), _wanted_of(target)

    def _expect_convergence(self) -> None:
        settled = self.settle()
        found = f"{settled.reason}: {settled.message}"
        assert settled.outcome is Outcome.CONVERGED, f"{self.name} is not as it was: {found}"

    def _restore_target(self) -> None:
        present = self.namespace.find(self.kind, self.name)
        if present and "deletionTimestamp" in present["metadata"]:
            self._let_go()
            present = None
        if present is None:
            self.namespace.create(self._new_target())
        elif _wanted_of(present) != _wanted_of(self._good_target):
            self._replace_target(self._good_target)

    def _new_target(self) -> Manifest:
        images = {name: f"{self.registry.address}/{self.name}/{name}:{TAG}" for name in IMAGES}
        containers = [container(name, image) for name, image in images.items()]
        deadline = 30 if self.kind == "Deployment" else None
        return workload(self.name, containers, kind=self.kind, progress_deadline_seconds=deadline)


def new_policy(name: str, kind: str, registry: str) -> Manifest:
    """A policy with an image of each action, and every field but schedule and timeZone."""
    images = [
        restart("app", registry, f"{name}/app", TAG, pinned=False),
        set_env("env", registry, f"{name}/env", TAG, container="env", variable=VARIABLE),
        set_image("tool", registry, f"{name}/tool", TAG, container="tool"),
    ]
    details: Manifest = {"assumeAlwaysPulls": False}
    if kind == "Deployment":  # the other kinds find the container by its image
        details["containers"] = ["app"]
    images[0]["action"]["restart"] = details
    manifest = policy(name, name, images, kind=kind)
    manifest["metadata"]["annotations"] = {REQUESTED_AT: mark()}
    manifest["spec"] |= {
        "interval": "24h",
        "suspend": False,
        "annotationPrefix": GROUP,
        "imagePullSecrets": [{"name": "none"}],
        "rollout": {"timeout": "30s", "onFailure": "Hold"},
    }
    return manifest


def mark() -> str:
    """A value that no request had before."""
    return f"request-{next(_requests)}"


def _put(part: str, changed: Mapping[str, Any]) -> Manifest:
    """The JSON patch operation that makes a part of an object that of a changed copy."""
    if part not in changed:
        return {"op": "remove", "path": f"/{part}"}
    return {"op": "add", "path": f"/{part}", "value": changed[part]}


def _wanted_of(found: Manifest | None) -> object:
    """What people want of an object."""
    kept = ("labels", "annotations", "finalizers")
    return found and (found.get("spec"), *(found["metadata"].get(key) for key in kept))
