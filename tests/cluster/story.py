"""What the tests of this folder do and see again and again: policies, their targets, their pods.

A request (B4) runs a policy at once, and its answer in status says that the run has ended. So most
tests follow a policy that hardly ever polls, and neither wait for turns nor race with them.
"""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from imagerefresh.api.names import (
    GROUP,
    REQUESTED_AT,
    RETRY_AT,
    record_annotation,
    stamp_annotation,
    state_annotation,
)
from imagerefresh.reconcile.reconciler import BUSY
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import (
    condition,
    container,
    environment,
    is_observed,
    policy,
    restart,
    set_env,
    workload,
)

REPOSITORY = "example/web"
TAG = "prod"
VARIABLE = "DIGEST"
RARELY = "720h"
"""An interval without a turn while a test runs, but for one in some hundred thousand runs."""

_TEMPLATE_HASH = "pod-template-hash"
_requests = itertools.count(1)


# What a test begins with: a Deployment and a policy of one image, all of them named `web`.


def image(registry: Registry, repository: str = REPOSITORY, tag: str = TAG) -> str:
    return f"{registry.address}/{repository}:{tag}"


def web_container(registry: Registry, **variables: str) -> Manifest:
    return container("web", image(registry), env=variables)


def web(registry: Registry) -> Manifest:
    return workload("web", [web_container(registry)])


def web_restart(registry: Registry, **more: object) -> Manifest:
    return restart("web", registry.address, REPOSITORY, TAG, **more)


def web_set_env(registry: Registry, **more: object) -> Manifest:
    return set_env(
        "web", registry.address, REPOSITORY, TAG, container="web", variable=VARIABLE, **more
    )


def web_policy(*images: Manifest, interval: str = RARELY, **spec: object) -> Manifest:
    manifest = policy("web", "web", images, interval=interval)
    manifest["spec"] |= spec
    return manifest


def deploy(namespace: Namespace, target: Manifest) -> None:
    """Create a Deployment, and wait for the ReplicaSet of its template: one that is changed before
    the controller has seen it leaves none.
    """
    namespace.create(target)
    eventually(
        lambda: namespace.replica_sets(target["metadata"]["name"]), describe="a first ReplicaSet"
    )


def settle(
    namespace: Namespace,
    registry: Registry,
    image: Manifest | None = None,
    target: Manifest | None = None,
) -> str:
    """Deployment and policy `web`, settled by the running operator on the digest returned."""
    digest = registry.publish(REPOSITORY, TAG)
    deploy(namespace, target or web(registry))
    namespace.create(web_policy(image or web_restart(registry)))
    wait_recorded(namespace, digest)
    return digest


def move(namespace: Namespace, registry: Registry) -> str:
    """Move the tag, and wait until the digest returned is recorded."""
    digest = registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, digest)
    return digest


# What a person asks of a policy.


def request(namespace: Namespace, name: str = "web", *, annotation: str = REQUESTED_AT) -> str:
    """Ask for a run; returns the value of the annotation."""
    value = f"request-{next(_requests)}"
    namespace.annotate("ImageRefreshPolicy", name, **{annotation: value})
    return value


def check(namespace: Namespace, name: str = "web") -> Manifest:
    """Ask for a run and wait for its end; returns the policy as it is then."""
    return _handled(namespace, name, REQUESTED_AT, "lastHandledRequestedAt")


def retry(namespace: Namespace, name: str = "web") -> Manifest:
    """Ask for another try of what is held, and wait until it is handled."""
    return _handled(namespace, name, RETRY_AT, "lastHandledRetryAt")


def _gave_way(found: Manifest) -> bool:
    """The run ended, since others wrote its target all the time: the next one comes by itself."""
    return (condition(found, "Ready") or {}).get("message") == BUSY.message


