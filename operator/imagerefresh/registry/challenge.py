"""WWW-Authenticate headers: what a registry wants to see before it answers (RFC 9110, 11.6.1).

Tolerant, as real servers take liberties: spaces around the equals sign, unquoted URLs, missing
commas, empty values. Linear time, bounded input, and nothing raises: the header is foreign.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_MAX_TEXT = 16 * 1024
_MAX_CHALLENGES = 16

_SEPARATORS = re.compile(r"[\s,]++", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]++", re.ASCII)
_EQUALS = re.compile(r"\s*+=\s*+", re.ASCII)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.ASCII | re.DOTALL)
_UNQUOTED = re.compile(r'[^\s,"]*+', re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_NEXT_COMMA = re.compile(r"[^,]*+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One way to authenticate that the server offers.

    Attributes:
        scheme: in lower case, such as ``bearer`` or ``basic``.
        parameters: names in lower case, values as they came; the first of a name counts.
    """

    scheme: str
    parameters: Mapping[str, str]


def parse_challenges(lines: Iterable[str]) -> list[Challenge]:
    """Read all lines of the header, in order.

    A challenge that can't be read is left out, the others still count.
    """
    found: list[Challenge] = []
    budget = _MAX_TEXT
    for line in lines:
        found.extend(_parse_line(line[:budget]))
        budget -= len(line)
        if budget <= 0 or len(found) >= _MAX_CHALLENGES:
            break
    return found[:_MAX_CHALLENGES]


def _parse_line(text: str) -> list[Challenge]:
    found: list[Challenge] = []
    parameters: dict[str, str] = {}
    position = 0
    while True:
        position = _end(_SEPARATORS.match(text, position), position)
        token = _TOKEN.match(text, position)
        if token is None:
            if position >= len(text):
                return found
            position = max(position + 1, _end(_NEXT_COMMA.match(text, position), position))
            continue
        position = token.end()
        equals = _EQUALS.match(text, position)
        if equals is None:
            parameters = {}
            found.append(Challenge(token[0].lower(), parameters))
            continue
        position = equals.end()
        if text[position : position + 1] == '"':
            quoted = _QUOTED.match(text, position)
            if quoted is None:  # never closed: what follows can't be told apart any more
                return found[:-1]
            value, position = _ESCAPE.sub(r"\1", quoted[1]), quoted.end()
        else:
            unquoted = _UNQUOTED.match(text, position)
            value, position = (unquoted[0], unquoted.end()) if unquoted else ("", position)
        parameters.setdefault(token[0].lower(), value)


def _end(match: re.Match[str] | None, otherwise: int) -> int:
    return match.end() if match is not None else otherwise
