"""Addresses that foreign servers name: read with care, and left as they came."""

from functools import lru_cache

from yarl import URL


def foreign_url(text: str, base: URL) -> URL | None:
    """Resolve what a server named against the address that it answered for.

    It is not quoted anew: signatures in a query would not survive that.

    Returns:
        An absolute http or https address; None if the text is not one.
    """
    if not text or not all("!" <= character <= "~" for character in text):
        return None
    try:
        given = URL(text, encoded=True)
        url = base.join(given)
        # The library looks at host and port only now, and then may not like them.
        usable = url.scheme in ("http", "https") and url.raw_host and url.port
        if given.scheme and not given.raw_host:  # it would be taken for a relative one
            usable = False
    except (ValueError, IndexError):
        return None
    return url if usable else None


def has_user(url: URL) -> bool:
    """Whether a user name or password is part of the address."""
    return url.raw_user is not None or url.raw_password is not None


@lru_cache(maxsize=4096)
def host_port(url: URL) -> str:
    """Return the host of an address, with its port unless that is the scheme's default."""
    return url.raw_authority.rpartition("@")[2]
