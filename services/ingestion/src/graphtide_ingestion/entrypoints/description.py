"""What OpenAPI says of requests with edges, whose bodies FastAPI does not read."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import Path, Query
from graphtide_core import formats
from graphtide_serving.http import describe
from graphtide_serving.routes import JSON
from graphtide_wire.topics import STREAM_NAME
from pydantic.json_schema import SkipJsonSchema

from graphtide_ingestion.entrypoints import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.formats import HttpBody

StreamPath = Annotated[str, Path(json_schema_extra={"pattern": f"^{STREAM_NAME}$"})]
"""The name of a stream; what cannot be one is refused as an unknown stream is."""

PlacePath = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9]{1,9}-[0-9]{1,18}$"}, examples=["0-17"])]
"""The place of a dead letter; another text is refused with a problem of its own."""

ColumnsQuery = Annotated[
    str,
    Query(
        description=f"Columns of {formats.one_of(bodies.with_columns())} with other names: "
        "`canonical:own`, with commas between them.",
        examples=["src:from,dst:to"],
    ),
]

DEFAULT_WAIT_SECONDS: Final = 10.0
MOST_WAIT_SECONDS: Final = 60.0

WaitQuery = Annotated[
    Literal["ordered"] | SkipJsonSchema[None],
    Query(description="`ordered` answers when the edges are put in order, and says what became of them; else at once."),
]

WaitSecondsQuery = Annotated[
    float, Query(gt=0, le=MOST_WAIT_SECONDS, description="How long to wait for that; then the answer is 202 without it.")
]

TAGS: Final = [
    {"name": "edges", "description": "Edges come in: as JSON, CSV or CloudEvents, and as dead letters that are sent again."},
    {
        "name": "streams",
        "description": "Where edges come from: how far they were put in order, what was counted and rejected.",
    },
]

PROBLEMS: Final = describe(
    {
        400: "The body or a parameter is malformed: `unreadable-body`, `incomplete-body`, `invalid-columns`, `invalid-header`, "
        "`bad-place`.",
        401: "The caller is unknown: `unauthenticated`.",
        403: "The caller lacks the scope, or a browser asks for another site: `forbidden`, `foreign-origin`.",
        404: "There is no such stream or dead letter: `unknown-stream`, `invalid-stream-name`, `unknown-letter`.",
        408: "The body arrives too slowly: `slow-body`.",
        409: "The stream is derived from others, or a topic's name collides with another's: `derived-stream`, `name-collides`.",
        413: "The body is too large: `body-too-large`.",
        415: "Not a format of edges, or not UTF-8: `unsupported-media-type`, `unsupported-encoding`.",
        421: "The service has another name: `unknown-host`.",
        422: "The request is invalid, or no edge was usable: `all-rejected`, `columns-unknown`, `unreadable-letter`, "
        "`unknown-epoch`, `idempotency-key-reused`, `unknown-parameter`, `invalid-request`.",
        429: "Too many requests, or too many bytes in flight; see `Retry-After`: `too-many-requests`.",
        503: "The log does not answer; try again: `unavailable`.",
    }
)


_MESSAGE: Final = "\0\0\0\0\7\2a"
"""What begins a message in Confluent's form: a zero, and the number of its schema."""

_OF_MESSAGES: Final = {
    formats.AVRO.value: "An object container file, or one message, that the statement reads.",
    formats.PROTOBUF.value: "One message that the statement reads; with the parameter `encoding=delimited` several, "
    "each with its length before it.",
}
"""Bodies of Avro and Protobuf, by format."""

_EDGE: Final = {"ts": 1704067200000, "src": "10.0.0.7", "dst": "203.0.113.1", "label": "http", "bytes": 7120}
_HEAD: Final = {"specversion": "1.0", "type": "edge", "source": "/probe/7", "id": "17"}

_EVENT: Final = {
    "type": "object",
    "required": ["specversion", "data"],
    "properties": {"specversion": {"type": "string"}, "data": {}},
}


def stream_body(example: Callable[[HttpBody], str]) -> dict[str, Any]:
    """Return the content of bodies that are read as they come, by media type."""
    by_format = {
        kind: {"schema": {"type": "string"} if format.http.is_text else {}, "example": example(format.http)}
        for kind, format in formats.media_types().items()
        if format.http is not None
    }
    schema = {"type": "string", "description": "Records in the FORMAT that the statement of the stream states."}
    stated = {"schema": schema, "example": "10.0.0.7 GET /index.html 1704067200"}
    of_messages = {
        kind: {"schema": {"type": "string", "format": "binary", "description": _OF_MESSAGES[format]}, "example": _MESSAGE}
        for kind, format in bodies.OF_MESSAGES.items()
    }
    return {**by_format, **dict.fromkeys(sorted(bodies.STATED), stated), **of_messages}


EDGES: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": (
            "Edges. A record that is not an edge becomes a dead letter, and does not affect the others. "
            "With the header Idempotency-Key of a request that was answered with 202, or whose edges were all rejected, "
            "the answer is that one again."
        ),
        "content": {
            **stream_body(attrgetter("edge")),
            JSON: {"schema": {}, "example": _EDGE},
            bodies.EVENT: {"schema": _EVENT, "example": {**_HEAD, "data": _EDGE}},
            bodies.EVENTS: {"schema": {"type": "array", "items": {}}, "example": [{**_HEAD, "data": _EDGE}]},
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
"""A body of edges, and its sender; FastAPI adds what it knows itself."""

_HAPPENED: Final = {"ts": 1704067200000, "type": "reading", "speed": 17.5}
_IN_CLOUD_EVENT: Final = {**_HEAD, "type": "reading", "data": {"ts": 1704067200000, "speed": 17.5}}
_OF_EVENTS: Final[dict[str, Any]] = {
    **stream_body(attrgetter("event")),
    JSON: {"schema": {}, "example": _HAPPENED},
    bodies.EVENT: {"schema": _EVENT, "example": _IN_CLOUD_EVENT},
    bodies.EVENTS: {"schema": {"type": "array", "items": {}}, "example": [_IN_CLOUD_EVENT]},
}

EVENTS: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": (
            "Events, which have a type and no ends; edges may be among them, and events may be among edges. "
            "All else is as for edges. An event in a CloudEvent without a type of its own takes that of the CloudEvent."
        ),
        "content": _OF_EVENTS,
    },
    "parameters": EDGES["parameters"],
}
"""A body of events, and its sender."""

RESET: Final[dict[str, Any]] = {
    "description": (
        "Waiting edges go out in order, and all known times are forgotten: no edge is late because of edges before the reset, "
        "and no match has edges from before it. A request that names an epoch that is over does nothing. With the header "
        "Idempotency-Key of an earlier request, the epoch is the one that was meant then."
    )
}
"""What the end of an epoch is."""

EDGE: Final[dict[str, Any]] = {
    "requestBody": {
        "description": "An edge in place of the letter; without one the letter is sent as it was.",
        "content": {JSON: {"schema": {}, "example": _EDGE}},
    }
}
