import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.registry.retry_after import from_body, from_header

NOW = 1_790_000_000.0  # Mon, 21 Sep 2026 14:13:20 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("60", 60),
        (" 60 ", 60),
        ("0", None),
        ("-5", None),
        ("1.5", 1.5),
        ("0.000880092", 0.000880092),
        # Dates in the three forms of HTTP.
        ("Mon, 21 Sep 2026 14:14:20 GMT", 60),
        ("Monday, 21-Sep-26 14:14:20 GMT", 60),
        ("Mon Sep 21 14:14:20 2026", 60),
        ("Mon, 21 Sep 2026 14:13:20 GMT", None),
        ("Mon, 21 Sep 2020 14:13:20 GMT", None),
        ("Mon, 21 Sep 2026 16:14:20 +0200", 60),
        # A point in time as a number, in seconds and in milliseconds.
        ("1790000060", 60),
        ("1790000060.5", 60.5),
        ("1790000060000", 60),
        ("1600000000", None),
        # A duration as Go writes it.
        ("880.092us", 880.092e-6),
        ("1m30s", 90),
        ("1h", 3600),
        ("250ms", 0.25),
        ("5µs", 5e-6),
        ("5μs", 5e-6),
        ("5ns", 5e-9),
        # Nonsense.
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("Mon, 99 Foo 2026 99:99:99 GMT", None),
        ("9" * 5000, None),
    ],
)
def test_from_header(value: str | None, seconds: float | None) -> None:
    """B9: Retry-After in every form seen in the field."""
    found = from_header(value, NOW)
    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        ("toomanyrequests: retry-after: 880.092us, allowed: 44000/minute", 880.092e-6),
        ("retry-after: 1m30s, allowed: 2000/minute", 90),
        ('{"errors":[{"message":"Retry-After: 12s"}]}', 12),
        ('{"retry_after": 30}', 30),
        ('{"retry_after":"2s"}', 2),
        ("retry after 7", 7),
        ("retry-after: soon", None),
        ("please retry later", None),
        ("retry-after: 0s", None),
    ],
)
def test_from_body(text: str, seconds: float | None) -> None:
    """B9: some registries say it inside the message only."""
    found = from_body(text)
    assert found == (None if seconds is None else pytest.approx(seconds))


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60) | st.text("0123456789.hmsuµn -GMTon,:+", max_size=40))
def test_raises_nothing_and_is_never_negative(text: str) -> None:
    for found in (from_header(text, NOW), from_body(f"retry-after: {text}")):
        assert found is None or found > 0
