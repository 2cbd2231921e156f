"""What the models share: rules that API server and operator apply alike, and tolerance for nulls.

Nothing of the resource itself belongs here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import override

VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in two languages with one message.

    CEL is for the API server, Python for objects that were stored before the rule existed (B3). Put
    it into `Annotated` for a value, or into `ApiModel.rules` for an object.
    """

    cel: str
    message: str
    """What must hold, and what to do about it: "must ...: ..."."""
    check: Callable[[Any], bool] | None = None
    """None for a rule on how the value may change, which only the API server can apply."""
    optional_old_self: bool = False
    """Whether `oldSelf` in the rule is an optional, so that the rule holds for new objects too."""

    def apply(self, value: Any) -> Any:  # noqa: ANN401 as the validated value
        """Answers `value`, or refuses it as pydantic wants it refused."""
        if self.check and not self.check(value):
            raise PydanticCustomError("rule", "{message}", {"message": self.message})
        return value

    def add_to(self, schema: JsonSchemaValue) -> JsonSchemaValue:
        """Answers the JSON schema with the CEL half added."""
        rule: JsonSchemaValue = {"rule": self.cel, "message": self.message}
        if self.optional_old_self:
            rule["optionalOldSelf"] = True
        schema.setdefault(VALIDATIONS, []).append(rule)
        return schema

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.apply, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return self.add_to(handler(schema))


def grammar(pattern: str, message: str) -> Rule:
    """A rule that a whole string matches `pattern`, which must be both RE2 and Python's."""
    return Rule(
        f"self.matches(r'{pattern}')",
        message,
        lambda text: re.fullmatch(pattern, text) is not None,
    )


@dataclass(frozen=True, slots=True)
class Unique:
    """Makes a list a map keyed by `key`, or a set without one.

    No two items are alike then, and server-side apply merges item by item.
    """

    key: str | None = None

    def apply(self, items: list[Any]) -> list[Any]:
        """Answers `items`, or refuses them as pydantic wants them refused."""
        seen = set()
        for item in items:
            identity = getattr(item, self.key) if self.key else item
            if identity in seen:
                raise PydanticCustomError(
                    "unique", "must not list {item} twice", {"item": identity}
                )
            seen.add(identity)
        return items

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.apply, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        keys = {"x-kubernetes-list-map-keys": [self.key]} if self.key else {}
        return handler(schema) | {"x-kubernetes-list-type": "map" if self.key else "set"} | keys


class ApiModel(BaseModel):
    """A part of the resource.

    Attributes are snake_case, JSON is camelCase. The docstring under a field is what
    `kubectl explain` prints.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
        frozen=True,
        extra="ignore",
    )

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _obey_rules(self) -> Self:
        for rule in self.rules:
            rule.apply(self)
        return self

    @classmethod
    @override
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        own = handler.resolve_ref_schema(json_schema)
        for rule in cls.rules:
            rule.add_to(own)
        return json_schema


def plain(value: Any) -> Any:  # noqa: ANN401 any JSON value
    """A copy of a JSON value without explicit null members, which count as absent (B3)."""
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items() if member is not None}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
