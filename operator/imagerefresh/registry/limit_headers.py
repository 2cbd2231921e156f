"""The headers in which registries tell how much of a rate limit is left; for people who debug.

What they hold is foreign, and not acted upon: only a refusal is (see `retry_after`).
"""

from collections.abc import Mapping

from imagerefresh.registry.error_text import clean

_PREFIXES = ("ratelimit-", "x-ratelimit-")
_NAMES = frozenset({"retry-after", "docker-ratelimit-source", "ratelimit"})
_MAX_HEADERS = 16


def limit_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return names, in lower case, and values, fit for people, in the order of the answer."""
    found: list[tuple[str, str]] = []
    for name, value in headers.items():
        lower = name.lower()
        if lower in _NAMES or lower.startswith(_PREFIXES):
            found.append((lower[:100], clean(value)))
    return tuple(found[:_MAX_HEADERS])
