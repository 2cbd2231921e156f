import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagerefresh.registry.error_text import MAX_LENGTH, clean, oci_error_text


def body(*errors: object) -> bytes:
    return json.dumps({"errors": list(errors)}).encode()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (body({"code": "DENIED", "message": "denied"}), "denied"),
        (body({"code": "NAME_UNKNOWN", "message": ""}), "NAME_UNKNOWN"),
        (body({"code": "NAME_UNKNOWN"}), "NAME_UNKNOWN"),
        (body({"message": "one"}, {"message": "two"}, {"message": "one"}), "one; two"),
        (body({"message": "x", "detail": "secret"}), "x"),
        (body({"message": "a\x1b[31m\r\nb\u2028c\td"}), "a [31m b c d"),
        (body({"message": "id 0b0a1c1e-0000-4000-8000-0123456789ab failed"}), "id ... failed"),
        (body({"message": "since 2026-09-21T14:13:20.123Z, sorry"}), "since ..., sorry"),
        (body({"message": "\ud800 x"}), "x"),
        # Nothing but OCI errors is shown.
        (b"", ""),
        (b"<html>login</html>", ""),
        (b"\xff\xfe", ""),
        (b"[" * 100000, ""),
        (b'"errors"', ""),
        (b'{"errors": "denied"}', ""),
        (b'{"errors": {"message": "denied"}}', ""),
        (b'{"details": "incorrect password"}', ""),
        (body("denied", 1, None, [], {"message": 5, "code": None}), ""),
    ],
)
def test_only_the_text_of_oci_errors_is_shown(answer: bytes, text: str) -> None:
    """B8, and B7: what differs each time is left out."""
    assert oci_error_text(answer) == text


def test_text_is_cut_on_a_character_boundary() -> None:
    """B8."""
    text = oci_error_text(body({"message": "\U0001f600" * 1000}))
    assert text == "\U0001f600" * (MAX_LENGTH - 3) + "..."
    assert oci_error_text(body({"message": "x" * MAX_LENGTH})) == "x" * MAX_LENGTH


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=400))
def test_clean_text_is_one_printable_bounded_line(text: str) -> None:
    assert clean(text).isprintable()
    assert len(clean(text)) <= MAX_LENGTH


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["errors", "message", "code", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(JSON)
def test_raises_nothing(document: object) -> None:
    assert isinstance(oci_error_text(json.dumps({"errors": document}).encode()), str)
    assert isinstance(oci_error_text(json.dumps(document).encode()), str)