def _handled(namespace: Namespace, name: str, annotation: str, mark: str) -> Manifest:
    value = request(namespace, name, annotation=annotation)

    def handled() -> Manifest:
        found = namespace.policy(name)
        is_over = found.get("status", {}).get(mark) == value and not _gave_way(found)
        return found if is_over else {}

    return eventually(
        handled,
        describe=lambda: f"{annotation} of policy {name} is handled: {summary(namespace, name)}",
    )


# What a policy says.


def entry(resource: Manifest, name: str = "web") -> Manifest:
    """The status of a policy's image; empty before there is one."""
    images: list[Manifest] = resource.get("status", {}).get("images", [])
    return next((each for each in images if each["name"] == name), {})


def ready(resource: Manifest) -> tuple[str, str]:
    """Status and reason of a policy's condition Ready; empty before there is one."""
    found = condition(resource, "Ready") or {}
    return found.get("status", ""), found.get("reason", "")


def message(resource: Manifest) -> str:
    """What Ready says in a sentence."""
    text: str = (condition(resource, "Ready") or {}).get("message", "")
    return text


def is_stalled(resource: Manifest) -> bool:
    return (condition(resource, "Stalled") or {}).get("status") == "True"


def summary(namespace: Namespace, name: str = "web") -> object:
    """For messages of failed tests."""
    return namespace.policy(name).get("status", {})


def wait_ready(
    namespace: Namespace,
    name: str = "web",
    *,
    status: str = "True",
    reason: str = "",
    timeout: float = 30,
) -> Manifest:
    """Wait for a status of Ready, and its reason if given; returns the policy."""

    def found() -> Manifest:
        resource = namespace.policy(name)
        is_status, is_reason = ready(resource)
        return resource if is_status == status and reason in ("", is_reason) else {}

    return eventually(
        found,
        timeout=timeout,
        describe=lambda: f"{name} is Ready {status} {reason}: {summary(namespace, name)}",
    )


def wait_recorded(
    namespace: Namespace, digest: str, name: str = "web", *, of: str = "web"
) -> Manifest:
    """Wait until an image's digest is recorded in status; returns the policy."""

    def found() -> Manifest:
        resource = namespace.policy(name)
        return resource if entry(resource, of).get("recorded") == digest else {}

    return eventually(
        found, describe=lambda: f"{digest} of {of} is recorded: {summary(namespace, name)}"
    )


def wait_asked(namespace: Namespace, digest: str, name: str = "web", *, of: str = "web") -> None:
    """Wait until an image's digest is asked of the Deployment, in the state on it."""
    eventually(
        lambda: state(namespace.deployment(name), of).get("asked") == digest,
        describe=lambda: f"{digest} of {of} is asked: {summary(namespace, name)}",
    )


def events(namespace: Namespace, reason: str, about: str = "web") -> list[Manifest]:
    """The operator's events about a policy, of one reason."""
    return [
        each
        for each in namespace.items("Event")
        if each.get("reason") == reason
        and each.get("reportingController") == "imagerefresh"
        and each.get("regarding", {}).get("name") == about
    ]


def told(namespace: Namespace, reason: str, count: int, about: str = "web") -> list[str]:
    """Wait until so many events of a reason are there, written after the fact; returns the notes.

    A repeated event is counted on the first.
    """

    def notes() -> list[str]:
        found = events(namespace, reason, about)
        total = sum((each.get("series") or {}).get("count", 1) for each in found)
        return [each["note"] for each in found] if total == count else []

    return eventually(
        notes,
        describe=lambda: f"{count} events {reason}: {events(namespace, reason, about)}",
    )


# What a target carries.


def state(target: Manifest, name: str = "web") -> dict[str, Any]:
    """The state of an image on its target (B22); empty if there is none."""
    text = target["metadata"].get("annotations", {}).get(state_annotation(name))
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def record(target: Manifest, name: str = "web", prefix: str = GROUP) -> str | None:
    """The recorded digest on the target."""
    found: str | None = (
        target["metadata"].get("annotations", {}).get(record_annotation(prefix, name))
    )
    return found


