"""What a policy says is believed only if registry and target bear it out (B26)."""

from copy import deepcopy

import pytest

from imagerefresh.api.names import REQUESTED_AT, record_annotation
from proof.objects.subject import new_policy
from proof.objects.verdict import Outcome, Settled, check_kstatus, judge
from testbed.api import Manifest
from testbed.workloads import container, workload

SERVED, OTHER = "sha256:served", "sha256:other"
PLACES = ("latest", "asked", "recorded")


def serves(_repository: str, _tag: str) -> str:
    return SERVED


def target() -> Manifest:
    containers = [container("app", "r/app"), container("env", "r/env", env={"DIGEST": SERVED})]
    containers.append(container("tool", f"r/tool:prod@{SERVED}"))
    records = {
        record_annotation("imagerefresh.dev", name): SERVED for name in ("app", "env", "tool")
    }
    found = workload("web", containers, annotations=records)
    found["metadata"]["generation"] = 3
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 1)
    return found | {"status": {"observedGeneration": 3, **counts}}


def policy(ready: str = "True", reason: str = "UpToDate", *abnormal: str) -> Manifest:
    found = new_policy("web", "Deployment", "r")
    found["metadata"] |= {"generation": 2, "annotations": {REQUESTED_AT: "now"}}
    conditions = [("Ready", ready), *((kind, "True") for kind in abnormal)]
    found["status"] = {
        "observedGeneration": 2,
        "lastHandledRequestedAt": "now",
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": "why",
                "observedGeneration": 2,
            }
            for kind, status in conditions
        ],
        "images": [
            {"name": name, "state": "Current", **dict.fromkeys(PLACES, SERVED)}
            for name in ("app", "env", "tool")
        ],
    }
    return found


def test_what_is_borne_out_has_converged() -> None:
    assert judge(policy(), target(), serves) == Settled(Outcome.CONVERGED, "UpToDate", "why")


def test_a_reason_is_told() -> None:
    settled = judge(policy("False", "TargetNotFound", "Stalled"), None, serves)
    assert settled == Settled(Outcome.TOLD, "TargetNotFound", "why")


@pytest.mark.parametrize(
    "found",
    [
        policy("Unknown", "RollingOut", "Reconciling"),
        policy() | {"status": {}},
        policy("Unknown", "Checking"),
    ],
)
def test_what_is_under_way_has_not_settled(found: Manifest) -> None:
    assert judge(found, target(), serves) is None


def test_an_older_answer_is_none() -> None:
    found = policy()
    found["metadata"]["generation"] = 3
    assert judge(found, target(), serves) is None
    found = policy()
    found["metadata"]["annotations"][REQUESTED_AT] = "later"
    assert judge(found, target(), serves) is None


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("image", range(3))
def test_another_digest_in_status_is_untrue(image: int, place: str) -> None:
    found = policy()
    found["status"]["images"][image][place] = OTHER
    with pytest.raises(AssertionError, match=f"and {place} has {OTHER}"):
        judge(found, target(), serves)


@pytest.mark.parametrize("name", ["env", "tool"])
def test_another_digest_on_the_target_is_untrue(name: str) -> None:
    found = target()
    for each in found["spec"]["template"]["spec"]["containers"]:
        if each["name"] == name:
            each |= {"env": [{"name": "DIGEST", "value": OTHER}], "image": f"r@{OTHER}"}
    with pytest.raises(AssertionError, match="the target has"):
        judge(policy(), found, serves)


def test_a_record_that_is_not_on_the_target_is_untrue() -> None:
    found = target()
    found["metadata"]["annotations"] = {}
    with pytest.raises(AssertionError, match="the record on the target has None"):
        judge(policy(), found, serves)


def test_ready_without_a_healthy_target_is_untrue() -> None:
    found = target()
    found["status"]["availableReplicas"] = 0
    with pytest.raises(AssertionError, match="not rolled out"):
        judge(policy(), found, serves)


@pytest.mark.parametrize(
    "found",
    [
        policy("True", "UpToDate", "Stalled"),
        policy("True", "UpToDate", "Reconciling"),
        policy("Unknown", "Checking", "Stalled"),
        policy("False", "RollingOut", "Stalled", "Reconciling"),
    ],
)
def test_conditions_must_agree(found: Manifest) -> None:
    with pytest.raises(AssertionError):
        check_kstatus(found)


def test_conditions_must_be_of_one_generation() -> None:
    found = deepcopy(policy())
    found["status"]["conditions"][0]["observedGeneration"] = 1
    with pytest.raises(AssertionError, match="of several generations"):
        check_kstatus(found)
