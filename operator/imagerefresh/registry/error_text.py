"""What of a registry's error answer people get to see (B8).

Only the text of OCI ``errors[]`` entries: an error page of some proxy, or a field that echoes a
request, could hold anything.
"""

import json
import re
from collections.abc import Collection

MAX_LENGTH = 300

# An error text that differs at each attempt would look like news each time.
_VARYING = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.:Z+-]{0,20}",
    re.ASCII,
)


def oci_error_text(body: bytes, hidden: Collection[str] = ()) -> str:
    """Return the messages of an OCI error answer, or "" if it is not one. Never raises.

    At most `MAX_LENGTH` characters on one line, without control characters and what changes from
    one request to the next, and with a mark in place of each of the `hidden` texts.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    errors = document.get("errors") if isinstance(document, dict) else None
    if not isinstance(errors, list):
        return ""
    texts: list[str] = []
    for error in errors[:5]:
        text = _text(error)
        for secret in hidden:  # before anything is cut: a part of one is too much
            text = text.replace(secret, "[hidden]")
        if text and text not in texts:
            texts.append(text[: 4 * MAX_LENGTH])
    return clean("; ".join(texts))


def clean(text: str) -> str:
    """Make foreign text fit for a message: one line, printable, bounded."""
    printable = "".join(c if c.isprintable() else " " for c in text[: 8 * MAX_LENGTH])
    line = _VARYING.sub("...", " ".join(printable.split()))
    return line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - 3]}..."


def _text(error: object) -> str:
    fields = (error.get("message"), error.get("code")) if isinstance(error, dict) else ()
    return next((field for field in fields if isinstance(field, str) and field.strip()), "")