def stamp(target: Manifest, name: str = "web") -> str | None:
    """The digest of the stamp on the pod template, or on a ReplicaSet's (B13)."""
    annotations = target["spec"]["template"]["metadata"].get("annotations", {})
    text: str | None = annotations.get(stamp_annotation(name))
    return text.split()[1] if text else None


def ours(target: Manifest) -> dict[str, str]:
    """All annotations of the group, on the target and on its pod template."""
    template = target["spec"]["template"]["metadata"].get("annotations", {})
    found = target["metadata"].get("annotations", {}) | template
    return {key: value for key, value in found.items() if key.startswith(f"{GROUP}/")}


def value(namespace: Namespace, variable: str = VARIABLE) -> str | None:
    """A variable of the Deployment `web`."""
    return environment(namespace.deployment("web"), "web").get(variable)


def set_value(namespace: Namespace, text: str) -> None:
    """Edit the variable as a person does, under the field manager kubectl-set."""
    namespace.kubectl("set", "env", "deployment/web", f"{VARIABLE}={text}")


def rollouts(namespace: Namespace, name: str = "web") -> list[str | None]:
    """The stamp of each ReplicaSet, in the order of their last use."""
    return [stamp(each) for each in namespace.replica_sets(name)]


def wait_rollouts(namespace: Namespace, expected: list[str | None], name: str = "web") -> None:
    """Wait until the rollouts are these: the controller takes its time to begin one."""
    eventually(
        lambda: rollouts(namespace, name) == expected,
        describe=lambda: f"rollouts {expected}: {rollouts(namespace, name)}",
    )


@contextmanager
def impatient(namespace: Namespace, name: str = "web") -> Iterator[None]:
    """Let the Deployment's rollouts fail within, unless they make progress every two seconds.

    For pods that can't run: those that can may take as long on a busy machine. What is to fail is
    asked before or within, not meanwhile: a write while the controller makes a ReplicaSet lets it
    forget the time.
    """
    _set_deadline(namespace, name, 2)
    yield
    _set_deadline(namespace, name, 600)


def _set_deadline(namespace: Namespace, name: str, seconds: int) -> None:
    _wait_observed(namespace, name)
    namespace.patch("Deployment", name, {"spec": {"progressDeadlineSeconds": seconds}})
    _wait_observed(namespace, name)


def _wait_observed(namespace: Namespace, name: str) -> None:
    eventually(
        lambda: is_observed(namespace.deployment(name)),
        describe="the controller has seen the latest change",
    )


# What the nodes do.


def wait_stuck(namespace: Namespace, name: str = "web") -> list[Manifest]:
    """Wait until pods of the present template can't pull their image, as is the fate of bad
    digests; returns the pods.
    """

    def stuck() -> list[Manifest]:
        present = _template_hash(namespace, name)
        pods = namespace.pods(name) if present else []
        return [
            pod
            for pod in pods
            if pod["metadata"]["labels"].get(_TEMPLATE_HASH) == present and _is_stuck(pod)
        ]

    return eventually(stuck, describe="pods that can't pull their image")


def let_run(namespace: Namespace, name: str = "web") -> None:
    """Make the pods that can't pull their image run after all."""
    for pod in wait_stuck(namespace, name):
        namespace.run_pod(pod)


def _template_hash(namespace: Namespace, name: str) -> str | None:
    """What the pods of a Deployment's present template are labelled with, once there is one."""
    target = namespace.deployment(name)
    replica_sets = namespace.replica_sets(name)
    if not is_observed(target) or not replica_sets:
        return None
    found: str = replica_sets[-1]["metadata"]["labels"][_TEMPLATE_HASH]
    return found


def _is_stuck(pod: Manifest) -> bool:
    return any(
        "waiting" in each.get("state", {})
        for each in pod.get("status", {}).get("containerStatuses", [])
    )
