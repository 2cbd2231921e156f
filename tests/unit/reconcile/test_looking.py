"""The look at the registries: what is asked of them, and what comes of their answers (B5 to B9)."""

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageStatus, Status
from imagerefresh.plan.findings import Trouble
from imagerefresh.plan.template import Problem
from imagerefresh.reconcile.looking import TagWatch
from imagerefresh.reconcile.track import Answer, Track
from imagerefresh.registry import TroubleReason
from unit.plan.builders import D1, D2, D3, Json, a_memory, a_spec, an_image
from unit.plan.telling import one, told, trouble
from unit.reconcile.shelf import ARTIFACT, DOWN, SENT, Shelf, registry_trouble

RESTART, SET_ENV = ActionType.RESTART, ActionType.SET_ENV
WEB, INGESTOR = an_image(RESTART), an_image(SET_ENV)


async def look(
    shelf: Shelf,
    *wanted: str,
    before: Status | None = None,
    track: Track | None = None,
    is_turn: bool = True,
) -> Track:
    """A look at the tags of the wanted images, all of them if none is named."""
    track = track or Track()
    spec = a_spec(WEB, INGESTOR)
    names = dict.fromkeys(wanted or ("web", "ingestor"), 50.0)
    await TagWatch(shelf).look(spec, names, track, before or Status(), is_turn=is_turn)
    return track


def known(**entry: Json) -> Status:
    """A status that knows the SetEnv image."""
    return Status(images=[ImageStatus(name="ingestor", reference=str(INGESTOR.reference), **entry)])


async def test_a_digest_is_the_answer() -> None:
    shelf = Shelf({"example/web": D1, "example/ingestor": D2})
    track = await look(shelf)
    assert track.answers == {
        "web": Answer(str(WEB.reference), SENT, D1),
        "ingestor": Answer(str(INGESTOR.reference), SENT, D2),
    }
    assert shelf.resolved == [(str(WEB.reference), 50.0), (str(INGESTOR.reference), 50.0)]


async def test_only_the_wanted_images_are_looked_at() -> None:
    """B5: one request per image and turn; B2: none for a pinned one."""
    shelf = Shelf({"example/web": D1, "example/ingestor": D2})
    earlier = Answer(str(INGESTOR.reference), 1.0, D3)
    track = await look(shelf, "web", track=Track(answers={"ingestor": earlier}))
    assert [reference for reference, _ in shelf.resolved] == [str(WEB.reference)]
    assert track.answers["ingestor"] == earlier


class TestInspection:
    """B5: a GET once after a move."""

    @pytest.mark.parametrize("member", ["latest", "asked", "recorded", "failed"])
    async def test_not_of_what_is_known(self, member: str) -> None:
        shelf = Shelf({"example/ingestor": D1})
        entry = {"asked": D3, member: D1}
        await look(shelf, "ingestor", before=known(**entry))
        assert shelf.inspected == []

    async def test_of_what_has_moved(self) -> None:
        shelf = Shelf({"example/ingestor": D2})
        track = await look(shelf, "ingestor", before=told(one(a_memory(D1, D1), D1)))
        assert shelf.inspected == [(str(INGESTOR.reference), D2)]
        assert track.answers["ingestor"].latest == D2

    async def test_of_what_is_to_be_written_for_the_first_time(self) -> None:
        """B18: an empty field is filled."""
        shelf = Shelf({"example/ingestor": D1})
        await look(shelf, "ingestor")
        assert shelf.inspected == [(str(INGESTOR.reference), D1)]

    async def test_not_of_what_a_restart_runs_already(self) -> None:
        """B12: it is taken over, whatever it is."""
        shelf = Shelf({"example/web": D1})
        await look(shelf, "web")
        assert shelf.inspected == []

    async def test_what_is_no_image_is_shown_and_not_asked(self) -> None:
        """B5."""
        shelf = Shelf({"example/ingestor": D2}, no_images=frozenset({D2}))
        before = told(one(a_memory(D1, D1), D1))
        track = await look(shelf, "ingestor", before=before)
        answer = track.answers["ingestor"]
        assert answer.latest is None
        why = Problem(Reason.NotAnImage, ARTIFACT.message)
        assert answer.trouble == Trouble(why, is_transient=False, turns=1)

    async def test_trouble_while_inspecting_asks_nothing_either(self) -> None:
        """B7."""
        shelf = Shelf({"example/ingestor": D2}, no_images=frozenset({D2}), inspection=DOWN)
        track = await look(shelf, "ingestor", before=told(one(a_memory(D1, D1), D1)))
        answer = track.answers["ingestor"]
        assert answer.latest is None
        assert answer.trouble is not None
        assert answer.trouble.is_transient

    async def test_a_digest_known_of_another_reference_is_looked_at(self) -> None:
        """B1: what was seen of the old tag says nothing about this one."""
        other = ImageStatus(name="ingestor", reference="docker.io/library/old:1", latest=D2)
        shelf = Shelf({"example/ingestor": D2})
        await look(shelf, "ingestor", before=Status(images=[other]))
        assert shelf.inspected == [(str(INGESTOR.reference), D2)]


class TestTrouble:
    @pytest.mark.parametrize("reason", TroubleReason)
    async def test_is_kept_with_its_reason(self, reason: TroubleReason) -> None:
        """B7, B8: every reason of the client is one that people see."""
        found = registry_trouble(reason)
        track = await look(Shelf({"example/web": found}), "web")
        answer = track.answers["web"]
        assert (answer.latest, answer.sent_at) == (None, 50.0)
        assert answer.trouble == Trouble(
            Problem(Reason(reason.value), found.message), found.transient, 1
        )

    async def test_one_image_in_trouble_hinders_no_other(self) -> None:
        track = await look(Shelf({"example/web": DOWN, "example/ingestor": D2}))
        assert track.answers["ingestor"].latest == D2

    async def test_turns_in_a_row_are_counted(self) -> None:
        """B7."""
        track, turns = Track(), []
        for serves in (DOWN, DOWN, DOWN, D1, DOWN):
            await look(Shelf({"example/web": serves}), "web", track=track)
            found = track.answers["web"].trouble
            turns.append(found.turns if found else 0)
        assert turns == [1, 2, 3, 0, 1]

    async def test_a_look_in_between_is_no_turn(self) -> None:
        """B7."""
        track, turns = Track(), []
        for is_turn in (True, False, False, True):
            await look(Shelf({"example/web": DOWN}), "web", track=track, is_turn=is_turn)
            found = track.answers["web"].trouble
            turns.append(found.turns if found else None)
        assert turns == [1, 1, 1, 2]

    async def test_a_restart_goes_on_counting(self) -> None:
        """B7: or an outage would look like a new one after each restart."""
        before = told(one(a_memory(D1, D1), None), troubles={"ingestor": trouble(3)})
        track = await look(Shelf({"example/ingestor": DOWN}), "ingestor", before=before)
        found = track.answers["ingestor"].trouble
        assert found is not None
        assert found.turns >= 3
