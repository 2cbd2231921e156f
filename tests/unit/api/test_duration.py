from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.api import duration


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("15m", timedelta(minutes=15)),
        ("10s", timedelta(seconds=10)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("1h5s", timedelta(hours=1, seconds=5)),
        ("90m", timedelta(minutes=90)),
        ("0h010m00s", timedelta(minutes=10)),
        ("99999h99999m99999s", timedelta(hours=99999, minutes=99999, seconds=99999)),
    ],
)
def test_reads_hours_minutes_and_seconds(text: str, value: timedelta) -> None:
    assert duration.parse(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "15",
        "m",
        "-15m",
        "+15m",
        "1.5h",
        "15M",
        "5s1m",
        "1d",
        "1ms",
        " 15m",
        "15m\n",
        "1m 5s",
        "100000s",
        "1m1m",
        "٣m",
        "PT15M",
    ],
)
def test_refuses_what_is_no_duration(text: str) -> None:
    """B3: what Go's grammar knows beyond this one is refused too, so that both read one value."""
    with pytest.raises(ValueError, match="is no duration"):
        duration.parse(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (10, "10s"), (60, "1m"), (600, "10m"), (3600, "1h"), (3661, "1h1m1s")],
)
def test_writes_the_shortest_text(seconds: int, text: str) -> None:
    assert duration.format(timedelta(seconds=seconds)) == text


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=99999 * 3600))
def test_reads_what_it_writes(seconds: int) -> None:
    value = timedelta(seconds=seconds)
    assert duration.parse(duration.format(value)) == value


@settings(deadline=None)
@given(*[st.integers(min_value=0, max_value=99999)] * 3)
def test_every_unit_counts_as_in_go(hours: int, minutes: int, seconds: int) -> None:
    value = timedelta(seconds=hours * 3600 + minutes * 60 + seconds)
    assert duration.parse(f"{hours}h{minutes}m{seconds}s") == value
