"""Durations as people write them in a policy: hours, minutes and seconds, such as `1h30m`.

A subset of Go's duration strings, so that the API server's CEL reads the same value (B3). Bounds
are the business of the field that holds one.
"""

import re
from datetime import timedelta
from typing import Final

PATTERN: Final = r"^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$"
"""Whole units in this order, of five digits, which can't overflow Go's durations. It matches the
empty text too, which is no duration: RE2 can't say "at least one of these"."""


def parse(text: str) -> timedelta:
    """The value of `text`.

    Raises:
        ValueError: `text` is no duration of this grammar.
    """
    found = re.fullmatch(PATTERN, text)
    if not text or not found:
        raise ValueError(
            f"{text!r} is no duration: write hours, minutes and seconds, such as 1h30m"
        )
    hours, minutes, seconds = (int(part[:-1]) if part else 0 for part in found.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def format(value: timedelta) -> str:  # noqa: A001 the counterpart of parse, always read as duration.format
    """The shortest text for `value` in whole seconds, such as `1h30m`; zero is `0s`."""
    minutes, seconds = divmod(int(value.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
