"""The body of a dry run, read without making anything of its edges.

The event loop reads it, and a body can hold millions of values: they are made one edge after the other, by the dry run.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import Request
from graphtide_core.any_pattern import ordered_stream
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream
from graphtide_query.families import AUTO, VARIANTS
from graphtide_serving.routes import refuse_but_json

from graphtide_admin_api.application.dry_run import MOST_EDGES
from graphtide_admin_api.application.edges import Edge
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import MOST_TEXT, read_all
from graphtide_admin_api.entrypoints.parts import Parts
from graphtide_admin_api.entrypoints.streams import ordered_streams


class DryRunIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns, and edges to try them on: these, or the newest of their stream.

    Edges stay as they are written until their dry run has its place.
    """

    text: Annotated[str, msgspec.Meta(max_length=MOST_TEXT)]
    edges: Annotated[list[msgspec.Raw], msgspec.Meta(max_length=MOST_EDGES)] | None = None
    last: Annotated[int, msgspec.Meta(ge=1, le=MOST_EDGES)] | None = None
    engine: str = AUTO
    time_unit: Literal["s", "ms", "us", "ns"] = "ms"


DRY_RUN: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "title": "SimulationIn",
                    "description": "Patterns, and edges to try them on: `edges` or `last`.",
                    "type": "object",
                    "required": ["text"],
                    "additionalProperties": False,
                    "properties": {
                        "text": {"type": "string", "maxLength": MOST_TEXT, "description": "Patterns in the pattern language."},
                        "edges": {"type": "array", "maxItems": MOST_EDGES, "items": {"type": "object"}},
                        "last": {
                            "type": "integer",
                            "minimum": 1,
                            "maximum": MOST_EDGES,
                            "description": "In place of edges: so many of the newest of the patterns' stream.",
                        },
                        "engine": {"type": "string", "enum": [AUTO, *VARIANTS], "default": AUTO},
                        "time_unit": {"type": "string", "enum": ["s", "ms", "us", "ns"], "default": "ms"},
                    },
                },
                "example": {
                    "text": "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10",
                    "edges": [{"ts": 1, "src": "a", "dst": "b", "label": "pays"}],
                },
            }
        },
    }
}
"""What OpenAPI says of the request."""


async def dry_run_of(request: Request) -> DryRunIn:
    """Read the body of a dry run. Complexity: O(bytes), and nothing is made of the edges yet.

    Raises:
        ProblemError: it is something else.
    """
    refuse_but_json(request)
    try:
        return msgspec.json.decode(await request.body(), type=DryRunIn)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(422, "invalid-request", f"the body is not a dry run: {error}") from error


def edge_of(number: int, edge: msgspec.Raw) -> bytes:
    """Return an edge as one line of JSON.

    Raises:
        ProblemError: it is not a JSON object.
    """
    try:
        return msgspec.json.encode(msgspec.json.decode(edge, type=dict[str, object]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(422, "invalid-request", f"edge {number} is not a JSON object: {error}") from error


def edges_to_try(parts: Parts, given: DryRunIn) -> list[bytes]:
    """Return the edges of a dry run, each as one line of JSON, in the order of the stream.

    Raises:
        ProblemError: not one of `edges` and `last` is given, or an edge is no object. Or the patterns are of several
            streams, or of one that is not there.
    """
    if (given.edges is None) == (given.last is None):
        raise ProblemError(422, "invalid-request", "a dry run takes `edges` or `last`, one of both")
    if given.edges is not None:
        return [edge_of(number, edge) for number, edge in enumerate(given.edges, start=1)]
    streams = {ordered_stream(pattern) for pattern in read_all(given.text)}
    if len(streams) != 1:
        raise ProblemError(422, "invalid-request", "`last` takes patterns of one stream; give the edges of others")
    found = parts.edges.last(ordered_streams(parts, logical_stream(StreamName(streams.pop()))), given.last or 1)
    return [_line(edge) for edge in reversed(found.edges)]


def _line(edge: Edge) -> bytes:
    """Return an edge or an event as one line of JSON."""
    record: dict[str, object] = dict(edge.attributes)
    if edge.src or edge.dst:
        record |= {"src": edge.src, "dst": edge.dst, "label": edge.label}
        ends = {"src_label": edge.src_label, "dst_label": edge.dst_label}
        record |= {name: label for name, label in ends.items() if label is not None}
    else:
        record["type"] = edge.label
    return msgspec.json.encode(record | {"ts": edge.ts, "id": edge.id})
