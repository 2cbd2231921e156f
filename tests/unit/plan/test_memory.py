"""Which copy of an image's state holds (B22)."""

from dataclasses import dataclass, replace
from typing import Final

import pytest

from imagerefresh.api.names import record_annotation, stamp_annotation, state_annotation
from imagerefresh.api.policy import ActionType
from imagerefresh.plan.memory import Memory, Recollection, parse_state, state_text
from imagerefresh.plan.template import MAX_SERIAL, Carried, Stamp, read
from unit.plan.builders import D1, D2, D3, EARLIER, GROUP, a_target, an_image, annotated
from unit.plan.recalling import (
    FLOATING,
    NAME,
    NEWER,
    OLDER,
    OTHER_TOOL,
    REFERENCE,
    in_status,
    known,
    recall,
)


@dataclass(frozen=True)
class Store:
    """What stands where, and what holds."""

    on_target: dict[str, str]
    status: Memory | None
    holds: Memory
    is_lost: bool = False


STORES: Final = {
    "both alike": Store(annotated(NAME, NEWER), NEWER, NEWER),
    "higher on the target: the status write was lost": Store(annotated(NAME, NEWER), OLDER, NEWER),
    "lower on the target: a rewind": Store(annotated(NAME, OLDER), NEWER, NEWER, is_lost=True),
    "none on the target: stripped": Store({}, NEWER, NEWER, is_lost=True),
    "only the state is stripped, a record left alone says nothing": Store(
        {record_annotation(GROUP, NAME): D3}, NEWER, NEWER, is_lost=True
    ),
    "none in status: the policy is new": Store(annotated(NAME, NEWER), None, NEWER),
    "nowhere: a first observation": Store({}, None, Memory(reference=REFERENCE)),
    "alike, a person edited the record": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): D3},
        NEWER,
        replace(NEWER, recorded=D3),
    ),
    "alike, a person proved what is asked": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): D2},
        NEWER,
        replace(NEWER, recorded=D2, failed=None),
    ),
    "alike, the record is missing": Store(
        {state_annotation(NAME): state_text(NEWER)}, NEWER, NEWER, is_lost=True
    ),
    "alike, the record is garbled": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): "v1.2"},
        NEWER,
        NEWER,
        is_lost=True,
    ),
    "alike, nothing was recorded yet": Store(
        annotated(NAME, known(D1, None)), known(D1, None), known(D1, None)
    ),
    "higher on the target, its record was rewound": Store(
        {**annotated(NAME, NEWER), record_annotation(GROUP, NAME): D3},
        OLDER,
        replace(NEWER, recorded=D3),
    ),
    "lower on the target, the record with it": Store(
        {**annotated(NAME, OLDER), record_annotation(GROUP, NAME): D3},
        NEWER,
        NEWER,
        is_lost=True,
    ),
}


@pytest.mark.parametrize("case", STORES)
def test_the_copy_with_the_higher_serial_holds_whole(case: str) -> None:
    """B22."""
    store = STORES[case]
    assert recall(store.on_target, store.status) == Recollection(store.holds, store.is_lost)


class TestAnotherTarget:
    """B22, another UID: status speaks of another object, so it is left out of account."""

    def test_with_annotations_they_hold(self) -> None:
        assert recall(annotated(NAME, OLDER), None) == Recollection(OLDER)

    def test_without_any_it_is_met_anew(self) -> None:
        assert recall().memory.is_first_observation


