"""Addresses that foreign servers name: read with care, and left as they came."""

import re
from functools import lru_cache

from yarl import URL

_MAX_HOST = 255
# No escapes, no final dot, no zone: a second spelling of a name could pass a check of the first.
_HOST = re.compile(r"[a-z0-9_-]++(?:\.[a-z0-9_-]++)*+|[0-9a-f:.]++", re.ASCII)


def foreign_url(text: str, base: URL) -> URL | None:
    """Resolve what a server named against the address that it answered for.

    It is not quoted anew: signatures in a query would not survive that. Only the host is brought
    into the form that limits, rules and the address policy know it by.

    Returns:
        An absolute http or https address; None if the text is not one.
    """
    if not text or not all("!" <= character <= "~" for character in text):
        return None
    try:
        given = URL(text, encoded=True)
        url = base.join(given)
        # The library looks at host and port only now, and then may not like them.
        host = (url.raw_host or "").lower()
        usable = url.scheme in ("http", "https") and _HOST.fullmatch(host) and url.port
        if given.scheme and not given.raw_host:  # it would be taken for a relative one
            usable = False
        if not usable or len(host) > _MAX_HOST:
            return None
        port = None if url.is_default_port() else url.explicit_port
        return url.with_host(host).with_port(port)
    except (ValueError, IndexError):
        return None


def has_user(url: URL) -> bool:
    """Whether a user name or password is part of the address."""
    return url.raw_user is not None or url.raw_password is not None


@lru_cache(maxsize=4096)
def host_port(url: URL) -> str:
    """Return the host of an address, with its port unless that is the scheme's default."""
    return url.raw_authority.rpartition("@")[2]
