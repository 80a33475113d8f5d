"""The body of a dry run, read without making anything of its edges.

The event loop reads it, and a body can hold millions of values: they are made one edge after the other, by the dry run.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import Request
from graphtide_query.families import AUTO, VARIANTS
from graphtide_serving.routes import refuse_but_json

from graphtide_admin_api.application.dry_run import MOST_EDGES
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import MOST_TEXT


class DryRunIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns and edges to try them on; edges stay as they are written until their dry run has its place.

    In place of edges, `last` asks for the newest edges of the patterns' stream.
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
                    "description": "Patterns and edges to try them on.",
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
                            "description": "In place of edges: so many of the newest ones of the patterns' stream.",
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
        given = msgspec.json.decode(await request.body(), type=DryRunIn)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(422, "invalid-request", f"the body is not a dry run: {error}") from error
    if (given.edges is None) == (given.last is None):
        raise ProblemError(422, "invalid-request", "the body is not a dry run: give either `edges` or `last`")
    return given


def edge_of(number: int, edge: msgspec.Raw) -> bytes:
    """Return an edge as one line of JSON.

    Raises:
        ProblemError: it is not a JSON object.
    """
    try:
        return msgspec.json.encode(msgspec.json.decode(edge, type=dict[str, object]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(422, "invalid-request", f"edge {number} is not a JSON object: {error}") from error
