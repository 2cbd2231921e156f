"""What the attack tests look for would be found: else they could not fail."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest

from unit.registry.attacks.marks import Mark, docker_auth, found, new_mark, password


def _in_a_secret(text: str) -> str:
    """As the API server shows a pull secret."""
    auth = {"auth": base64.b64encode(f"user:{text}".encode()).decode()}
    config = json.dumps({"auths": {"registry.example.com": auth}})
    return json.dumps({"data": {".dockerconfigjson": base64.b64encode(config.encode()).decode()}})


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize(
    "wrap",
    [
        str,
        quote,
        quote_plus,
        json.dumps,
        repr,
        _in_a_secret,
        lambda text: urlencode({"refresh_token": text}),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(f"{text} and more".encode()).decode(),
        lambda text: text.encode().hex(),
        lambda text: f"Basic {docker_auth(password(_marked(text)))['auth']}",
    ],
)
def test_a_mark_is_found(before: str, wrap: Callable[[str], str]) -> None:
    mark, other = new_mark(), new_mark()
    text = f"some text {wrap(before + mark.text)} and more"
    assert found([mark, other], text) == found([mark, other], text.encode()) == [mark]


def test_nothing_is_found_where_nothing_is() -> None:
    assert found([new_mark()], f"{_in_a_secret('another')} {new_mark().text}") == []


def _marked(text: str) -> Mark:
    return Mark(text.partition("/")[2].partition("+")[0])
