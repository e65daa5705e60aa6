"""The JSON Schema of exported documents, made from the declarations of rows and metrics.

``python -m fmacost.reports.schema`` prints it, ``docs/reference/schema-1.json`` is that output. The
number is what the documents that it describes have as their ``schema``.
"""

import json
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from fmacost.reports.metrics import METRICS
from fmacost.reports.row import METHODS, SCHEMA, Row

Schema = dict[str, Any]
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Mapping[type, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
}


def document_schema() -> Schema:
    """Return the schema of a document, ``{"schema": 1, "rows": [...]}``.

    Every row is an object. One that has a recipe is a cost row, with all of its fields and perhaps
    more, such as ratios; one that has an error is a point of a sweep that failed. Rows of other
    commands, such as ``formats``, have fields of their own.
    """
    cost_row = _object(Row)
    cost_row["properties"]["schema"] = {"const": SCHEMA}
    cost_row["properties"]["digest"]["pattern"] = "^[0-9a-f]{64}$"
    cost_row["properties"]["verification"]["properties"]["method"] = {"enum": list(METHODS)}
    for metric in METRICS:
        if metric.name in cost_row["properties"] and not metric.path:
            unit = f" [{metric.unit}]" if metric.unit else ""
            cost_row["properties"][metric.name]["description"] = f"{metric.definition}{unit}"
    failed = {"required": ["unit", "technology", "error"], "properties": {"error": _TYPES[str]}}
    row = {
        "type": "object",
        "allOf": [
            {"if": {"required": ["recipe"]}, "then": {"$ref": "#/$defs/cost_row"}},
            {"if": {"required": ["error"]}, "then": {"$ref": "#/$defs/failed_point"}},
        ],
    }
    return {
        "$schema": _DRAFT,
        "title": f"Document of fmacost, schema {SCHEMA}",
        "type": "object",
        "required": ["schema", "rows"],
        "additionalProperties": False,
        "properties": {"schema": {"const": SCHEMA}, "rows": {"type": "array", "items": row}},
        "$defs": {"cost_row": cost_row, "failed_point": failed},
    }


def _object(kind: type) -> Schema:
    """Return the schema of the JSON of a dataclass; further properties are allowed."""
    hints = get_type_hints(kind)
    properties = {field.name: _value(hints[field.name]) for field in fields(kind)}
    required = [name for name, schema in properties.items() if "null" not in schema["type"]]
    return {"type": "object", "required": required, "properties": properties}


def _value(hint: Any) -> Schema:
    if is_dataclass(hint) and isinstance(hint, type):
        return _object(hint)
    if get_origin(hint) is dict:
        return {"type": "object", "additionalProperties": _value(get_args(hint)[1])}
    if isinstance(hint, types.UnionType):
        (inner,) = (part for part in get_args(hint) if part is not types.NoneType)
        return {"type": [_TYPES[inner]["type"], "null"]}
    return dict(_TYPES[hint])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document_schema(), indent=2) + "\n")
