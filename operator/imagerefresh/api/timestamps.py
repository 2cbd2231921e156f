"""Times as the Kubernetes API writes them: RFC 3339 in UTC, to the second."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """The text of an aware moment, such as `2026-02-03T04:05:06Z`."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def parse_timestamp(text: str | None) -> datetime | None:
    """The aware moment that a text names; None for an absent, malformed or zoneless one."""
    try:
        moment = datetime.fromisoformat(text or "")
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
