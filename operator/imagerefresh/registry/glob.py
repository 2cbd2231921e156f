"""Patterns for one label of a host name, in the manner of a shell's file name patterns.

They come from pull secrets, which people write, so that matching takes no longer than the product
of both lengths, whatever the pattern. The standard library's patterns differ in their classes.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Class:
    """A set of characters: `?`, a single one, or what stands in brackets."""

    ranges: tuple[tuple[str, str], ...]
    is_negated: bool = False

    def has(self, character: str) -> bool:
        return self.is_negated != any(low <= character <= high for low, high in self.ranges)


_ANY = _Class((), is_negated=True)
_STAR = None
_Token = _Class | None


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern stands for all of the text.

    `*` is any run of characters, `?` any one, `[a-z]` one of a class, `[^a-z]` one of no class, and
    a backslash takes the next character as it is. A pattern that is not well-formed matches
    nothing.
    """
    tokens = _parse(pattern)
    if tokens is None:
        return False
    at = place = 0
    star = retry = -1
    while place < len(text):
        token = tokens[at] if at < len(tokens) else _STAR
        if at < len(tokens) and token is _STAR:
            star, retry, at = at, place, at + 1
        elif token is not _STAR and token.has(text[place]):
            at, place = at + 1, place + 1
        elif star >= 0:  # let the last star take one more
            retry += 1
            at, place = star + 1, retry
        else:
            return False
    return all(token is _STAR for token in tokens[at:])


def _parse(pattern: str) -> list[_Token] | None:
    """Read a pattern; None for one that is not well-formed."""
    tokens: list[_Token] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            tokens.append(_STAR)
        elif character == "?":
            tokens.append(_ANY)
        elif character == "[":
            found = _parse_class(pattern, at + 1)
            if found is None:
                return None
            token, at = found
            tokens.append(token)
            continue
        else:
            if character == "\\":
                at += 1
                if at == len(pattern):
                    return None
                character = pattern[at]
            tokens.append(_Class(((character, character),)))
        at += 1
    return tokens


def _parse_class(pattern: str, at: int) -> tuple[_Class, int] | None:
    """Read what follows a `[`; returns the class and where the pattern goes on."""
    is_negated = pattern[at : at + 1] == "^"
    at += is_negated
    ranges: list[tuple[str, str]] = []
    while pattern[at : at + 1] != "]" or not ranges:
        low, at = _parse_bound(pattern, at)
        high = low
        if low and pattern[at : at + 1] == "-":
            high, at = _parse_bound(pattern, at + 1)
        if not low or not high:
            return None
        ranges.append((low, high))
    return _Class(tuple(ranges), is_negated), at + 1


def _parse_bound(pattern: str, at: int) -> tuple[str, int]:
    """Read one bound of a range; an empty one is not well-formed."""
    if pattern[at : at + 1] == "\\":
        at += 1
    elif pattern[at : at + 1] in ("-", "]"):
        return "", at
    return pattern[at : at + 1], at + 1
