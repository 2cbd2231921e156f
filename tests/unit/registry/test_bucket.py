from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.registry.bucket import DEFAULT_RATE, Bucket, Rate


def test_a_burst_passes_and_the_rest_is_paced() -> None:
    bucket = Bucket(Rate(10, 3))
    waits = [bucket.take(100.0) for _ in range(6)]
    assert waits == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])


def test_a_rest_fills_it_up_to_the_burst_and_no_more() -> None:
    bucket = Bucket(Rate(10, 3))
    for _ in range(3):
        bucket.take(100.0)
    assert bucket.take(100.2) == 0  # two places came back
    assert bucket.take(100.2) == 0
    assert bucket.take(100.2) == pytest.approx(0.1)
    assert [bucket.take(1e6) for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


def test_a_place_given_back_serves_the_next() -> None:
    bucket = Bucket(Rate(1, 1))
    assert bucket.take(5.0) == 0
    assert bucket.take(5.0) == 1
    bucket.give_back()
    assert bucket.take(5.0) == 1


@given(
    st.lists(st.floats(0, 5), max_size=200),
    st.floats(0.1, 100),
    st.integers(1, 20),
)
def test_no_second_gets_more_than_burst_and_rate(
    pauses: list[float], per_second: float, burst: int
) -> None:
    bucket = Bucket(Rate(per_second, burst))
    now, sent = 0.0, []
    for pause in pauses:
        now += pause
        sent.append(now + bucket.take(now))
    assert all(later > earlier - 1e-6 for earlier, later in pairwise(sent))
    for begin in sent:
        in_window = sum(begin <= at < begin + 1 for at in sent)
        assert in_window <= burst + per_second + 1


def test_the_default_holds_up_no_thousand_policies() -> None:
    """B6: a hundred images at 10 s, all due in one second after a restart."""
    bucket = Bucket(DEFAULT_RATE)
    assert max(bucket.take(50.0) for _ in range(100)) == 0
