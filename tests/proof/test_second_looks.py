"""Looks that fail, and those in between turns, through the real reconciler: B6, B7."""

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.plan.due import due_images
from proof.histories import Histories
from proof.lab.workload import HOST, Json
from proof.model.rendering import DIGEST_TEXTS

POLICY = "p0"


def restart(container: str) -> Json:
    """An image of a policy."""
    return {
        "name": container,
        "registry": HOST,
        "repository": container,
        "tag": "prod",
        "action": {"type": ActionType.RESTART},
    }


@pytest.fixture
def shop() -> Histories:
    """A policy with two images, at rest, and a digest that one of the tags has moved to."""
    found = Histories()
    target = {"kind": "Deployment", "name": "web"}
    found.begin([{"targetRef": target, "images": [restart("a"), restart("b")]}])
    found.run_all()
    found.move("a", DIGEST_TEXTS[1])
    return found


def let_turn_come(shop: Histories, image: str) -> None:
    """The next run looks at an image as in its turn."""
    del shop.tracks[POLICY].looks.moments[image]
    shop.tracks[POLICY].quiet = None


def test_a_look_in_between_that_fails_is_repeated(shop: Histories) -> None:
    """The confirming look before a record."""
    let_turn_come(shop, "a")
    shop.run_all()
    shop.roll_out("web", is_well=True)
    shop.fail_or_recover()

    shop.run_all()

    assert shop.tracks[POLICY].looks.failed == {"a"}


def test_one_that_succeeds_leaves_no_second_look(shop: Histories) -> None:
    """After a turn that failed; else the policy is called quiet and due at the same time."""
    let_turn_come(shop, "a")
    shop.run_all()
    shop.fail_or_recover()
    let_turn_come(shop, "a")
    shop.run_all()
    track = shop.tracks[POLICY]
    assert track.looks.failed == {"a"}
    shop.fail_or_recover()
    shop.roll_out("web", is_well=True)

    shop.run_all()

    assert track.looks.failed == set()
    assert due_images(shop.shop.spec(POLICY), track.looks, shop.wall_clock()) == {}
    assert track.quiet is not None
