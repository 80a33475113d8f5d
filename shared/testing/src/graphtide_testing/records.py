"""Edges as the text a command line reads: CSV and JSON Lines.

A text format has no types: CSV gives back `1` as an integer and `2.0` as a number, but a text that looks like a number, a truth
value or nothing as something else than it was. JSON Lines keeps every value.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Edge, Value

_COLUMNS = ("ts", "src", "dst", "label", "src_label", "dst_label", "id", "op")


def to_csv(edges: Sequence[Edge]) -> str:
    """Return the records as CSV with a header; a missing value is an empty field."""
    names = sorted({name for edge in edges for name in edge.attributes})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, *names])
    for edge in edges:
        fields = _fields(edge)
        own = [_csv_value(edge.attributes.get(name)) for name in names]
        writer.writerow([*(_csv_value(fields[column]) for column in _COLUMNS), *own])
    return text.getvalue()


def to_json_lines(edges: Sequence[Edge]) -> bytes:
    """Return the records as JSON, one object a line; missing values are left out."""
    lines = []
    for edge in edges:
        record = {**edge.attributes, **_fields(edge)}
        given = {name: value for name, value in record.items() if value is not None}
        lines.append(json.dumps(given, ensure_ascii=False, allow_nan=False) + "\n")
    return "".join(lines).encode()


def _fields(edge: Edge) -> dict[str, Value]:
    return {
        "ts": edge.ts,
        "src": edge.source,
        "dst": edge.target,
        "label": edge.label,
        "src_label": edge.source_label,
        "dst_label": edge.target_label,
        "id": None if edge.made else edge.id,
        "op": None if edge.operation is Operation.INSERT else edge.operation.value,
    }


def _csv_value(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case _:
            return str(value)
