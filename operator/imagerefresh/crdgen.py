"""Writes crds/ from the models; with --check, only says whether that is up to date.

A tool of development: the operator never imports it. The API server takes only structural schemas,
which the JSON schemas that pydantic makes are not; `structural` is the way from one to the other.
What a schema says is the business of `api`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from imagerefresh.api import names
from imagerefresh.api.model import VALIDATIONS, ApiModel
from imagerefresh.api.policy import Spec
from imagerefresh.api.status import Status

Schema = dict[str, Any]

CRD_NAME: Final = f"{names.PLURAL}.{names.GROUP}"
CRD_FILE: Final = (
    Path(__file__).resolve().parents[2] / "crds" / f"{names.GROUP}_{names.PLURAL}.yaml"
)

_HEADER: Final = "# Made from the models by `make crds`: change those, not this file.\n"

# Keywords of a structural schema that the models use, in the order in which they are written.
_KEPT: Final = (
    "description",
    "type",
    "format",
    "enum",
    "default",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    VALIDATIONS,
    "required",
    "properties",
    "items",
)
_DROPPED: Final = frozenset({"title", "$defs"})


def structural(model: type[ApiModel], *, with_defaults: bool) -> Schema:
    """The structural schema of a model.

    Without defaults the API server adds nothing to what is written: a status must come back as it
    was sent.

    Raises:
        ValueError: the model uses what a structural schema can't have, or what was not needed yet.
    """
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}), with_defaults=with_defaults)


def _structural(schema: Schema, definitions: dict[str, Schema], *, with_defaults: bool) -> Schema:
    schema = _resolved(schema, definitions)
    if unknown := schema.keys() - _DROPPED - set(_KEPT):
        raise ValueError(f"keywords {sorted(unknown)} are not known to be structural")
    result = {key: schema[key] for key in _KEPT if key in schema}
    if not with_defaults:
        result.pop("default", None)
    if "description" in result:
        result["description"] = " ".join(result["description"].split())
    if "properties" in result:
        result["properties"] = {
            name: _structural(member, definitions, with_defaults=with_defaults)
            for name, member in result["properties"].items()
        }
    if "items" in result:
        result.setdefault("x-kubernetes-list-type", "atomic")
        result["items"] = _structural(result["items"], definitions, with_defaults=with_defaults)
    return result


def _resolved(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """The schema with references followed; of an optional field, without the null alternative."""
    result = dict(schema)
    if "anyOf" in result:
        alternatives = [each for each in result.pop("anyOf") if each != {"type": "null"}]
        if len(alternatives) != 1:
            raise ValueError("alternatives are not structural")
        if result.get("default", ...) is None:
            del result["default"]
        return _resolved(alternatives[0] | result, definitions)
    if "$ref" in result:
        name = result.pop("$ref").removeprefix("#/$defs/")
        return _resolved(definitions[name] | result, definitions)
    if "const" in result:
        result["enum"] = [result.pop("const")]
    return result


def _column(name: str, path: str, kind: str = "string", *, wide: bool = False) -> Schema:
    column: Schema = {"name": name, "type": kind, "jsonPath": path}
    return column | {"priority": 1} if wide else column


_READY: Final = '.status.conditions[?(@.type=="Ready")]'

COLUMNS: Final = (
    _column("Target", ".spec.targetRef.name"),
    _column("Ready", f"{_READY}.status"),
    _column("Status", f"{_READY}.reason"),
    _column("Last Refresh", ".status.lastRefreshTime", "date"),
    _column("Age", ".metadata.creationTimestamp", "date"),
    _column("Last Check", ".status.lastCheckTime", "date", wide=True),
    # A date is shown as the time since then, and one in the future as invalid.
    _column("Next Check", ".status.nextCheckTime", wide=True),
)


def custom_resource_definition() -> Schema:
    """The whole CustomResourceDefinition."""
    schema: Schema = {
        "description": "Follows published images for one workload: when a tag moves, the workload"
        " is brought to the new image once, and the image is recorded as soon as it is proven"
        " healthy.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"description": f"{names.API_VERSION}.", "type": "string"},
            "kind": {"description": f"{names.KIND}.", "type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(Spec, with_defaults=True),
            "status": structural(Status, with_defaults=False),
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD_NAME},
        "spec": {
            "group": names.GROUP,
            "names": {
                "kind": names.KIND,
                "listKind": f"{names.KIND}List",
                "plural": names.PLURAL,
                "singular": names.SINGULAR,
                "shortNames": [names.SHORT_NAME],
                "categories": [names.CATEGORY],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": names.VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": list(COLUMNS),
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def text() -> str:
    """The file as it should be."""
    document = yaml.safe_dump(
        custom_resource_definition(), sort_keys=False, width=100, allow_unicode=True
    )
    return _HEADER + document


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the file, or compares it. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m imagerefresh.crdgen", description="Write crds/."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail if out of date")
    if not parser.parse_args(arguments).check:
        CRD_FILE.parent.mkdir(exist_ok=True)
        CRD_FILE.write_text(text(), encoding="utf-8")
        return 0
    if CRD_FILE.exists() and CRD_FILE.read_text(encoding="utf-8") == text():
        return 0
    print(f"{CRD_FILE} is out of date: run `make crds`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
