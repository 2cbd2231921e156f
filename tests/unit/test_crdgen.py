"""The generator of the CRD, and the file that it makes."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pytest
from pydantic import Field

from imagerefresh import crdgen
from imagerefresh.api.model import VALIDATIONS, ApiModel, Rule, Unique
from imagerefresh.api.policy import Spec, parse_spec
from imagerefresh.api.status import Status
from schema_documents import fields

SPEC: Final = crdgen.structural(Spec, with_defaults=True)
STATUS: Final = crdgen.structural(Status, with_defaults=False)


# The generator.


class Colour(StrEnum):
    """A colour."""

    RED = "Red"
    BLUE = "Blue"


class Inner(ApiModel):
    """Said of the class."""

    number: Annotated[int, Field(ge=0)] = 1
    """A number,
    on two lines.
    """


class Outer(ApiModel):
    """An example."""

    inner: Annotated[Inner, Rule("self.number > 0", "must be more: add one")]
    """Said of the field."""
    maybe: Inner | None = None
    colour: Colour = Colour.RED
    version: Literal["v1"] = "v1"
    names: Annotated[list[str], Unique()] = Field(default_factory=list)
    others: list[Inner] = Field(default_factory=list)


def test_a_model_becomes_one_structural_schema() -> None:
    number = {
        "description": "A number, on two lines.",
        "type": "integer",
        "default": 1,
        "minimum": 0,
    }
    inner = {
        "description": "Said of the class.",
        "type": "object",
        "properties": {"number": number},
    }
    assert crdgen.structural(Outer, with_defaults=True) == {
        "description": "An example.",
        "type": "object",
        "required": ["inner"],
        "properties": {
            "inner": inner
            | {
                "description": "Said of the field.",
                VALIDATIONS: [{"rule": "self.number > 0", "message": "must be more: add one"}],
            },
            "maybe": inner,
            "colour": {
                "description": "A colour.",
                "type": "string",
                "enum": ["Red", "Blue"],
                "default": "Red",
            },
            "version": {"type": "string", "enum": ["v1"], "default": "v1"},
            "names": {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "string"},
            },
            "others": {"type": "array", "x-kubernetes-list-type": "atomic", "items": inner},
        },
    }


def test_without_defaults_there_are_none() -> None:
    schema = crdgen.structural(Outer, with_defaults=False)
    assert "default" not in str(schema)


class WithMap(ApiModel):
    members: dict[str, str]


class WithPattern(ApiModel):
    text: Annotated[str, Field(pattern="^a$")]


class WithAlternatives(ApiModel):
    value: int | str


@pytest.mark.parametrize("model", [WithMap, WithPattern, WithAlternatives])
def test_what_is_not_known_to_be_structural_is_refused(model: type[ApiModel]) -> None:
    with pytest.raises(ValueError, match="structural"):
        crdgen.structural(model, with_defaults=True)


def test_writes_and_compares_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "crds" / "policies.yaml"
    monkeypatch.setattr(crdgen, "CRD_FILE", file)
    assert crdgen.main(["--check"]) == 1
    assert "run `make crds`" in capsys.readouterr().err
    assert not file.exists()
    assert crdgen.main([]) == 0
    assert crdgen.main(["--check"]) == 0
    file.write_text(file.read_text() + "\n")
    assert crdgen.main(["--check"]) == 1


# What it makes.


def test_the_file_is_up_to_date() -> None:
    assert crdgen.main(["--check"]) == 0


@pytest.mark.parametrize(("name", "field"), [*fields(SPEC), *fields(STATUS)])
def test_every_field_is_described_and_bounded(name: str, field: Mapping[str, Any]) -> None:
    """Unbounded fields would also cost CEL more than its budget."""
    assert field["description"].endswith("."), name
    bounds = {"string": {"maxLength", "enum", "format"}, "array": {"maxItems"}}
    if kind := bounds.get(field["type"]):
        assert field.keys() & kind
    assert ("x-kubernetes-list-type" in field) is (field["type"] == "array")


def rules(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from schema.get(VALIDATIONS, [])
    for _, field in fields(schema):
        yield from field.get(VALIDATIONS, [])
        yield from field.get("items", {}).get(VALIDATIONS, [])


def test_every_rule_says_what_to_do() -> None:
    messages = [rule["message"] for rule in rules(SPEC)]
    assert len(messages) > 20
    for message in messages:
        must, _, advice = message.partition(": ")
        assert must.startswith("must ")
        assert advice


def test_defaults_are_those_of_the_models() -> None:
    image = {"name": "a", "registry": "b.c", "repository": "d", "tag": "e"}
    spec = parse_spec(
        {
            "targetRef": {"kind": "Deployment", "name": "a"},
            "images": [{**image, "action": {"type": "Restart", "restart": {}}}],
            "rollout": {},
        }
    )
    dumped = spec.model_dump(mode="json", by_alias=True)
    compared = 0
    for name, field in fields(SPEC):
        if "default" in field and field["type"] != "object":
            value = dumped
            for part in name.split("."):
                value = value[part.removesuffix("[]")]
                value = value[0] if part.endswith("[]") else value
            assert value == field["default"], name
            compared += 1
    assert compared == 7


def test_nothing_is_set_where_it_would_be_in_the_way() -> None:
    """A default interval would refuse every schedule; one in status would come back unasked."""
    assert "default" not in SPEC["properties"]["interval"]
    assert [name for name, field in fields(STATUS) if "default" in field] == []


def test_columns_show_fields_that_exist() -> None:
    known = {f"spec.{name}" for name, _ in fields(SPEC)}
    known |= {f"status.{name}" for name, _ in fields(STATUS)} | {"metadata.creationTimestamp"}
    for column in crdgen.COLUMNS:
        path = column["jsonPath"].removeprefix(".").replace('[?(@.type=="Ready")]', "[]")
        assert path in known
