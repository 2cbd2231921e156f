"""What of a registry's error answer people get to see (B8).

Only the text of OCI ``errors[]`` entries: an error page of some proxy, or a field that echoes a
request, could hold anything.
"""

import json
import re

MAX_LENGTH = 300

# An error text that differs at each attempt would look like news each time.
_VARYING = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.:Z+-]{0,20}",
    re.ASCII,
)


def oci_error_text(body: bytes) -> str:
    """Return the messages of an OCI error answer, or "" if it is not one. Never raises.

    At most `MAX_LENGTH` characters on one line, without control characters and what changes from
    one request to the next.
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
        if isinstance(error, dict):
            text = next((v for v in (error.get("message"), error.get("code")) if _usable(v)), "")
            if text and text not in texts:
                texts.append(text[: 4 * MAX_LENGTH])
    return clean("; ".join(texts))


def clean(text: str) -> str:
    """Make foreign text fit for a message: one line, printable, bounded."""
    printable = "".join(c if c.isprintable() else " " for c in text[: 8 * MAX_LENGTH])
    line = _VARYING.sub("...", " ".join(printable.split()))
    return line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - 3]}..."


def _usable(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
