import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.registry.glob import matches


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("abc", "abc", True),
        ("abc", "abcd", False),
        ("abc", "ab", False),
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("*", "anything", True),
        ("a*", "a", True),
        ("a*c", "abbc", True),
        ("a*c", "abbcd", False),
        ("*-*", "a-b-c", True),
        ("a*b*c", "abc", True),
        ("**", "x", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[a-c]x", "bx", True),
        ("[a-c]x", "dx", False),
        ("[^a-c]x", "dx", True),
        ("[^a-c]x", "bx", False),
        ("[!a]", "!", True),  # no negation here
        ("[!a]", "b", False),
        ("[abc-]", "-", False),  # a bound that is not there
        ("[a", "a", False),
        ("[]", "]", False),
        ("[]a]", "a", False),
        ("[\\]]", "]", True),
        ("[\\-x]", "-", True),
        ("[a-", "a", False),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("a\\", "a\\", False),
    ],
)
def test_a_pattern(pattern: str, text: str, is_match: bool) -> None:
    assert matches(pattern, text) is is_match


def test_many_stars_take_no_time() -> None:
    """A pull secret must not hold up the operator; by backtracking this would take years."""
    assert not matches("*a" * 500, "a" * 499 + "b")


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_stars_and_question_marks_are_as_everywhere(pattern: str, text: str) -> None:
    expression = re.sub(r"\*+", "*", pattern).replace("*", ".*").replace("?", ".")
    assert matches(pattern, text) == bool(re.fullmatch(expression, text))


@given(st.text("ab*?[]^-\\", max_size=12), st.text(max_size=6))
def test_no_pattern_breaks_it(pattern: str, text: str) -> None:
    assert matches(pattern, text) in (True, False)


def test_a_class_has_what_its_ranges_have() -> None:
    for low, high, character in product("abc", repeat=3):
        assert matches(f"[{low}-{high}]", character) == (low <= character <= high)
