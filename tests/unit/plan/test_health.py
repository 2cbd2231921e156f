"""Healthy is what `kubectl rollout status` means, read from one object (B19)."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.plan.health import Counts, Verdict, judge
from unit.plan.builders import LATE_TIME, Json, a_workload

DONE: Final = {
    "observedGeneration": 7,
    "replicas": 3,
    "updatedReplicas": 3,
    "readyReplicas": 3,
    "availableReplicas": 3,
}
LATE: Final = {
    "type": "Progressing",
    "status": "False",
    "reason": "ProgressDeadlineExceeded",
    "lastUpdateTime": LATE_TIME,
    "lastTransitionTime": "2026-02-03T01:00:00Z",
}
NOT_LATE: Final = {**LATE, "status": "True", "reason": "NewReplicaSetAvailable"}
SET_DONE: Final = {**DONE, "currentRevision": "web-2", "updateRevision": "web-2"}
ROLLING: Final = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
EVERYWHERE: Final = {
    "observedGeneration": 7,
    "desiredNumberScheduled": 3,
    "currentNumberScheduled": 3,
    "updatedNumberScheduled": 3,
    "numberReady": 3,
    "numberAvailable": 3,
}


CONTENT: Final = {Verdict.HEALTHY, Verdict.IDLE}
"""Verdicts for which `kubectl rollout status` comes to its end."""


DEPLOYMENTS: Final[dict[str, tuple[Json, Json, Verdict]]] = {
    "done": ({}, DONE, Verdict.HEALTHY),
    "not seen by the controller": ({}, {**DONE, "observedGeneration": 6}, Verdict.PROGRESSING),
    "just created, status empty": ({}, {}, Verdict.PROGRESSING),
    "just created, no status": ({}, None, Verdict.PROGRESSING),
    "not all updated": ({}, {**DONE, "updatedReplicas": 2}, Verdict.PROGRESSING),
    "none updated, the count is absent": (
        {},
        {"observedGeneration": 7, "replicas": 3, "availableReplicas": 3},
        Verdict.PROGRESSING,
    ),
    "an old one left": ({}, {**DONE, "replicas": 4}, Verdict.PROGRESSING),
    "not all available": ({}, {**DONE, "availableReplicas": 2}, Verdict.PROGRESSING),
    "none available, the count is absent": (
        {},
        {key: count for key, count in DONE.items() if key != "availableReplicas"},
        Verdict.PROGRESSING,
    ),
    "ready, but not for long enough": (
        {"minReadySeconds": 30},
        {**DONE, "availableReplicas": 0},
        Verdict.PROGRESSING,
    ),
    "zero of zero": ({"replicas": 0}, {"observedGeneration": 7}, Verdict.IDLE),
    "scaled down, not yet gone": (
        {"replicas": 0},
        {"observedGeneration": 7, "replicas": 1, "updatedReplicas": 1},
        Verdict.PROGRESSING,
    ),
    "one by default": (
        {"replicas": 1},
        {"observedGeneration": 7, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
        Verdict.HEALTHY,
    ),
    "too late": (
        {},
        {**DONE, "updatedReplicas": 1, "conditions": [LATE]},
        Verdict.DEADLINE_EXCEEDED,
    ),
    "too late, and not seen again yet": (
        {},
        {**DONE, "observedGeneration": 6, "conditions": [LATE]},
        Verdict.PROGRESSING,
    ),
    "late once, done now": ({}, {**DONE, "conditions": [NOT_LATE]}, Verdict.HEALTHY),
    "another condition": (
        {},
        {**DONE, "conditions": [{**LATE, "type": "Available"}]},
        Verdict.HEALTHY,
    ),
    "paused": ({"paused": True}, DONE, Verdict.PAUSED),
    "paused and too late": ({"paused": True}, {**DONE, "conditions": [LATE]}, Verdict.PAUSED),
    "paused, and not seen yet": (
        {"paused": True},
        {**DONE, "observedGeneration": 6},
        Verdict.PAUSED,
    ),
}


@pytest.mark.parametrize("case", DEPLOYMENTS)
def test_deployment(case: str) -> None:
    spec, status, verdict = DEPLOYMENTS[case]
    health = judge(a_workload("Deployment", status, spec))
    assert (health.verdict, health.is_healthy) == (verdict, verdict in CONTENT)
    assert health.message


STATEFUL_SETS: Final[dict[str, tuple[Json, Json, Verdict]]] = {
    "done": ({}, SET_DONE, Verdict.HEALTHY),
    "done, with the default strategy written out": (
        {"updateStrategy": ROLLING},
        SET_DONE,
        Verdict.HEALTHY,
    ),
    "not seen by the controller": ({}, {**SET_DONE, "observedGeneration": 6}, Verdict.PROGRESSING),
    "just created": ({}, None, Verdict.PROGRESSING),
    "not all ready": ({}, {**SET_DONE, "readyReplicas": 2}, Verdict.PROGRESSING),
    "not all available": ({}, {**SET_DONE, "availableReplicas": 2}, Verdict.PROGRESSING),
    "old ones left": (
        {},
        {**SET_DONE, "updatedReplicas": 1, "currentRevision": "web-1"},
        Verdict.PROGRESSING,
    ),
    "all new, the controller has not said so": (
        {},
        {**SET_DONE, "currentRevision": "web-1"},
        Verdict.PROGRESSING,
    ),
    "zero of zero": (
        {"replicas": 0},
        {"observedGeneration": 7, "currentRevision": "web-2", "updateRevision": "web-2"},
        Verdict.IDLE,
    ),
    "scaled down, not yet gone": (
        {"replicas": 0},
        {**SET_DONE, "replicas": 1, "currentRevision": "web-1", "readyReplicas": 0},
        Verdict.PROGRESSING,
    ),
    "left to a person": (
        {"updateStrategy": {"type": "OnDelete"}},
        SET_DONE,
        Verdict.UNPROVABLE,
    ),
    "partitioned": (
        {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}},
        SET_DONE,
        Verdict.UNPROVABLE,
    ),
}


@pytest.mark.parametrize("case", STATEFUL_SETS)
def test_stateful_set(case: str) -> None:
    spec, status, verdict = STATEFUL_SETS[case]
    health = judge(a_workload("StatefulSet", status, spec))
    assert (health.verdict, bool(health.message)) == (verdict, True)


WAITING: Final = {
    "observedGeneration": 7,
    "replicas": 3,
    "readyReplicas": 2,
    "currentReplicas": 2,
    "currentRevision": "web-1",
    "updateRevision": "web-3",
}
LABELS: Final = {"selector": {"matchLabels": {"app": "web", "tier": "db"}}}
FIND: Final = "the pod that is not ready (kubectl get pods -l app=web,tier=db)"


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({}, WAITING, "pod web-2"),
        ({}, {**WAITING, "currentReplicas": 1}, "pod web-1"),
        ({}, {**WAITING, "currentReplicas": 1, "updatedReplicas": 1}, "pod web-1"),
        ({"ordinals": {"start": 5}}, WAITING, "pod web-7"),
        ({}, {**WAITING, "updateRevision": "web-1", "updatedReplicas": 2}, "pod web-2"),
        ({}, {**WAITING, "currentReplicas": 3}, FIND),
        ({}, {**WAITING, "updatedReplicas": 1}, None),
        ({}, {**SET_DONE, "readyReplicas": 2}, None),
        ({}, {**WAITING, "replicas": 2}, None),
        ({}, {**WAITING, "observedGeneration": 6}, None),
        ({"podManagementPolicy": "Parallel"}, WAITING, None),
        ({"updateStrategy": {"type": "OnDelete"}}, WAITING, None),
    ],
    ids=[
        "the first of an attempt before",
        "the second of it",
        "beside a new one",
        "other ordinals",
        "the attempt was taken back",
        "of the template that runs",
        "a new one, on its way",
        "no rollout",
        "one is being replaced",
        "not seen yet",
        "no order",
        "left to a person",
    ],
)
def test_a_pod_that_an_ordered_rollout_waits_for_is_named(
    spec: Json, status: Json, expected: str | None
) -> None:
    """B19: as far as the StatefulSet's own status tells."""
    health = judge(a_workload("StatefulSet", status, {**LABELS, **spec}))
    assert health.broken_pod == expected


