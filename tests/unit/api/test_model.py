from types import MappingProxyType
from typing import Annotated, ClassVar

import pytest
from pydantic import ValidationError

from imagerefresh.api.model import VALIDATIONS, ApiModel, Rule, Unique, grammar, plain

EVEN = Rule("self % 2 == 0", "must be even: add one", lambda number: number % 2 == 0)


class Item(ApiModel):
    name: str


class Example(ApiModel):
    number: Annotated[int, EVEN] = 0
    word: Annotated[str, grammar("^[a-z]+$", "must be a {word}: use letters")] = "a"
    items: Annotated[list[Item], Unique("name")] = []  # noqa: RUF012 pydantic copies it
    tags: Annotated[list[str], Unique()] = []  # noqa: RUF012 pydantic copies it
    last_word: str = "a"

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.word <= self.lastWord",
            "must be in order: swap the words",
            lambda example: example.word <= example.last_word,
        ),
        Rule("self == oldSelf", "must not change: make another"),
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"number": 1}, "must be even: add one"),
        ({"word": "A"}, "must be a {word}: use letters"),
        ({"word": "a\n"}, "must be a {word}: use letters"),
        ({"word": "b"}, "must be in order: swap the words"),
        ({"items": [{"name": "x"}, {"name": "y"}, {"name": "x"}]}, "must not list x twice"),
        ({"tags": ["x", "x"]}, "must not list x twice"),
    ],
)
def test_a_broken_rule_says_what_to_do(data: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Example.model_validate(data)
    assert [error["msg"] for error in caught.value.errors()] == [message]


def test_kept_rules_pass() -> None:
    example = Example.model_validate(
        {"number": 2, "word": "a", "lastWord": "b", "tags": ["x", "y"], "items": [{"name": "x"}]}
    )
    assert example.items == [Item(name="x")]


def test_the_schema_carries_the_other_half_of_each_rule() -> None:
    schema = Example.model_json_schema()
    fields = schema["properties"]
    assert fields["number"][VALIDATIONS] == [
        {"rule": "self % 2 == 0", "message": "must be even: add one"}
    ]
    assert fields["word"][VALIDATIONS][0]["rule"] == "self.matches(r'^[a-z]+$')"
    assert fields["items"]["x-kubernetes-list-type"] == "map"
    assert fields["items"]["x-kubernetes-list-map-keys"] == ["name"]
    assert fields["tags"]["x-kubernetes-list-type"] == "set"
    assert [each["message"] for each in schema[VALIDATIONS]] == [
        "must be in order: swap the words",
        "must not change: make another",
    ]


def test_rules_of_a_model_stay_with_it_wherever_it_is_used() -> None:
    class Outer(ApiModel):
        example: Example

    assert len(Outer.model_json_schema()["$defs"]["Example"][VALIDATIONS]) == 2
    with pytest.raises(ValidationError, match="must be in order"):
        Outer.model_validate({"example": {"word": "b"}})


def test_nulls_count_as_absent_at_any_depth() -> None:
    """B3."""
    raw = MappingProxyType({"a": None, "b": [{"c": None, "d": 0}], "e": {"f": None}, "g": False})
    assert plain(raw) == {"b": [{"d": 0}], "e": {}, "g": False}
