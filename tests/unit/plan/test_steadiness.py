"""B13: how often one digest is asked because the tag moved to it."""

from imagerefresh.plan.steadiness import ASK_WINDOW, Steadiness
from unit.plan.builders import D1, D2


def after(*asks: tuple[str, float]) -> Steadiness:
    steadiness = Steadiness()
    for digest, time in asks:
        steadiness.note(digest, time)
    return steadiness


def test_three_asks_of_one_digest_are_enough() -> None:
    asks = [(D2, 0.0), (D1, 10.0), (D2, 20.0), (D1, 30.0)]
    assert after(*asks).overasked(40.0) == set()
    assert after(*asks, (D2, 40.0)).overasked(50.0) == {D2}
    assert after(*asks, (D2, 40.0), (D1, 50.0)).overasked(60.0) == {D1, D2}


def test_new_digests_may_come_as_they_like() -> None:
    digests = (f"sha256:{number:064x}" for number in range(100))
    assert after(*((digest, 1.0) for digest in digests)).overasked(2.0) == set()


def test_an_hour_after_the_first_of_three_it_is_asked_again() -> None:
    steadiness = after((D2, 0.0), (D2, 10.0), (D2, 20.0))
    assert steadiness.overasked(ASK_WINDOW - 1) == {D2}
    assert steadiness.overasked(ASK_WINDOW) == set()
