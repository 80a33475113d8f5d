"""Names of spans: an operation, then what it is done to, as OpenTelemetry's conventions of messaging and HTTP have it."""

from __future__ import annotations

from graphtide_telemetry import attributes as key
from graphtide_telemetry.names import SpanName

_MESSAGING = (key.MESSAGING_SYSTEM, key.MESSAGING_DESTINATION, key.MESSAGING_OPERATION, key.MESSAGING_OPERATION_TYPE)

REQUEST = SpanName(
    "{method}",
    "server",
    "A request over HTTP; the route follows in its name.",
    (
        key.HTTP_METHOD,
        key.HTTP_ROUTE,
        key.HTTP_STATUS,
        key.URL_SCHEME,
        key.URL_PATH,
        key.URL_QUERY,
        key.SERVER_ADDRESS,
        key.SERVER_PORT,
        key.PROTOCOL_VERSION,
        key.ERROR_TYPE,
    ),
)
SEND = SpanName("send", "producer", "Edges of a request are written to the raw topic, until the log keeps them.", _MESSAGING)
SEQUENCE = SpanName(
    "sequence",
    "consumer",
    "Edges are written in order, with their positions; links lead to every request whose edges are among them.",
    (*_MESSAGING, key.MESSAGING_BATCH, key.EDGES, key.STREAM),
)
MATCH = SpanName("match", "consumer", "An ordered record is matched.", (*_MESSAGING, key.EDGES, key.STREAM))
REPORT = SpanName(
    "report",
    "producer",
    "A match is written; it is in the trace of the edge that completed it.",
    (*_MESSAGING, key.PATTERN, key.MATCH_ID, key.MATCH_KIND),
)
