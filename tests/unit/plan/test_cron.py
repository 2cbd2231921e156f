"""Turns by a cron schedule, through every change of the clocks (B6)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.plan.due import latest_turn, next_turn
from unit.plan.builders import NOW
from unit.plan.turns import REFERENCE, START, on_schedule, turns


class TestCron:
    @pytest.mark.parametrize("schedule", ["* * * * *", "0 3 * * *", "7,37 8-18 * * 1-5"])
    def test_the_delay_is_at_most_a_minute_and_always_the_same(self, schedule: str) -> None:
        """B6."""
        spec = on_schedule(schedule)
        delays = {round(turn % 60, 3) for turn in turns(spec, START, START + 86_400 * 3)}
        [delay] = delays
        assert 0 <= delay <= 60

    def test_the_delay_is_spread_over_the_images(self) -> None:
        """B6: evenly, over no more than a minute."""
        spec = on_schedule("0 3 * * *")
        three = NOW.replace(hour=3).timestamp() + 86_400
        delays = [
            next_turn(spec, f"docker.io/example/image-{number}:prod", START) - three
            for number in range(300)
        ]
        assert min(delays) >= 0
        assert max(delays) <= 60
        assert max(Counter(int(delay // 6) for delay in delays).values()) <= 60

    def test_every_minute(self) -> None:
        spec = on_schedule("* * * * *")
        assert len(list(turns(spec, START, START + 3600))) == 60

    def test_utc_if_nothing_is_said(self) -> None:
        turn = next_turn(on_schedule("0 3 * * *"), REFERENCE, START)
        assert datetime.fromtimestamp(turn, UTC).strftime("%H:%M") == "03:00"

    def test_in_the_zone_that_is_named(self) -> None:
        zone = "Asia/Kathmandu"
        turn = next_turn(on_schedule("0 3 * * *", zone), REFERENCE, START)
        assert datetime.fromtimestamp(turn, ZoneInfo(zone)).strftime("%H:%M") == "03:00"

    @settings(max_examples=100)
    @given(
        st.floats(1.7e9, 1.9e9),
        st.sampled_from(["* * * * *", "*/15 * * * *", "30 2 * * *", "0 0 29 2 *"]),
        st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
    )
    def test_now_lies_between_two_turns(self, now: float, schedule: str, zone: str) -> None:
        spec = on_schedule(schedule, zone)
        latest, following = latest_turn(spec, REFERENCE, now), next_turn(spec, REFERENCE, now)
        assert latest <= now < following
        assert latest_turn(spec, REFERENCE, (latest + now) / 2) == latest
        assert latest_turn(spec, REFERENCE, following) == following


CLOCK_CHANGES: Final[Mapping[str, tuple[datetime, ...]]] = {
    "Europe/Berlin": (datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)),
    "America/New_York": (datetime(2026, 3, 8, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)),
    "Australia/Lord_Howe": (datetime(2026, 4, 4, tzinfo=UTC), datetime(2026, 10, 3, tzinfo=UTC)),
}


SCHEDULES: Final[Mapping[str, tuple[set[int], set[int]]]] = {
    "* * * * *": (set(range(60)), set(range(24))),
    "*/15 * * * *": ({0, 15, 30, 45}, set(range(24))),
    "30 2 * * *": ({30}, {2}),
    "15 1-3 * * *": ({15}, {1, 2, 3}),
    "0 */2 * * *": ({0}, set(range(0, 24, 2))),
}


def expected(schedule: str, zone: ZoneInfo, start: datetime) -> list[float]:
    """A day of moments, counted by hand: each local minute of the calendar that the schedule
    names, at its first occurrence, or where there is none at the next minute that exists.
    """
    minutes, hours = SCHEDULES[schedule]
    first: dict[datetime, float] = {}
    local_minutes: list[tuple[datetime, float]] = []
    for minute in range(-180, 2 * 1440):
        instant = start + timedelta(minutes=minute)
        local = instant.astimezone(zone).replace(tzinfo=None)
        first.setdefault(local, instant.timestamp())
    local_minutes = sorted(first.items())
    moments = set()
    calendar = local_minutes[0][0]
    while calendar < local_minutes[-1][0]:
        if calendar.minute in minutes and calendar.hour in hours:
            moments.add(next(first[local] for local in _onwards(calendar) if local in first))
        calendar += timedelta(minutes=1)
    begin, end = start.timestamp(), (start + timedelta(days=1)).timestamp()
    return sorted(moment for moment in moments if begin < moment <= end)


def _onwards(local: datetime) -> Iterator[datetime]:
    while True:
        yield local
        local += timedelta(minutes=1)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("zone", "day"),
    [(zone, day) for zone, days in CLOCK_CHANGES.items() for day in days],
    ids=lambda value: value.strftime("%B") if isinstance(value, datetime) else value,
)
def test_through_a_clock_change(schedule: str, zone: str, day: datetime) -> None:
    """B6: a time that does not exist runs at the next that does, one that exists twice once."""
    spec = on_schedule(schedule, zone)
    delay = next_turn(spec, REFERENCE, START) % 60
    start = day.timestamp() + delay
    moments = expected(schedule, ZoneInfo(zone), day)
    found = [turn - delay for turn in turns(spec, start, start + 86_400)]
    assert found == pytest.approx(moments)
    ticks = [start + tick for tick in range(0, 86_400, 600)]
    looks = [latest_turn(spec, REFERENCE, tick) - delay for tick in ticks]
    known = [looks[0], *moments]
    assert looks == pytest.approx(
        [max(moment for moment in known if moment <= tick - delay) for tick in ticks]
    )
