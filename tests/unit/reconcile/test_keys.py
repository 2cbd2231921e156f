"""Which pull secrets are read and tried for an image, and what is said of them (B10)."""

from dataclasses import replace

import pytest

from imagerefresh.api.status import Status
from imagerefresh.cluster.errors import Unavailable
from imagerefresh.cluster.secrets import PullSecret, Unreadable
from imagerefresh.reconcile.keys import Keys, resolve
from imagerefresh.reconcile.looking import TagWatch
from imagerefresh.reconcile.track import Track
from imagerefresh.registry import Credential, Trouble
from unit.plan.builders import D1, Json
from unit.reconcile.drawer import (
    BAD,
    DENIED,
    DOWN,
    FORBIDDEN,
    GOOD,
    IMAGE,
    LIMITED,
    MISSING,
    REFUSED,
    RIGHT,
    SINCE,
    Drawer,
    Gate,
    ask,
    found,
    holding,
    naming,
    pods,
    sources,
    the_keys,
)

LENT = Credential('docker config "/etc/shop/config.json"', username="robot", password=RIGHT)


class TestOrder:
    async def test_policy_target_account(self) -> None:
        contents = {"mine": BAD, "pods": BAD, "accounts": GOOD}
        drawer, gate = Drawer(contents, ("accounts",)), Gate()
        reply = await ask(gate, the_keys(drawer, pods("pods")), "mine")
        assert found(reply) == D1
        assert gate.asked[-1] == sources("mine", "pods", "accounts")
        assert [each.source for each in reply.credentials] == gate.asked[-1]

    async def test_a_longer_path_wins_within_a_source_only(self) -> None:
        longer = holding("wrong", IMAGE.reference.name)
        drawer, gate = Drawer({"a": BAD, "b": longer, "c": longer}), Gate(is_open=True)
        await ask(gate, the_keys(drawer, pods("c")), "a", "b")
        assert gate.asked == [sources("b", "a", "c")]

    async def test_a_secret_that_is_named_twice_counts_once(self) -> None:
        drawer, gate = Drawer({"a": BAD, "b": GOOD}), Gate()
        await ask(gate, the_keys(drawer, pods("b", "a", "b")), "a")
        assert gate.asked == [sources("a", "b")]
        assert drawer.read == ["a", "b"]

    async def test_what_is_meant_for_other_hosts_stays_at_home(self) -> None:
        drawer, gate = Drawer({"a": holding(RIGHT, "other.example.com")}), Gate(is_open=True)
        reply = await ask(gate, the_keys(drawer), "a")
        assert (gate.asked, reply.complaint) == ([[]], "")

    async def test_the_target_may_have_changed_its_mind(self) -> None:
        drawer, gate = Drawer({"a": BAD, "b": GOOD}), Gate(is_open=True)
        keys = the_keys(drawer, pods("a"))
        keys.learn(pods("b"))
        await ask(gate, keys)
        assert gate.asked == [sources("b")]


