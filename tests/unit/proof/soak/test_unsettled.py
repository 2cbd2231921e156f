"""In the end of a soak each image is where it must be, or it is found out (B17, B21)."""

import pytest

from imagerefresh.api.names import record_annotation
from proof.soak.crowd import Member, crowd
from proof.soak.history import Deeds
from proof.soak.unsettled import find_unsettled
from testbed.api import Manifest

MEMBER: Member = crowd(2)[1]
[IMAGE] = MEMBER.images
GOOD, OLD, BAD = "sha256:02", "sha256:01", "sha256:bad3"


def target(recorded: str) -> Manifest:
    found = MEMBER.target("r")
    found["metadata"] |= {
        "generation": 1,
        "annotations": {record_annotation("imagerefresh.dev", IMAGE.name): recorded},
    }
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 1)
    return found | {"status": {"observedGeneration": 1, **counts}}


def policy(**entry: str) -> Manifest:
    ready = {"type": "Ready", "status": "True" if entry["state"] == "Current" else "False"}
    return {"status": {"conditions": [ready], "images": [{"name": IMAGE.name, **entry}]}}


def problems(
    served: str,
    found: Manifest,
    recorded: str = GOOD,
    *,
    edits: tuple[float, ...] = (),
    healed: bool = False,
) -> list[str]:
    deeds = Deeds({IMAGE.repository: [(1.0, OLD), (2.0, served)]}, {MEMBER.name: list(edits)})
    return list(find_unsettled(MEMBER, [found], target(recorded), deeds, is_healed=healed))


def test_what_is_served_is_recorded() -> None:
    assert problems(GOOD, policy(state="Current", recorded=GOOD)) == []
    assert problems(GOOD, policy(state="Current", recorded=GOOD), healed=True) == []


def test_what_cannot_run_is_held() -> None:
    held = policy(state="Held", failed=BAD, recorded=OLD)
    assert problems(BAD, held, OLD) == []
    assert len(problems(BAD, held, OLD, healed=True)) == 2


def test_what_somebody_took_back_is_held() -> None:
    held = policy(state="Held", failed=GOOD, recorded=OLD)
    assert problems(GOOD, held, OLD, edits=(3.0,)) == []


@pytest.mark.parametrize(("number", "is_found"), [(8, 1), (4, 0)])
def test_a_neighbour_that_could_not_run_excuses_its_own_policy_while_it_serves(
    number: int, is_found: int
) -> None:
    """B21: with a policy of its own it ends no hold of others when it moves on."""
    member = crowd(20)[number]
    first, second = member.images
    moves = {
        first.repository: [(1.0, OLD), (2.0, GOOD)],
        second.repository: [(1.5, BAD), (3.0, OLD)],
    }
    held = {"state": "Held", "failed": GOOD, "recorded": OLD}
    current = {"name": second.name, "state": "Current", "recorded": OLD}
    found = policy(**held)
    found["status"]["images"] = [{"name": first.name, **held}, current]
    records = {record_annotation("imagerefresh.dev", each.name): OLD for each in member.images}
    on_target = target(OLD)
    on_target["metadata"]["annotations"] = records
    wrong = list(find_unsettled(member, [found], on_target, Deeds(moves), is_healed=False))
    assert len(wrong) == is_found


@pytest.mark.parametrize(
    ("found", "recorded"),
    [
        (policy(state="Current", recorded=OLD), OLD),
        (policy(state="Current", recorded=GOOD), OLD),
        (policy(state="Current", recorded=OLD), GOOD),
        (policy(state="RollingOut", recorded=OLD), OLD),
        (policy(state="Held", failed=OLD, recorded=OLD), OLD),
        (policy(state="Held", failed=GOOD, recorded=OLD), OLD),
        (policy(state="Blocked", reason="Contested", recorded=OLD), OLD),
    ],
)
def test_a_lost_update_is_found(found: Manifest, recorded: str) -> None:
    assert len(problems(GOOD, found, recorded, edits=(1.5,))) == 1
