"""What befalls a crowd of policies: publishers move tags, people edit objects.

Whom it befalls is drawn from a seed; what is done is written down, for the judge.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeAlias

from imagerefresh.api.names import (
    GROUP,
    REQUESTED_AT,
    RETRY_AT,
    record_annotation,
    state_annotation,
)
from proof.soak.crowd import TAG, VARIABLE, Member
from proof.soak.history import BAD, Deeds
from testbed.api import ApiError
from testbed.controlplane import CommandError
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually

POLICY: Final = "ImageRefreshPolicy"
Edit: TypeAlias = Callable[[Member], None]
_OTHER: Final = "sha256:" + "0123456789abcdef" * 4


class Publisher:
    """Moves tags, and remembers what they have served."""

    def __init__(self, registry: Registry, deeds: Deeds) -> None:
        """It publishes in `registry` and writes into `deeds`."""
        self._registry, self._deeds = registry, deeds

    def publish(self, repository: str, *, bad: bool = False) -> None:
        """Something new under the tag."""
        began = time.monotonic()
        digest = self._registry.publish(
            repository, TAG, platforms=("linux/amd64",), attestation=False, bad=bad
        )
        self._deeds.moves.setdefault(repository, []).append((began, digest))

    def go_back(self, repository: str) -> None:
        """The tag serves again what it served before, if that is fit to run."""
        served = [digest for _, digest in self._deeds.moves[repository]]
        if len(served) > 1 and not served[-2].startswith(BAD):
            began = time.monotonic()
            self._registry.retag(repository, TAG, served[-2])
            self._deeds.moves[repository].append((began, served[-2]))


class Person:
    """Edits policies and targets as people do."""

    def __init__(self, namespace: Namespace, registry: Registry, deeds: Deeds) -> None:
        """What may call for another ask is written into `deeds`."""
        self._namespace, self._registry, self._deeds = namespace, registry, deeds
        self.done: Counter[str] = Counter()
        self.suspended: dict[str, float] = {}
        """When (monotonic) a policy was suspended."""
        self.edits: dict[str, Edit] = {
            "rollout undone": self.undo,
            "field edited": self.edit_field,
            "annotations stripped": self.strip,
            "retry requested": self.retry,
            "check requested": self.request,
            "suspended": self.suspend,
            "policy made anew": self.make_policy_anew,
            "target made anew": self.make_target_anew,
            "restarted": self.restart,
        }

    def edit(self, what: str, member: Member) -> None:
        """Do one of `edits`, unless the object is just not there or somebody was faster."""
        try:
            self.edits[what](member)
        except (ApiError, CommandError) as error:
            self.done[f"{what}, in vain"] += 1
            self.last_failure = str(error)
        else:
            self.done[what] += 1

    def undo(self, member: Member) -> None:
        """As `kubectl rollout undo`; where there is nothing to go back to it says so."""
        self._note(member)
        self._namespace.kubectl("rollout", "undo", f"{member.kind}/{member.name}")

    def edit_field(self, member: Member) -> None:
        """Another digest than the one that the policy wants."""
        self._note(member)
        where = f"{member.kind}/{member.name}"
        for image in member.images:
            if image.action == "SetEnv":
                self._namespace.kubectl(
                    "set", "env", where, f"--containers={image.name}", f"{VARIABLE}={_OTHER}"
                )
            elif image.action == "SetImage":
                text = f"{self._registry.address}/{image.repository}:{TAG}@{_OTHER}"
                self._namespace.kubectl("set", "image", where, f"{image.name}={text}")

    def strip(self, member: Member) -> None:
        """As a tool does that applies its own annotations only."""
        self._note(member)
        keys = [state_annotation(each.name) for each in member.images]
        keys += [record_annotation(GROUP, each.name) for each in member.images]
        self._namespace.annotate(member.kind, member.name, **dict.fromkeys(keys))

    def retry(self, member: Member) -> None:
        """Let a failed digest be tried again."""
        self._deeds.retries.setdefault(member.name, []).append(time.monotonic())
        for name in member.policy_names:
            self._namespace.annotate(POLICY, name, **{RETRY_AT: f"{time.monotonic()}"})

    def request(self, member: Member) -> None:
        """A look out of turn."""
        for name in member.policy_names:
            self._namespace.annotate(POLICY, name, **{REQUESTED_AT: f"{time.monotonic()}"})

    def suspend(self, member: Member) -> None:
        """For a while; see `resume`."""
        self._namespace.patch(POLICY, member.name, {"spec": {"suspend": True}})
        self.suspended[member.name] = time.monotonic()

    def resume(self, older_than: float = 0.0) -> None:
        """Those that have been suspended for so many seconds."""
        now = time.monotonic()
        for name in [name for name, at in self.suspended.items() if now - at >= older_than]:
            del self.suspended[name]
            self._namespace.patch(POLICY, name, {"spec": {"suspend": False}})

    def make_policy_anew(self, member: Member) -> None:
        """Delete and create it, or them."""
        self._note(member)
        for policy in member.policies(self._registry.address):
            name = policy["metadata"]["name"]
            self._namespace.delete(POLICY, name)
            self.suspended.pop(name, None)
            self._namespace.create(policy)

    def make_target_anew(self, member: Member) -> None:
        """Delete and create it.

        While a tag serves what can't run that is left out: a restart would take it over unseen.
        """
        if any(self._deeds.serves(each.repository).startswith(BAD) for each in member.images):
            return
        self._note(member)
        self._namespace.delete(member.kind, member.name)
        eventually(
            lambda: self._namespace.find(member.kind, member.name) is None, describe="it is gone"
        )
        self._namespace.create(member.target(self._registry.address))

    def restart(self, member: Member) -> None:
        """As `kubectl rollout restart`."""
        self._namespace.kubectl("rollout", "restart", f"{member.kind}/{member.name}")

    def _note(self, member: Member) -> None:
        self._deeds.disturbances.setdefault(member.name, []).append(time.monotonic())