DAEMON_SETS: Final[dict[str, tuple[Json, Json, Verdict]]] = {
    "done": ({}, EVERYWHERE, Verdict.HEALTHY),
    "not seen by the controller": (
        {},
        {**EVERYWHERE, "observedGeneration": 6},
        Verdict.PROGRESSING,
    ),
    "just created": ({}, None, Verdict.PROGRESSING),
    "not all updated": ({}, {**EVERYWHERE, "updatedNumberScheduled": 2}, Verdict.PROGRESSING),
    "the count is absent": (
        {},
        {key: count for key, count in EVERYWHERE.items() if key != "updatedNumberScheduled"},
        Verdict.PROGRESSING,
    ),
    "not all available": ({}, {**EVERYWHERE, "numberAvailable": 2}, Verdict.PROGRESSING),
    "no node for it": (
        {},
        {"observedGeneration": 7, "desiredNumberScheduled": 0},
        Verdict.IDLE,
    ),
    "left to a person": ({"updateStrategy": {"type": "OnDelete"}}, EVERYWHERE, Verdict.UNPROVABLE),
    "rolling": ({"updateStrategy": {"type": "RollingUpdate"}}, EVERYWHERE, Verdict.HEALTHY),
}


@pytest.mark.parametrize("case", DAEMON_SETS)
def test_daemon_set(case: str) -> None:
    spec, status, verdict = DAEMON_SETS[case]
    health = judge(a_workload("DaemonSet", status, spec))
    assert (health.verdict, bool(health.message)) == (verdict, True)


