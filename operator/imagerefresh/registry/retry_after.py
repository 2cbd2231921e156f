"""How long a server asks its clients to wait, in every form met in the field (B9).

Pure: the clock is passed in. No input raises anything.
"""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

_MAX_TEXT = 4096
_UNIX_SECONDS = 1e9
_UNIX_MILLISECONDS = 1e12

_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?", re.ASCII)
_IN_BODY = re.compile(r"retry[-_ ]after\"?\s{0,4}[:=]?\s{0,4}\"?", re.ASCII | re.IGNORECASE)
_DURATION_PART = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}


def from_header(value: str | None, now: float) -> float | None:
    """Read a Retry-After header.

    Seconds, an HTTP date in any of its three forms, a Unix time in seconds or milliseconds, or a
    duration such as ``1m30s``.

    Args:
        value: the header's value, None if there was none.
        now: Unix time.

    Returns:
        Seconds to wait, above zero; None if nothing usable was said.
    """
    if value is None:
        return None
    text = value[:_MAX_TEXT].strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number >= _UNIX_MILLISECONDS:
            number = number / 1000 - now
        elif number >= _UNIX_SECONDS:
            number -= now
        return _positive(number)
    duration = _duration(text, 0)
    return _positive(duration) if duration is not None else _date(text, now)


def from_body(text: str) -> float | None:
    """Find a wait inside the words of an error, such as ``retry-after: 880.092us``; in seconds."""
    text = text[:_MAX_TEXT]
    found = _IN_BODY.search(text)
    if found is None:
        return None
    duration = _duration(text, found.end())
    if duration is None:
        number = _NUMBER.match(text, found.end())
        duration = float(number[0]) if number else None
    return None if duration is None else _positive(duration)


def _duration(text: str, start: int) -> float | None:
    """Read a duration of one or more parts, as Go writes it."""
    total, position = 0.0, start
    while part := _DURATION_PART.match(text, position):
        total += float(part[1]) * _UNITS[part[2]]
        position = part.end()
    return total if position > start else None


def _date(text: str, now: float) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return _positive(date.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _positive(seconds: float) -> float | None:
    return seconds if seconds > 0 else None
