"""Changes of a document, one field at a time, made from its schema in the CRD. Pure.

Enumerated and not drawn at random, so that each field meets each kind of change in each run: a
strategy made from the schema (hypothesis-jsonschema) knows neither CEL nor changes of one field,
and almost all that it draws is refused.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from schema_documents import ABSENT, SPEC, Json
from schema_samples import SAMPLES

_EMPTY: Final[Mapping[str, Json]] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "array": [],
    "object": {},
}
_WRONG: Final[Mapping[str, Sequence[Json]]] = {
    "string": (7, True, {"a": "b"}, ["a"]),
    "boolean": ("true", 1, {}),
    "integer": ("7", 1.5, True),
    "array": ("a", {"a": "b"}),
    "object": ("a", ["a"]),
}


@dataclass(frozen=True)
class FieldChange:
    """Other values at some places of a document; see schema_documents for paths and ABSENT."""

    kind: str
    """Such as "removed"; changes of one kind are counted together."""
    values: Mapping[str, Json]

    @property
    def name(self) -> str:
        """Which places, for people."""
        return ", ".join(
            f"{path} {'removed' if value is ABSENT else f'is {_cut(repr(value))}'}"
            for path, value in self.values.items()
        )

    def apply(self, document: Mapping[str, Json]) -> dict[str, Json]:
        """A copy of the document with the change made."""
        changed = deepcopy(dict(document))
        for path, value in self.values.items():
            _put(changed, path, value)
        return changed


def field_changes(schema: Mapping[str, Any], document: Mapping[str, Json]) -> Iterator[FieldChange]:
    """The changes of each field of a schema in a document.

    Only fields that the document has at its top are gone through. Of a list's items the first that
    has a field stands for all; a field that none has is put into the first that could have it.
    """
    top = {name: schema["properties"][name] for name in document}
    chosen: dict[str, list[FieldChange]] = {}
    for field, path, member, value in _places({"properties": top}, dict(document)):
        if field not in chosen or value is not ABSENT:
            chosen[field] = list(_changes(path, member, value))
    yield from itertools.chain.from_iterable(chosen.values())


def sample_changes(registry: str) -> Iterator[FieldChange]:
    """Values that the rules take and refuse, put into a spec like that of schema_documents.

    Images of other registries are looked for in `registry` instead, so that nothing leaves the
    machine; hosts that could be reached are left out.
    """
    for samples in SAMPLES:
        for kind, values in (("good by its rule", samples.good), ("bad by its rule", samples.bad)):
            for path, value in ((path, value) for path in samples.paths for value in values):
                if path.endswith("registry") and not _is_unreachable(value):
                    continue
                places = {path: value} if path else _differences(value)
                moved = {f"spec.{each}": _moved(it, registry) for each, it in places.items()}
                yield FieldChange(kind, moved)


def _is_unreachable(host: str) -> bool:
    """Whether a good host is on this machine, or can't be one, as it is too long."""
    return host.startswith(("localhost", "127.0.0.1", "[::1]")) or len(host) > 63


def _differences(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The members in which a spec differs from that of schema_documents."""
    return {
        name: spec.get(name, ABSENT)
        for name in SPEC.keys() | spec.keys()
        if spec.get(name, ABSENT) != SPEC.get(name, ABSENT)
    }


def _moved(value: Json, registry: str) -> Json:
    if isinstance(value, dict):
        moved = {name: _moved(member, registry) for name, member in value.items()}
        return moved | ({"registry": registry} if value.get("registry") == "docker.io" else {})
    return [_moved(item, registry) for item in value] if isinstance(value, list) else value


def _places(
    schema: Mapping[str, Any], document: Json, field: str = "", path: str = ""
) -> Iterator[tuple[str, str, Mapping[str, Any], Json]]:
    """Field, path, schema and value; those of later items of a list first."""
    if isinstance(document, list):
        for index in reversed(range(len(document))):
            where = f"{path}.{index}"
            yield f"{field}[]", where, schema["items"], document[index]
            yield from _places(schema["items"], document[index], f"{field}[]", where)
    elif isinstance(document, dict):
        for name, member in schema.get("properties", {}).items():
            here = f"{field}.{name}" if field else name
            where = f"{path}.{name}" if path else name
            value = document.get(name, ABSENT)
            yield here, where, member, value
            yield from _places(member, value, here, where)


def _changes(path: str, schema: Mapping[str, Any], value: Json) -> Iterator[FieldChange]:
    kind = schema["type"]
    if value is not ABSENT:
        yield FieldChange("removed", {path: ABSENT})
    yield FieldChange("null", {path: None})
    yield FieldChange("empty", {path: _EMPTY[kind]})
    for other in _others(schema, value):
        yield FieldChange("changed", {path: other})
    if isinstance(value, dict):
        yield FieldChange("unknown field", {f"{path}.unknown": "x"})
    for bound in _bounds(schema, value):
        yield FieldChange("bound", {path: bound})
    for wrong in _WRONG[kind]:
        yield FieldChange("wrong type", {path: wrong})


def _others(schema: Mapping[str, Any], value: Json) -> Iterator[Json]:
    if "enum" in schema:
        yield from (each for each in schema["enum"] if each != value)
        yield "Other"
    elif schema["type"] == "boolean":
        yield value is not True


def _bounds(schema: Mapping[str, Any], value: Json) -> Iterator[Json]:
    if (longest := schema.get("maxLength")) is not None:
        yield "a" * longest
        yield "a" * (longest + 1)
    if "minimum" in schema:
        yield schema["minimum"]
        yield schema["minimum"] - 1
        yield 2 ** (31 if schema.get("format") == "int32" else 63) - 1
    if (most := schema.get("maxItems")) is not None:
        first = value[0] if isinstance(value, list) and value else _item(schema["items"])
        keys = schema.get("x-kubernetes-list-map-keys")
        yield [_numbered(first, keys, number) for number in range(most)]
        yield [_numbered(first, keys, number) for number in range(most + 1)]
        yield [first, first]


def _item(schema: Mapping[str, Any]) -> Json:
    if schema["type"] != "object":
        return "a"
    return dict.fromkeys(schema.get("required", []), "a")


def _numbered(item: Json, keys: Sequence[str] | None, number: int) -> Json:
    """An item that differs from its siblings."""
    if isinstance(item, dict):
        return item | dict.fromkeys(keys or [], f"n{number}")
    return f"n{number}"


def _put(document: Json, path: str, value: Json) -> None:
    parts: list[Any] = [int(part) if part.isdigit() else part for part in path.split(".")]
    *parents, last = parts
    for part in parents:
        document = document[part] if isinstance(part, int) else document.setdefault(part, {})
    if value is not ABSENT:
        document[last] = value
    elif isinstance(document, list) or last in document:
        del document[last]


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"
