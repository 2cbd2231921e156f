"""docs/policy.md says of each field, rule and reason what the models say."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from imagerefresh import crdgen
from imagerefresh.api import names
from imagerefresh.api.model import VALIDATIONS
from imagerefresh.api.policy import Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageState, Status
from schema_documents import fields

TEXT: Final = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
SPEC: Final = crdgen.structural(Spec, with_defaults=True)
STATUS: Final = crdgen.structural(Status, with_defaults=False)


def field_row(path: str, field: Mapping[str, Any], *, is_required: bool) -> str:
    kind = field["type"]
    if "default" in field and kind != "object":
        kind += f", default `{field['default']}`".replace("False", "false")
    elif is_required:
        kind += ", required"
    taught = [field["description"]]
    for schema in (field, field.get("items", {})):
        taught += [f"`{rule['message']}`" for rule in schema.get(VALIDATIONS, [])]
    text = "<br>".join(taught).replace("<prefix>", "&lt;prefix>").replace("<name>", "&lt;name>")
    return f"| `{path}` | {kind} | {text} |"


def field_rows(root: str, schema: Mapping[str, Any]) -> Iterator[str]:
    everything = {"": schema, **dict(fields(schema))}
    for name, field in fields(schema):
        above, _, last = name.rpartition(".")
        parent = everything[above.removesuffix("[]")]
        required = parent.get("items", parent).get("required", [])
        yield field_row(f"{root}.{name}", field, is_required=last in required)


ROWS: Final = [
    *field_rows("spec", SPEC),
    *field_rows("status", STATUS),
    *(f"| `{reason}` | {reason.meaning} | {reason.remedy} |" for reason in Reason),
]
OTHERS: Final = [
    *(f"`{rule['message']}`" for rule in SPEC[VALIDATIONS]),
    *(f"`{state}`" for state in ImageState),
    names.REQUESTED_AT,
    names.RETRY_AT,
    names.record_annotation("<prefix>", "<name>"),
    names.state_annotation("<name>"),
    names.stamp_annotation("<name>"),
    names.pin_annotation("<name>"),
]


@pytest.mark.parametrize("text", [*ROWS, *OTHERS])
def test_the_documentation_has(text: str) -> None:
    """Where it has not: copy the text from the failure into docs/policy.md."""
    assert text in TEXT


def test_the_documentation_has_no_fields_or_reasons_more() -> None:
    rows = {line for line in TEXT.splitlines() if line.startswith("| `") and line.count("|") == 4}
    assert rows - set(ROWS) == set()
