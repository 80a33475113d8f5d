"""What OpenAPI says of requests with edges, whose bodies FastAPI does not read."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path
from graphtide_runtime.http import described
from graphtide_wire.topics import STREAM_NAME
from pydantic import BaseModel

from graphtide_ingestion.entrypoints import bodies

StreamPath = Annotated[str, Path(json_schema_extra={"pattern": f"^{STREAM_NAME}$"})]
"""The name of a stream; what cannot be one is refused as an unknown stream is."""

PROBLEMS: Final = described(
    {
        400: "The body cannot be read: `unreadable-body`, `incomplete-body`, `invalid-columns`, `invalid-header`.",
        401: "Nobody knows who you are: `unauthenticated`.",
        403: "You may not do this, or a browser does it for another site: `forbidden`, `foreign-origin`.",
        404: "There is no such stream or dead letter: `unknown-stream`, `invalid-stream-name`, `unknown-letter`.",
        408: "The body comes too slowly: `slow-body`.",
        413: "The body is too large: `body-too-large`.",
        415: "Edges are not written so: `unsupported-media-type`, `unsupported-encoding`.",
        421: "This service has another name: `unknown-host`.",
        422: "It cannot be done: `columns-unknown`, `unreadable-letter`, `unknown-epoch`, `idempotency-key-reused`, "
        "`invalid-request`.",
        429: "You call too often, or too much is under way: `too-many-requests`.",
        503: "The log does not answer; try again: `unavailable`.",
    }
)


class RefusedEdge(BaseModel):
    """An edge that was put aside: its line in the body, or its place in a batch of events."""

    line: int | None
    code: str
    reason: str


class Accepted(BaseModel):
    """How many edges the log keeps, how many were put aside, and the first of those."""

    accepted: int
    rejected: int
    errors: list[RefusedEdge]


_LINES: Final = {"schema": {}, "example": '{"ts":1,"src":"a","dst":"b","label":"x"}\n'}

_EVENT: Final = {
    "type": "object",
    "required": ["specversion", "data"],
    "properties": {"specversion": {"type": "string"}, "data": {}},
}

EDGES: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": (
            "Edges. One that is none becomes a dead letter, and costs no other. "
            "With the header Idempotency-Key of a request that was answered with 202, the answer is that one again."
        ),
        "content": {
            "application/x-ndjson": _LINES,
            "application/jsonl": _LINES,
            "text/csv": {"schema": {"type": "string"}, "example": "ts,src,dst,label\n1,a,b,x\n"},
            bodies.JSON: {"schema": {}},
            bodies.EVENT: {"schema": _EVENT},
            bodies.EVENTS: {"schema": {"type": "array", "items": {}}},
        },
    },
    "parameters": [
        {
            "name": "Graphtide-Producer",
            "in": "header",
            "description": "Name of the sender: its edges keep their order.",
            "schema": {"type": "string", "minLength": 1, "maxLength": bodies.LONGEST_PRODUCER},
        },
    ],
}
"""A body of edges, and who sends it; FastAPI adds what it knows itself."""

RESET: Final[dict[str, Any]] = {
    "description": (
        "What waits goes out in order, and all that is known of times is forgotten: no edge is late for what came before the "
        "reset, no match has edges from before it. A request that names an epoch that is over does nothing. With the header "
        "Idempotency-Key of an earlier request, the epoch is the one that was meant then."
    )
}
"""What the end of an epoch is."""

EDGE: Final[dict[str, Any]] = {
    "requestBody": {
        "description": "An edge in place of the letter; without one the letter is sent as it was.",
        "content": {bodies.JSON: {"schema": {}}},
    }
}