class TestBothCopiesLost:
    """B22: may cost one rollout, no more: our own pin, then stamp or field, then the record."""

    def test_our_own_pin(self) -> None:
        target = a_target(pin=D3, stamps={stamp_annotation("web"): f"8 {D2}"})
        found = recall(carried=read(an_image(ActionType.RESTART), target))
        assert (found.memory.asked, found.memory.serial) == (D3, 8)
        assert found.is_missing_on_target

    def test_our_own_pin_alone(self) -> None:
        found = recall(carried=read(an_image(ActionType.RESTART), a_target(pin=D3)))
        assert (found.memory.asked, found.memory.adopted) == (D3, False)

    def test_the_stamp(self) -> None:
        found = recall(carried=replace(FLOATING, stamp=Stamp(8, D2)))
        assert (found.memory.asked, found.memory.serial) == (D2, 8)
        assert not found.memory.adopted

    def test_the_field_that_we_stamped(self) -> None:
        found = recall(carried=Carried(D2, stamp=Stamp(8, D2)))
        assert (found.memory.asked, found.memory.recorded) == (D2, None)

    def test_the_record(self) -> None:
        found = recall({record_annotation(GROUP, NAME): D1})
        assert (found.memory.asked, found.memory.recorded) == (D1, D1)

    def test_a_garbled_state_and_a_record(self) -> None:
        found = recall({state_annotation(NAME): "{", record_annotation(GROUP, NAME): D1})
        assert found.memory.is_proven

    def test_a_foreign_digest_in_the_field_is_no_memory(self) -> None:
        """B18: it is a first observation, which adopts it."""
        assert recall(carried=Carried(D2)).memory.is_first_observation


class TestTakingOver:
    """A target that another tool annotated is taken over without a restart."""

    ANNOTATIONS: Final = {record_annotation(OTHER_TOOL, NAME): D1}

    def test_the_record_of_another_tool_is_what_is_asked_and_proven(self) -> None:
        found = recall(self.ANNOTATIONS, prefix=OTHER_TOOL)
        assert found.memory.is_proven
        assert (found.memory.asked, found.is_missing_on_target) == (D1, True)

    def test_not_under_another_prefix(self) -> None:
        assert recall(self.ANNOTATIONS).memory.is_first_observation

    def test_a_field_that_differs_from_the_record_is_adopted(self) -> None:
        found = recall(self.ANNOTATIONS, carried=Carried(D2), prefix=OTHER_TOOL)
        assert (found.memory.asked, found.memory.recorded) == (D2, D1)
        assert found.memory.adopted

    def test_a_changed_prefix_takes_the_record_along(self) -> None:
        memory = known(D1, D1)
        found = recall(annotated(NAME, memory), memory, prefix=OTHER_TOOL)
        assert found == Recollection(memory, is_missing_on_target=True)

    def test_a_changed_prefix_meets_another_tools_record(self) -> None:
        memory = known(D1, D1)
        annotations = {**annotated(NAME, memory), record_annotation(OTHER_TOOL, NAME): D2}
        assert recall(annotations, memory, prefix=OTHER_TOOL).memory.recorded == D2


@pytest.mark.parametrize("status", [None, NEWER], ids=["status lost", "status kept"])
def test_another_reference_drops_a_hold(status: Memory | None) -> None:
    """B1: and what was asked before stays, so that the new tag counts as a move."""
    contested = replace(NEWER, set_back_times=(EARLIER,) * 3)
    found = recall(
        annotated(NAME, contested),
        status and contested,
        reference="registry.example.com/example/web:1",
    )
    assert (found.memory.failed, found.memory.asked) == (None, D2)
    assert found.memory.set_back_times == ()
    assert found.memory.reference == "registry.example.com/example/web:1"