class TestServiceAccount:
    async def test_of_a_public_image_is_left_alone(self) -> None:
        """B28: an optional right is not even tried where nothing needs it."""
        drawer, gate = Drawer({}), Gate(is_open=True)
        await ask(gate, the_keys(drawer, pods()))
        assert drawer.read == []

    async def test_is_left_alone_where_the_other_secrets_do(self) -> None:
        drawer, gate = Drawer({"a": GOOD}), Gate()
        await ask(gate, the_keys(drawer, pods("a")))
        assert drawer.read == ["a"]

    @pytest.mark.parametrize(
        ("target", "name"), [(pods(), "default"), (pods(account="puller"), "puller")]
    )
    async def test_is_that_of_the_pods(self, target: dict[str, Json], name: str) -> None:
        drawer, gate = Drawer({}), Gate()
        await ask(gate, the_keys(drawer, target))
        assert drawer.read == [f"account {name}"]

    async def test_is_not_known_before_the_target_was_read(self) -> None:
        drawer, gate = Drawer({}), Gate()
        await ask(gate, the_keys(drawer))
        assert drawer.read == []

    @pytest.mark.parametrize("trouble", [DENIED, LIMITED])
    async def test_once_it_was_needed_it_is_used_at_once(self, trouble: Trouble) -> None:
        """One request a turn: an anonymous one would count towards the limit of the address."""
        drawer, gate = Drawer({"a": GOOD}, ("a",)), Gate(otherwise=trouble)
        keys = the_keys(drawer, pods())
        for _ in range(2):
            reply = await ask(gate, keys)
            assert (found(reply), reply.complaint) == (D1, "")
        assert gate.asked == [[], sources("a"), sources("a")]

    async def test_an_outage_calls_for_none(self) -> None:
        drawer, gate = Drawer({}), Gate(otherwise=DOWN)
        await ask(gate, the_keys(drawer, pods()))
        assert drawer.read == []

    async def test_one_that_helps_nothing_is_not_kept(self) -> None:
        other = holding(RIGHT, "other.example.com")
        drawer, gate = Drawer({"a": other}, ("a",)), Gate()
        keys = the_keys(drawer, pods())
        await ask(gate, keys)
        gate.is_open, drawer.read[:] = True, []
        await ask(gate, keys)
        assert drawer.read == []
        assert gate.asked == [[], []]

    async def test_one_that_lost_its_secrets_is_not_kept(self) -> None:
        drawer, gate = Drawer({"a": GOOD}, ("a",)), Gate()
        keys = the_keys(drawer, pods())
        await ask(gate, keys)
        drawer.account, gate.is_open = (), True
        await ask(gate, keys)
        drawer.read.clear()
        await ask(gate, keys)
        assert drawer.read == []

    async def test_out_of_reach_is_said_with_the_denial_only(self) -> None:
        drawer, gate = Drawer({}), Gate()
        reply = await ask(gate, the_keys(drawer, pods()))
        assert isinstance(reply.answer, Trouble)
        assert reply.answer.message == "denied; it may not be read"
        assert reply.complaint == ""

    async def test_missing_is_not_said(self) -> None:
        gate = Gate()
        reply = await ask(gate, the_keys(Drawer({}, MISSING), pods()))
        assert reply.answer == DENIED

    async def test_out_of_reach_after_it_was_needed_is_a_problem(self) -> None:
        drawer, gate = Drawer({"a": GOOD}, ("a",)), Gate()
        keys = the_keys(drawer, pods())
        await ask(gate, keys)
        drawer.account = FORBIDDEN
        reply = await ask(gate, keys)
        assert (reply.answer, reply.complaint) == (DENIED, FORBIDDEN.message)


class TestLentByTheOperator:
    """What the registries file has for the policies of a namespace."""

    async def test_comes_after_all_else(self) -> None:
        """In one question, so that no anonymous one goes before it."""
        contents = {"mine": BAD, "pods": BAD, "accounts": BAD}
        drawer, gate = Drawer(contents, ("accounts",)), Gate(lent=(LENT,))
        reply = await ask(gate, the_keys(drawer, pods("pods")), "mine")
        assert found(reply) == D1
        assert gate.asked == [[*sources("mine", "pods", "accounts"), LENT.source]]
        assert reply.credentials[-1] == LENT

    async def test_serves_for_more_than_tags(self) -> None:
        """B15: the image's other digests are asked for with the same credentials."""
        contents = {"mine": BAD, "pods": BAD, "accounts": BAD}
        drawer, gate = Drawer(contents, ("accounts",)), Gate(lent=(LENT,))
        keys = the_keys(drawer, pods("pods"))
        spec = naming("mine")
        tags = (await resolve(gate, keys, spec, IMAGE.reference, SINCE)).credentials
        assert await keys.credentials(gate, spec, IMAGE.reference) == tags

    async def test_is_for_the_namespace_only(self) -> None:
        """B10."""
        gate = Gate(lent=(LENT,))
        reply = await ask(gate, Keys(Drawer({}), "bank"))
        assert (reply.answer, gate.asked) == (DENIED, [[]])

    async def test_a_ServiceAccount_out_of_reach_is_no_problem(self) -> None:  # noqa: N802 as it is written
        """B28: an optional right."""
        reply = await ask(Gate(lent=(LENT,)), the_keys(Drawer({}, FORBIDDEN), pods()))
        assert (found(reply), reply.complaint) == (D1, "")

    async def test_a_ServiceAccount_out_of_reach_is_not_tried_each_turn(self) -> None:  # noqa: N802 as it is written
        """B27, B28: what is refused once is asked for again only when something is missing."""
        drawer, gate = Drawer({"a": GOOD}), Gate(lent=(LENT,))
        keys = the_keys(drawer, pods())
        for _ in range(3):
            assert found(await ask(gate, keys)) == D1
        assert drawer.read == ["account default"]
        gate.lent, drawer.account = (replace(LENT, password="changed"),), ("a",)
        reply = await ask(gate, keys)
        assert gate.asked[-1] == [*sources("a"), LENT.source]
        assert (found(reply), reply.credentials[1:]) == (D1, gate.lent)

    async def test_a_missing_ServiceAccount_is_no_refusal(self) -> None:  # noqa: N802 as it is written
        drawer, gate = Drawer({"a": GOOD}, MISSING), Gate(lent=(LENT,))
        keys = the_keys(drawer, pods())
        await ask(gate, keys)
        drawer.account = ("a",)
        await ask(gate, keys)
        assert gate.asked[-1] == [*sources("a"), LENT.source]

    async def test_is_named_when_it_is_refused(self) -> None:
        gate = Gate(lent=(replace(LENT, password="wrong"),), is_open=True)
        reply = await ask(gate, the_keys(Drawer({}), pods()))
        assert reply.complaint == f"{REFUSED} {LENT.source}"