@pytest.mark.parametrize("status", [DONE, {**DONE, "observedGeneration": 6}])
def test_the_time_of_a_deadline_is_the_control_planes(status: Json) -> None:
    """B19: also when it is old, so that an ask can tell it from a new one."""
    target = a_workload("Deployment", {**status, "conditions": [NOT_LATE, LATE]})
    assert judge(target).deadline_time == LATE_TIME


def test_a_rollout_in_time_has_no_time_of_a_deadline() -> None:
    assert judge(a_workload("Deployment", {**DONE, "conditions": [NOT_LATE]})).deadline_time is None


@pytest.mark.parametrize("spec", [{}, {"paused": True}])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_counts_of_an_older_template_are_not_taken_for_those_of_this_one(
    kind: str, spec: Json
) -> None:
    """B19: progress is that of the asked template; full counts of the old one would hide it."""
    status = {**SET_DONE, **EVERYWHERE, "observedGeneration": 6}
    assert judge(a_workload(kind, status, spec)).counts is None


@pytest.mark.parametrize(
    ("kind", "status", "counts"),
    [
        ("Deployment", DONE, Counts(3, 3, 3, 0)),
        ("StatefulSet", SET_DONE, Counts(3, 3, 3, 0)),
        ("DaemonSet", EVERYWHERE, Counts(3, 3, 3, 0)),
        ("Deployment", {"observedGeneration": 7}, Counts()),
        ("StatefulSet", {"observedGeneration": 7}, Counts()),
        ("DaemonSet", {"observedGeneration": 7}, Counts()),
    ],
)
def test_counts(kind: str, status: Json, counts: Counts) -> None:
    """B19: absent counts are zeros."""
    assert judge(a_workload(kind, status)).counts == counts


def test_a_target_without_a_generation_is_seen() -> None:
    assert judge(a_workload("Deployment", DONE, generation=None)).is_healthy


@st.composite
def _statuses(draw: st.DrawFn) -> Json:
    count = st.integers(0, 4)
    present = {key: draw(count) for key in (*DONE, *EVERYWHERE) if draw(st.booleans())}
    present["observedGeneration"] = draw(st.sampled_from([6, 7]))
    revisions = draw(st.sampled_from([("a", "a"), ("a", "b")]))
    conditions = [LATE] if draw(st.booleans()) else []
    return {
        **present,
        "currentRevision": revisions[0],
        "updateRevision": revisions[1],
        "conditions": conditions,
    }


@settings(max_examples=80)
@given(st.sampled_from(["Deployment", "StatefulSet", "DaemonSet"]), _statuses(), st.integers(0, 4))
def test_nothing_is_healthy_before_all_of_it_is_new_and_available(
    kind: str, status: Json, wanted: int
) -> None:
    """B19: observed, all updated, none of the old left, all of them available; and then it is."""
    if kind == "DaemonSet":
        wanted = status.get("desiredNumberScheduled", 0)
        updated, available = "updatedNumberScheduled", "numberAvailable"
        is_new = status.get(updated, 0) >= wanted
        is_available = status.get(available, 0) >= wanted
    else:
        is_new = status.get("updatedReplicas", 0) >= wanted
        is_new &= status.get("replicas", 0) <= status.get("updatedReplicas", 0)
        is_available = status.get("availableReplicas", 0) >= status.get("updatedReplicas", 0)
    if kind == "StatefulSet":
        is_new = status["currentRevision"] == status["updateRevision"]
        is_available = status.get("availableReplicas", 0) >= wanted
        is_available &= status.get("readyReplicas", 0) >= wanted
    is_late = kind == "Deployment" and bool(status["conditions"])
    is_seen = status["observedGeneration"] == 7
    expected = is_seen and is_new and is_available and not is_late
    assert judge(a_workload(kind, status, {"replicas": wanted})).is_healthy is expected
