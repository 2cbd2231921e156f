import base64
import json
from collections.abc import Mapping
from urllib.parse import quote, quote_plus, urlencode

import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from imagerefresh.registry.messages import Answer, Request

PASSWORD = "p\u00e4ss/w o:rd+"
BASIC = base64.b64encode(f"bob:{PASSWORD}".encode()).decode()


def error_text(said: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None) -> str:
    request = Request("GET", URL("https://registry.test/"), headers, form=form)
    body = json.dumps({"errors": [{"message": said}]}).encode()
    return Answer(401, CIMultiDictProxy(CIMultiDict()), body, request, 0.0).error_text()


@pytest.mark.parametrize(
    "form",
    [
        BASIC,
        BASIC.rstrip("="),
        PASSWORD,
        f"bob:{PASSWORD}",
        quote(PASSWORD),
        quote(PASSWORD, safe=""),
        quote_plus(PASSWORD),
    ],
)
def test_an_error_shows_no_password_that_was_sent(form: str) -> None:
    """B8, B10."""
    text = error_text(f"not '{form}' here", {"authorization": f"Basic {BASIC}"})
    assert text in ("not '[hidden]' here", "not '[hidden]=' here", "not '[hidden]==' here")


@pytest.mark.parametrize("token", ["eyJ0.b_c-d.e~f", "not base64: \u20ac"])
def test_an_error_shows_no_token_that_was_sent(token: str) -> None:
    assert error_text(f"<{token}>", {"Authorization": f"Bearer {token}"}) == "<[hidden]>"
    form = {"refresh_token": token, "scope": "repository:team/app:pull"}
    text = error_text(f"who sent {urlencode(form)}?", {}, form)
    assert text == f"who sent refresh_token=[hidden]&{urlencode({'scope': form['scope']})}?"


def test_nothing_is_left_of_one_at_the_end_of_a_long_text() -> None:
    text = error_text("x" * 290 + PASSWORD, {"Authorization": f"Basic {BASIC}"})
    assert "p\u00e4ss" not in text


def test_a_short_password_does_not_hide_words() -> None:
    basic = base64.b64encode(b"bob:a").decode()
    assert error_text("not a name", {"Authorization": f"Basic {basic}"}) == "not a name"


def test_what_is_no_base64_hides_itself() -> None:
    assert error_text("<<???>>", {"Authorization": "Basic <???>"}) == "<[hidden]>"
