"""What no table of samples can show of single values; see schema_samples for those."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import available_timezones

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from imagerefresh.api import duration, fields
from imagerefresh.reference import normalise

ascii_text = st.characters(codec="ascii")


def accepts(field: Any, value: object) -> bool:  # noqa: ANN401 an annotated type has no type
    try:
        TypeAdapter(field).validate_python(value)
    except ValidationError:
        return False
    return True


@settings(deadline=None)
@given(st.from_regex(rf"\A{fields._HOST}\Z", alphabet=ascii_text))
def test_every_accepted_registry_can_be_used(host: str) -> None:
    if accepts(fields.Registry, host):
        assert normalise(host, "example/web", "prod").registry


@pytest.mark.parametrize("text", ["10s", "15m", "720h", "719h60m", "0h0m10s", timedelta(hours=1)])
def test_a_duration_has_the_value_that_the_docs_say(text: str | timedelta) -> None:
    """B3: accepted means parsed."""
    value = TypeAdapter(fields.Duration).validate_python(text)
    assert value == (duration.parse(text) if isinstance(text, str) else text)


def test_a_duration_is_written_as_people_write_it() -> None:
    adapter = TypeAdapter[timedelta](fields.Duration)
    assert adapter.dump_python(timedelta(minutes=90), mode="json") == "1h30m"


@settings(deadline=None, max_examples=50)
@given(st.from_regex(rf"\A{fields._CRON}\Z", alphabet=ascii_text))
def test_every_accepted_schedule_comes_round(schedule: str) -> None:
    """B6: a policy with a schedule is never without a next turn."""
    if accepts(fields.Schedule, schedule):
        start = datetime(2024, 3, 1, tzinfo=UTC)
        assert next(CronSim(schedule, start)) > start


def test_every_zone_of_the_database_is_taken() -> None:
    zones = available_timezones() - {"localtime"}  # a link that some systems keep among the zones
    assert [zone for zone in zones if not accepts(fields.TimeZone, zone)] == []
    assert "Europe/Berlin" in zones
