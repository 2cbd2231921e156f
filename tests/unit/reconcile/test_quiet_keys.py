"""A quiet turn of a private image: the secrets are read again, and found as they were (B10)."""

import pytest

from imagerefresh.cluster.errors import Unavailable
from imagerefresh.cluster.secrets import PullSecret, Unreadable
from imagerefresh.plan.due import latest_turn
from imagerefresh.reconcile.quiet import pass_quietly
from imagerefresh.reconcile.track import QuietSpell, Track
from unit.plan.builders import D1, D2, NOW
from unit.reconcile.builders import a_policy
from unit.reconcile.drawer import (
    BAD,
    GOOD,
    IMAGE,
    MISSING,
    REFUSED,
    SINCE,
    Drawer,
    Gate,
    naming,
    the_keys,
)

TOLD = f'{REFUSED} secret "a"'


class TestQuietTurn:
    """B27."""

    async def pass_turn(
        self, drawer: Drawer, gate: Gate, complaint: str = "", digest: str = D1
    ) -> bool:
        spec = naming("a")
        turn = latest_turn(spec, str(IMAGE.reference), NOW.timestamp())
        spell = QuietSpell(spec, {IMAGE.name: digest}, 1e9, a_policy(), {IMAGE.name: complaint})
        track = Track(keys=the_keys(drawer), quiet=spell)
        return await pass_quietly(gate, track, turn, lambda: SINCE)

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [(GOOD, ""), (BAD, TOLD), (MISSING, MISSING.message)],
    )
    async def test_passes_while_all_is_as_it_was_told(
        self, content: PullSecret | Unreadable, complaint: str
    ) -> None:
        assert await self.pass_turn(Drawer({"a": content}), Gate(is_open=True), complaint)

    @pytest.mark.parametrize(("content", "complaint"), [(GOOD, TOLD), (BAD, ""), (MISSING, "")])
    async def test_does_not_pass_when_there_is_something_to_tell(
        self, content: PullSecret | Unreadable, complaint: str
    ) -> None:
        assert not await self.pass_turn(Drawer({"a": content}), Gate(is_open=True), complaint)

    async def test_leaves_trouble_of_the_api_server_to_a_run(self) -> None:
        """B29."""
        drawer = Drawer({}, trouble=Unavailable("HTTP 500"))
        assert not await self.pass_turn(drawer, Gate(is_open=True))

    async def test_a_move_is_none(self) -> None:
        assert not await self.pass_turn(Drawer({"a": GOOD}), Gate(), digest=D2)
