"""The steps of `objects`: all changes of all kinds, each by itself. Their order never changes."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from imagerefresh import crdgen
from imagerefresh.api.names import REQUESTED_AT, RETRY_AT
from proof.objects.annotation_changes import HUGE, ODD_TEXTS, annotation_changes, cut
from proof.objects.schema_changes import FieldChange, field_changes, sample_changes
from proof.objects.subject import POLICY, Subject, new_policy
from proof.objects.workload_changes import workload_changes
from proof.objects.workload_edits import ALL_KINDS, WorkloadChange
from schema_documents import STATUS
from testbed.api import ApiError

EXAMPLE: Final = "example"
"""Name of the policy whose fields are gone through; its images must be published."""
SEED: Final = 5
WALKS: Final = 10
"""Of each kind of target."""
WALK_LENGTH: Final = 5
_REFUSED: Final = ("spec: wrong type", "spec: bad by its rule", "status: wrong type")
"""Almost all of these are refused, so a walk gets nowhere by them."""
Change: TypeAlias = Callable[[Subject], None]


@dataclass(frozen=True)
class Step:
    """A change of a subject; steps of one kind are counted together."""

    kind: str
    name: str
    of: str
    """The kind of the subject's target."""
    change: Change


def steps(registry: str) -> Iterator[Step]:
    """All steps, for policies that follow images in `registry` ("host:port")."""
    single = list(_single_steps(registry))
    yield from single
    yield from _walks(single)


def _single_steps(registry: str) -> Iterator[Step]:
    yield from _spec_steps(registry)
    yield from _status_steps()
    yield from _request_steps()
    for kind in ALL_KINDS:
        yield from _life_steps(kind)
        for change in itertools.chain(workload_changes(), annotation_changes()):
            if kind in change.of:
                yield _target_step(change, kind)


def _walks(single: Sequence[Step]) -> Iterator[Step]:
    """Several changes, one upon the other."""
    dice = random.Random(SEED)
    for kind in ALL_KINDS:
        own = [step for step in single if step.of == kind and step.kind not in _REFUSED]
        for _ in range(WALKS):
            chosen = dice.sample(own, WALK_LENGTH)
            name = ", then ".join(f"{step.kind}: {step.name}" for step in chosen)
            yield Step("several at once", name, kind, _walk(chosen))


def _walk(chosen: Sequence[Step]) -> Change:
    def make(subject: Subject) -> None:
        for step in chosen:
            # What a change needs may be gone by an earlier one.
            with suppress(ApiError, LookupError, StopIteration):
                step.change(subject)
            subject.settle()

    return make


def _spec_steps(registry: str) -> Iterator[Step]:
    schema, spec = _schema(), new_policy(EXAMPLE, "Deployment", registry)["spec"]
    yield from map(_spec_step, field_changes(schema, {"spec": spec}))
    yield from map(_spec_step, sample_changes(registry))
    for names in ((0,), (1,), (2,), (0, 1, 2)):
        pins = {f"spec.images.{number}.pinned": True for number in names}
        yield _spec_step(FieldChange("pinned", pins))


def _spec_step(change: FieldChange) -> Step:
    def make(subject: Subject) -> None:
        subject.change_spec(change.apply(subject.policy()))

    return Step(f"spec: {change.kind}", change.name, "Deployment", make)


def _status_steps() -> Iterator[Step]:
    for change in field_changes(_schema(), {"status": STATUS}):

        def make(subject: Subject, change: FieldChange = change) -> None:
            subject.change_status(change.apply(subject.policy()))

        yield Step(f"status: {change.kind}", change.name, "Deployment", make)


def _request_steps() -> Iterator[Step]:
    for key in (REQUESTED_AT, RETRY_AT, "example.com/note"):
        for text in (*ODD_TEXTS, None):
            if text == HUGE and key != REQUESTED_AT:
                continue

            def make(subject: Subject, key: str = key, text: str | None = text) -> None:
                subject.request(**{key: text})

            name = f"{key} {'removed' if text is None else f'is {cut(text)}'}"
            yield Step("policy: annotations", name, "Deployment", make)


def _life_steps(kind: str) -> Iterator[Step]:
    lives: dict[str, Change] = {
        "target deleted": _delete_target,
        "target kept by a finalizer": _keep_target,
        "target made anew": _make_target_anew,
        "policy deleted": lambda subject: subject.namespace.delete(POLICY, subject.name),
        "policy made anew": _make_policy_anew,
        "target and policy made anew": _make_anew,
        "pods deleted": _delete_pods,
    }
    if kind == "Deployment":
        lives["rollout undone"] = _undo
    for name, change in lives.items():
        yield Step("life", name, kind, change)


def _delete_target(subject: Subject) -> None:
    subject.delete_target()
    subject.request()


def _keep_target(subject: Subject) -> None:
    finalizers = {"metadata": {"finalizers": ["example.com/keep"]}}
    subject.namespace.patch(subject.kind, subject.name, finalizers)
    subject.namespace.delete(subject.kind, subject.name)
    subject.request()


def _make_target_anew(subject: Subject) -> None:
    subject.delete_target()
    subject.create_target()


def _make_policy_anew(subject: Subject) -> None:
    subject.namespace.delete(POLICY, subject.name)
    subject.create_policy()


def _make_anew(subject: Subject) -> None:
    subject.namespace.delete(POLICY, subject.name)
    subject.delete_target()
    subject.create_policy()
    subject.create_target()


def _delete_pods(subject: Subject) -> None:
    subject.namespace.delete_pods(subject.name)
    subject.request()


def _undo(subject: Subject) -> None:
    subject.namespace.undo(subject.name)
    subject.request()


def _target_step(change: WorkloadChange, kind: str) -> Step:
    def make(subject: Subject) -> None:
        subject.change_target(change.apply(subject.target()))

    return Step(f"target: {change.kind}", change.name, kind, make)


def _schema() -> dict[str, Any]:
    version = crdgen.custom_resource_definition()["spec"]["versions"][0]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema
