"""Policies on one target roll out one after the other (B23)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.api.names import stamp_annotation
from imagerefresh.api.policy import ActionType, Image
from imagerefresh.plan.claims import Claimant, awaited
from imagerefresh.plan.health import Health
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.template import claim_of
from unit.plan.builders import (
    D1,
    D2,
    D3,
    HEALTHY,
    IDLE,
    LATE,
    PAUSED,
    PROGRESSING,
    UNPROVABLE,
    Json,
    a_memory,
    a_spec,
    a_target,
    an_image,
    annotated,
)
from unit.plan.examples import HELD, MOVING, PROVEN, ROLLED_BACK, UNPROVEN

RESTART, SET_ENV, SET_IMAGE = ActionType.RESTART, ActionType.SET_ENV, ActionType.SET_IMAGE
WEB, INGESTOR, PROXY = an_image(RESTART), an_image(SET_ENV), an_image(SET_IMAGE)


def a_policy(name: str, *images: Image, age: int = 1, **spec: Json) -> Claimant:
    return Claimant(name, (f"2026-01-{age:02}T00:00:00Z", name), a_spec(*images, **spec))


OWN = a_policy("own", PROXY)
OLDER, YOUNGER = a_policy("older", INGESTOR, age=0), a_policy("younger", INGESTOR, age=2)


def asked_of(*asks: tuple[Image, Memory], **carried: Json) -> dict[str, Json]:
    """A target with the states of images, as their policies left them."""
    annotations: dict[str, str] = {}
    stamps: dict[str, str] = {}
    for image, memory in asks:
        annotations |= annotated(image.name, replace(memory, claim=claim_of(image)))
        if image.action.type is RESTART and not memory.adopted:
            stamps[stamp_annotation(image.name)] = f"{memory.serial} {memory.asked}"
    return a_target(annotations=annotations, stamps=stamps, **carried)


ROLLING = asked_of((INGESTOR, MOVING), variable=D2)


@pytest.mark.parametrize("other", [OLDER, YOUNGER], ids=lambda each: each.name)
@pytest.mark.parametrize("health", [PROGRESSING, LATE, HEALTHY])
def test_what_another_policy_asked_is_waited_for(other: Claimant, health: Health) -> None:
    """Also where it is healthy: its proof is near, and a newer rollout would take it away."""
    found = awaited(OWN, [other], ROLLING, health)
    assert found == f"the rollout of ingestor by policy {other.name}"


@pytest.mark.parametrize("memory", [PROVEN, HELD, ROLLED_BACK, replace(UNPROVEN, adopted=True)])
def test_what_is_proven_failed_or_only_taken_over_is_not(memory: Memory) -> None:
    target = asked_of((INGESTOR, memory), variable=memory.asked)
    assert awaited(OWN, [OLDER], target, PROGRESSING) is None


@pytest.mark.parametrize("health", [IDLE, PAUSED, UNPROVABLE])
def test_nobody_waits_for_a_verdict_that_does_not_come(health: Health) -> None:
    assert awaited(OWN, [OLDER], ROLLING, health) is None


@pytest.mark.parametrize(
    "target",
    [
        asked_of((INGESTOR, MOVING), variable=D1),
        asked_of((INGESTOR, MOVING), variable="v1"),
        a_target(variable=D2, annotations={"imagerefresh.dev/state-ingestor": "garbled"}),
        a_target(
            variable=D2,
            annotations=annotated("ingestor", replace(MOVING, claim="variable api/OTHER")),
        ),
        a_target(variable=D2),
    ],
    ids=["taken back", "foreign", "garbled", "another claim", "stripped"],
)
def test_what_the_target_does_not_carry_is_no_rollout(target: dict[str, Json]) -> None:
    assert awaited(OWN, [OLDER], target, PROGRESSING) is None


def test_a_restart_is_carried_by_its_stamp() -> None:
    older = a_policy("older", WEB, age=0)
    assert awaited(OWN, [older], asked_of((WEB, MOVING)), PROGRESSING)
    unstamped = a_target(annotations=annotated("web", MOVING))
    assert awaited(OWN, [older], unstamped, PROGRESSING) is None


def test_what_a_deleted_policy_left_is_nobodys() -> None:
    assert awaited(OWN, [], ROLLING, PROGRESSING) is None


@pytest.mark.parametrize(
    "other",
    [
        a_policy("older", INGESTOR, age=0, suspend=True),
        a_policy("older", an_image(SET_ENV, pinned=True), age=0),
        a_policy("older", an_image(SET_ENV, name="renamed"), age=0),
        replace(OLDER, blocked=frozenset({"ingestor"})),
    ],
    ids=["suspended", "pinned", "renamed", "blocked"],
)
def test_who_does_nothing_is_not_waited_for(other: Claimant) -> None:
    assert awaited(OWN, [other], ROLLING, PROGRESSING) is None


def test_a_policy_in_conflict_is_not_waited_for() -> None:
    """What it asked before the older one came to claim the variable, it can't bring to an end."""
    again = an_image(SET_ENV, name="again")
    younger = a_policy("younger", again, age=2)
    target = asked_of((again, MOVING), (INGESTOR, a_memory(D2, recorded=D2)), variable=D2)
    assert awaited(OWN, [younger], target, PROGRESSING)
    assert awaited(OWN, [younger, OLDER], target, PROGRESSING) is None


@pytest.mark.parametrize(
    ("image", "health", "is_awaited"),
    [
        (WEB, HEALTHY, False),
        (WEB, PROGRESSING, True),
        (INGESTOR, HEALTHY, True),
    ],
    ids=["a healthy restart", "a restart under way", "a variable"],
)
def test_a_healthy_restart_that_no_registry_confirms_is_not_waited_for(
    image: Image, health: Health, is_awaited: bool
) -> None:
    """B14: for all that the target could tell it is proven; a variable needs no registry."""
    older = replace(a_policy("older", image, age=0), unresolved=frozenset({image.name}))
    target = asked_of((image, MOVING), variable=D2)
    assert bool(awaited(OWN, [older], target, health)) is is_awaited


def test_of_two_that_have_asked_the_older_does_not_wait() -> None:
    """Restarts whose tags have moved on are recorded by neither: they would wait for ever."""
    own = a_policy("own", WEB)
    target = asked_of((WEB, a_memory(D3)), (INGESTOR, MOVING), variable=D2)
    assert awaited(own, [YOUNGER], target, PROGRESSING) is None
    assert awaited(YOUNGER, [own], target, PROGRESSING) == "the rollout of web by policy own"
    assert awaited(own, [OLDER], target, PROGRESSING)


@given(
    st.permutations([0, 1, 2]),
    st.lists(st.sampled_from([MOVING, PROVEN, HELD, None]), min_size=3, max_size=3),
)
def test_somebody_never_waits(ages: Sequence[int], memories: Sequence[Memory | None]) -> None:
    """No deadlock: in any group of policies one at least may go on."""
    images = (WEB, INGESTOR, PROXY)
    policies = [a_policy(i.name, i, age=age) for i, age in zip(images, ages, strict=True)]
    asks = [(i, m) for i, m in zip(images, memories, strict=True) if m is not None]
    known: Mapping[str, Memory] = {image.name: memory for image, memory in asks}
    target = asked_of(
        *asks,
        variable=known["ingestor"].asked if "ingestor" in known else None,
        proxy=known["proxy"].asked if "proxy" in known else "prod",
    )

    def waits_for(one: Claimant, other: Claimant) -> bool:
        return bool(awaited(one, [other], target, PROGRESSING))

    waits = {
        one.name: awaited(one, [each for each in policies if each is not one], target, PROGRESSING)
        for one in policies
    }
    assert not all(waits.values())
    for one, other in combinations(policies, 2):
        assert not (waits_for(one, other) and waits_for(other, one))
