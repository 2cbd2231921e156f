"""The judge of a soak finds what must not be: B13, B14, B17 and B21 broken on paper."""

from collections.abc import Sequence

from proof.soak.history import (
    Deeds,
    Look,
    Mark,
    Stamp,
    asks,
    find_returned_twice,
    find_unproven,
    records,
    repetitions,
)

OLD, NEW, NEXT, BROKEN = "sha256:01", "sha256:02", "sha256:03", "sha256:bad4"


def look(
    at: float,
    *,
    healthy: bool = True,
    stamp: tuple[int, str] | None = None,
    record: str | None = None,
    field: str | None = None,
    adopted: bool = False,
) -> Look:
    mark = Mark(
        stamp=Stamp(*stamp) if stamp else None, field=field, record=record, is_adopted=adopted
    )
    return Look(at, healthy, {"web": mark})


def deeds(*moves: tuple[float, str], edits: Sequence[float] = ()) -> Deeds:
    return Deeds({"example/web": list(moves)}, {"web": list(edits)})


def unproven(looks: Sequence[Look], done: Deeds) -> list[str]:
    return list(find_unproven(looks, "web", "example/web", done))


def repeated(looks: Sequence[Look], done: Deeds, *, neighbours: Sequence[str] = ()) -> list[str]:
    asked = repetitions(looks, "web", "example/web", "web", done, neighbours=neighbours)
    wrong = [str(each) for each in asked if each.is_wrong]
    return [*wrong, *find_returned_twice(looks, "web", "web", done)]


REFRESH = [
    look(0, record=OLD, adopted=True),
    look(10, healthy=False, stamp=(2, NEW), record=OLD),
    look(11, healthy=True, stamp=(2, NEW), record=OLD),
    look(12, healthy=True, stamp=(2, NEW), record=NEW),
]
MOVES = (-1.0, OLD), (9.0, NEW)


def test_a_refresh_is_right() -> None:
    """B13, B14."""
    assert [ask.stamp for ask in asks(REFRESH, "web")] == [Stamp(2, NEW)]
    assert list(records(REFRESH, "web")) == [(0, OLD), (3, NEW)]
    assert unproven(REFRESH, deeds(*MOVES)) == []
    assert repeated(REFRESH, deeds(*MOVES)) == []


def test_a_record_without_health_since_the_ask_is_found() -> None:
    """B14: what was healthy before was healthy with something else."""
    hasty = [*REFRESH[:2], look(11, healthy=False, stamp=(2, NEW), record=NEW)]
    assert unproven(hasty, deeds(*MOVES)) == [
        f"{NEW} was recorded, but the target was not healthy with it"
    ]


def test_a_record_that_the_field_does_not_carry_is_found() -> None:
    """B14."""
    looks = [
        look(0, field=OLD, record=OLD),
        look(1, healthy=False, stamp=(2, NEW), field=NEW, record=OLD),
        look(2, stamp=(2, NEW), field=OLD, record=OLD),
        look(3, healthy=False, stamp=(2, NEW), field=OLD, record=NEW),
    ]
    assert len(unproven(looks, deeds(*MOVES))) == 1


def test_the_record_of_a_restart_whose_tag_has_moved_away_is_found() -> None:
    """B14: its pods may have pulled something else."""
    late = [*REFRESH[:2], *(look(each.at + 20, stamp=(2, NEW), record=NEW) for each in REFRESH[2:])]
    assert len(unproven(late, deeds(*MOVES, (10.5, NEXT)))) == 1
    assert unproven(late, deeds(*MOVES, (30.5, NEXT))) == []


def test_the_record_of_what_cannot_run_is_found() -> None:
    """B14; but what was taken over unseen is an assumption (B12)."""
    looks = [look(1, stamp=(2, BROKEN), record=OLD), look(2, stamp=(2, BROKEN), record=BROKEN)]
    done = deeds((0.0, BROKEN))
    assert unproven(looks, done) == [f"{BROKEN} was recorded, though no pod can run it"]
    assert unproven([look(1, record=BROKEN, adopted=True)], done) == []


def test_what_is_restored_was_proven_before() -> None:
    """B22: after an undo, which takes stamp and record back."""
    undone = [
        *REFRESH,
        look(20, healthy=False, record=OLD),
        look(21, healthy=False, record=NEW),
        look(22, healthy=False, record=None),
        look(23, healthy=False, record=NEW),
    ]
    assert unproven(undone, deeds(*MOVES)) == []
    assert repeated(undone, deeds(*MOVES)) == []


def test_an_ask_without_a_cause_is_found() -> None:
    """B13."""
    again = [*REFRESH[:3], look(12, stamp=(3, NEW), record=OLD)]
    assert repeated(again, deeds(*MOVES)) == [f"{NEW} was asked 2 times for 1 moves and 0 edits"]
    assert repeated(again, deeds(*MOVES, edits=[11.5])) == []
    retried = deeds(*MOVES)
    retried.retries["web"] = [11.5]
    assert repeated(again, retried) == []
    assert repeated(again, deeds(*MOVES, (11.0, OLD), (11.5, NEW))) == []


def test_an_ask_that_an_edit_may_have_cost_is_counted_apart() -> None:
    """B22."""
    again = [*REFRESH[:3], look(12, stamp=(3, NEW), record=OLD)]
    asked = repetitions(again, "web", "example/web", "web", deeds(*MOVES, edits=[11.5]))
    assert [each.is_excused for each in asked] == [True]
    once = repetitions(REFRESH, "web", "example/web", "web", deeds(*MOVES, edits=[11.5]))
    assert [each.is_excused for each in once] == [False]


def test_an_ask_after_a_move_of_a_neighbour_is_right() -> None:
    """B21: its move ends all holds of a policy."""
    again = [*REFRESH[:3], look(12, stamp=(3, NEW), record=OLD)]
    done = deeds(*MOVES)
    done.moves["example/other"] = [(11.5, NEXT)]
    assert repeated(again, done, neighbours=["example/other"]) == []


def test_going_back_twice_without_an_edit_is_found() -> None:
    """B17, B21: once per edit, once per failure."""
    back = [look(20 + serial, stamp=(serial, OLD), record=OLD) for serial in (3, 4)]
    assert len(repeated([*REFRESH[:2], *back], deeds(*MOVES))) == 1
    assert repeated([*REFRESH[:2], *back], deeds(*MOVES, edits=[23.5])) == []