class TestAnotherRepository:
    """B1: a digest means nothing there, so the image is met anew; only a restart counts as a move.

    Otherwise what was proven in the old one would be set back, or rolled back to, in the new one.
    """

    ELSEWHERE: Final = "registry.example.com/example/other:prod"
    FIELD: Final = "image web"

    @pytest.mark.parametrize("status", [None, known(D1, D1)], ids=["status lost", "status kept"])
    @pytest.mark.parametrize("digest", [None, D1, D2])
    def test_a_field_tells_what_it_carries(self, status: Memory | None, digest: str | None) -> None:
        found = self.recall(known(D1, D1), status, Carried(digest), claim=self.FIELD)
        assert (found.asked, found.recorded, found.adopted) == (digest, None, True)

    def test_a_floating_tag_counts_as_a_move(self) -> None:
        found = self.recall(known(D1, D1), known(D1, D1), FLOATING, claim="restart")
        assert (found.asked, found.recorded) == (D1, None)

    def test_the_old_record_stays_forgotten(self) -> None:
        """Status tells of the new repository already, the target is not written yet."""
        met = known(D1, None, adopted=True, reference=self.ELSEWHERE)
        assert self.recall(known(D1, D1), met, Carried(D1), claim="").recorded is None

    def test_another_tag_is_none(self) -> None:
        memory = known(D1, D1)
        reference = REFERENCE.replace(":prod", ":stable")
        assert recall(annotated(NAME, memory), memory, reference=reference).memory.is_proven

    def recall(
        self, on_target: Memory, status: Memory | None, carried: Carried, *, claim: str
    ) -> Memory:
        """What is recollected once the policy follows the image elsewhere."""
        found = recall(
            annotated(NAME, on_target), status, carried, reference=self.ELSEWHERE, claim=claim
        )
        assert not found.is_missing_on_target
        assert found.memory.serial == on_target.serial
        return found.memory


@pytest.mark.parametrize("carried", [FLOATING, Carried(D2), Carried(stamp=Stamp(3, D2))])
def test_a_status_that_lost_what_was_asked_falls_back(carried: Carried) -> None:
    """B22: an unparsable value counts as missing; nothing may be stuck for want of it."""
    entry = in_status(known()).model_copy(update={"asked": None})
    asked = recall(status=entry, carried=carried).memory.asked
    assert asked == (D1 if carried is FLOATING else D2)


@pytest.mark.parametrize("member", ["asked", "recorded", "failed"])
def test_a_status_with_something_else_than_a_digest(member: str) -> None:
    """B22: an unparsable value counts as missing."""
    entry = in_status(known(failed=D3)).model_copy(update={member: "v1.2"})
    memory = recall(annotated(NAME, OLDER), entry).memory
    assert "v1.2" not in (memory.asked, memory.recorded, memory.failed)
    assert memory.asked is not None


@pytest.mark.parametrize(("recorded", "asked"), [(D1, D1), (None, None)])
def test_another_claim_forgets_what_was_asked_by_the_old_one(
    recorded: str | None, asked: str | None
) -> None:
    """B4, B17: a changed action was never written, so nobody can have taken it back."""
    before = known(D2, recorded, failed=D3, claim="variable api/OLD")
    found = recall(status=before, claim="variable api/NEW").memory
    assert (found.asked, found.recorded, found.failed) == (asked, recorded, None)
    assert (found.claim, found.serial) == ("variable api/NEW", before.serial)


@pytest.mark.parametrize("claim", ["", "restart"])
def test_the_same_claim_or_an_unknown_one_changes_nothing(claim: str) -> None:
    before = known(claim=claim)
    assert recall(status=before, claim="restart").memory == replace(before, claim="restart")


def test_a_serial_beyond_all_counting_is_no_state() -> None:
    """B22: a garbled value counts as missing, or its successor could not be read or stored."""
    beyond = known(serial=MAX_SERIAL)
    assert parse_state(state_text(beyond)) is None
    assert recall(annotated(NAME, OLDER), beyond).memory == OLDER


def test_serials_that_have_run_out_begin_anew() -> None:
    """B22: or the annotations would be written back in each run, to be found missing again."""
    stamps = {stamp_annotation(NAME): f"{MAX_SERIAL} {D2}"}
    carried = read(an_image(ActionType.RESTART), a_target(stamps=stamps))
    beyond = known(D2, D2, serial=MAX_SERIAL)
    found = recall(annotated(NAME, beyond), beyond, carried)
    assert (found.memory.serial, found.memory.asked, found.memory.recorded) == (0, D2, D2)
    assert found.is_missing_on_target