class TestComplaint:
    async def test_names_what_was_refused(self) -> None:
        drawer, gate = Drawer({"a": BAD, "b": GOOD}), Gate()
        reply = await ask(gate, the_keys(drawer), "a", "b")
        assert (found(reply), reply.complaint) == (D1, f'{REFUSED} secret "a"')

    async def test_names_what_was_refused_of_a_public_image(self) -> None:
        drawer, gate = Drawer({"a": BAD}), Gate(is_open=True)
        reply = await ask(gate, the_keys(drawer), "a")
        assert (found(reply), reply.complaint) == (D1, f'{REFUSED} secret "a"')

    async def test_leaves_to_a_denial_what_that_names(self) -> None:
        drawer, gate = Drawer({"a": BAD}, ()), Gate()
        reply = await ask(gate, the_keys(drawer, pods()), "a")
        assert (found(reply), reply.complaint) == (DENIED.reason, "")

    async def test_names_what_cannot_be_used_and_uses_the_rest(self) -> None:
        drawer = Drawer({"a": FORBIDDEN, "b": PullSecret(b"?"), "c": GOOD, "d": MISSING})
        gate = Gate()
        reply = await ask(gate, the_keys(drawer), *drawer.contents)
        assert (found(reply), gate.asked) == (D1, [sources("c")])
        assert reply.complaint == (
            'it may not be read; secret "b": its content is not JSON (line 1); it does not exist'
        )

    async def test_is_not_known_while_the_registry_is_in_trouble(self) -> None:
        """B7: what was told stays."""
        drawer, gate = Drawer({"a": FORBIDDEN}), Gate(otherwise=DOWN)
        assert (await ask(gate, the_keys(drawer), "a")).complaint is None

    async def test_fits_into_status(self) -> None:
        """Cut alike each time, so that a quiet turn finds it as it was told."""
        long = {f"{number}": Unreadable(f"{number}" * 300) for number in range(9)}
        reply = await ask(Gate(is_open=True), the_keys(Drawer(long)), *long)
        assert reply.complaint is not None
        assert len(reply.complaint) == 1024


async def test_an_api_server_in_trouble_is_none_of_the_registry() -> None:
    """B29: the run is broken off."""
    drawer = Drawer({}, trouble=Unavailable("HTTP 500"))
    with pytest.raises(Unavailable):
        await ask(Gate(), the_keys(drawer), "a")


async def test_what_has_moved_is_looked_at_with_the_same_credentials() -> None:
    """B5."""
    track, gate = Track(keys=the_keys(Drawer({"a": GOOD}))), Gate()
    await TagWatch(gate).look(naming("a"), {IMAGE.name: SINCE}, track, Status(), is_turn=True)
    assert gate.inspected == [sources("a")]
