"""Edges and events as the text a command line reads: CSV and JSON Lines.

A text format has no types. CSV gives back `1` as an integer and `2.0` as a number. It changes a text that looks like a number,
a truth value or nothing. JSON Lines keeps every value.
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
    from graphtide_core.event import Event

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
    return b"".join(_line({**edge.attributes, **_fields(edge)}) for edge in edges)


def events_to_json_lines(events: Sequence[Event]) -> bytes:
    """Return the records as JSON, one object a line; missing values are left out."""
    return b"".join(_line({**event.attributes, "ts": event.ts, "type": event.type, **_identity(event)}) for event in events)


def _line(record: dict[str, Value]) -> bytes:
    given = {name: value for name, value in record.items() if value is not None}
    return (json.dumps(given, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _fields(edge: Edge) -> dict[str, Value]:
    return {
        "ts": edge.ts,
        "src": edge.source,
        "dst": edge.target,
        "label": edge.label,
        "src_label": edge.source_label,
        "dst_label": edge.target_label,
        **_identity(edge),
    }


def _identity(record: Edge | Event) -> dict[str, Value]:
    return {
        "id": None if record.made else record.id,
        "op": None if record.operation is Operation.INSERT else record.operation.value,
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
