"""Keys of attributes: as OpenTelemetry's conventions have them, our own under `graphtide.`; and the fields of log events."""

from __future__ import annotations

from graphtide_runtime.telemetry.names import Name

# Conventions of OpenTelemetry.
HTTP_METHOD = Name("http.request.method", "method of the request; `_OTHER` where nobody defined it")
HTTP_ROUTE = Name("http.route", "route that answered, with names in place of values")
HTTP_STATUS = Name("http.response.status_code", "status of the answer")
URL_SCHEME = Name("url.scheme", "`http` or `https`")
URL_PATH = Name("url.path", "path of the request")
URL_QUERY = Name("url.query", "query of the request")
SERVER_ADDRESS = Name("server.address", "host that the request was sent to")
SERVER_PORT = Name("server.port", "port that the request was sent to")
PROTOCOL_VERSION = Name("network.protocol.version", "version of HTTP")
ERROR_TYPE = Name("error.type", "class of the error that ended it, or the status from 500 on")
MESSAGING_SYSTEM = Name("messaging.system", "`kafka`, in memory too")
MESSAGING_DESTINATION = Name("messaging.destination.name", "topic")
MESSAGING_OPERATION = Name("messaging.operation.name", "what is done: `send`, `sequence`, `match`, `report`, `commit`")
MESSAGING_OPERATION_TYPE = Name("messaging.operation.type", "`send`, `process` or `settle`")
MESSAGING_BATCH = Name("messaging.batch.message_count", "records that are worked on together")

# Our own.
STREAM = Name("graphtide.stream", "name of the stream")
PATTERN = Name("graphtide.pattern", "name of the pattern")
MATCH_ID = Name("graphtide.match.id", "id of the match")
MATCH_KIND = Name("graphtide.match.kind", "`match` or `retract`")
EDGES = Name("graphtide.edges", "edges that are worked on together")
OUTCOME = Name("graphtide.outcome", "what became of it")
STATE = Name("graphtide.state", "how far it is")
WORKER = Name("graphtide.worker", "worker of the process")

# Fields of log events.
ERROR = Name("error", "what went wrong, for people")
HINT = Name("hint", "what follows from it")
ENGINE = Name("engine", "engine of the plan")
CALLER = Name("caller", "who asked for it")
EPOCH = Name("epoch", "number of the plan among those of its pattern; or of the stream, how often its times began anew")
DECISION = Name("decision", "what was decided")
DESIRED = Name("desired", "what the plan is to do: `running`, `paused` or `stopped`")
FAILURES = Name("failures", "failures in a row")
HOST = Name("host", "address listened on")
LOG_PATTERN = Name("pattern", "name of the pattern")
LOG_STREAM = Name("stream", "name of the stream")
LOG_WORKER = Name("worker", "worker of the process")
OFFSET = Name("offset", "of the record in its partition")
PORT = Name("port", "port listened on")
RETRY_IN = Name("retry_in", "seconds until the next try")
SERVICE = Name("service", "matcher service of the plan")
SHARD = Name("shard", "shard of that service")
TICKS = Name("ticks", "length of a window in ticks of its stream")
EDGES_OF_WINDOW = Name("window_edges", "length of a window in edges of its stream")
TOPIC = Name("topic", "topic of the record")
VERSION = Name("version", "of the pattern")
EXC_INFO = Name("exc_info", "the traceback, under `exception`")
TRACE_ID = Name("trace_id", "trace in which it happened")
SPAN_ID = Name("span_id", "span in which it happened")
