"""Names of metrics. Prometheus reads them with underscores for dots, the unit at the end, and `_total` after counters."""

from __future__ import annotations

from graphtide_telemetry import attributes as key
from graphtide_telemetry.names import Kind, Metric

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EDGES = tuple(float(4**power) for power in range(8))
_BYTES = tuple(float(1024 * 4**power) for power in range(10))

# Every process.
REQUEST_DURATION = Metric(
    "http.server.request.duration",
    Kind.HISTOGRAM,
    "s",
    "Time from a request's first byte to its answer's last.",
    (key.HTTP_METHOD, key.HTTP_ROUTE, key.HTTP_STATUS, key.URL_SCHEME, key.PROTOCOL_VERSION, key.ERROR_TYPE),
    _SECONDS,
)
ACTIVE_REQUESTS = Metric(
    "http.server.active_requests",
    Kind.GAUGE,
    "{request}",
    "Requests that are being answered.",
    (key.HTTP_METHOD, key.URL_SCHEME),
)
OPERATION_DURATION = Metric(
    "messaging.client.operation.duration",
    Kind.HISTOGRAM,
    "s",
    "Time that the log takes: for a commit with positions, and for keeping what was sent.",
    (key.MESSAGING_SYSTEM, key.MESSAGING_OPERATION, key.ERROR_TYPE),
    _SECONDS,
)
PROCESS_MEMORY = Metric("process.memory.usage", Kind.GAUGE, "By", "Memory that the process has in RAM.")
PROCESS_CPU = Metric("process.cpu.time", Kind.READ_COUNTER, "s", "Time of processors that the process took.")
WORKER_FAILURES = Metric(
    "graphtide.worker.failures", Kind.COUNTER, "{failure}", "Times that a worker failed in passing.", (key.WORKER,)
)
UNREADABLE_HEADERS = Metric(
    "graphtide.log.unreadable_headers",
    Kind.COUNTER,
    "{record}",
    "Records with a header name that is not UTF-8. A raw one becomes a dead letter; elsewhere it is skipped.",
    (key.MESSAGING_DESTINATION,),
)
RECORD_FAULTS = Metric(
    "graphtide.worker.record_faults",
    Kind.COUNTER,
    "{fault}",
    "Records that a worker failed on twice, by the part that was taken out: `tracing`, `record` or `pattern`.",
    (key.WORKER, key.OUTCOME),
)

# Ingestion.
RECEIVED_EDGES = Metric(
    "graphtide.ingestion.edges",
    Kind.COUNTER,
    "{edge}",
    "Edges that came over HTTP: `accepted` or `rejected`.",
    (key.STREAM, key.OUTCOME),
)
REFUSED_REQUESTS = Metric(
    "graphtide.ingestion.refused_requests", Kind.COUNTER, "{request}", "Requests refused for now: too much was under way."
)
IN_FLIGHT = Metric("graphtide.ingestion.in_flight", Kind.GAUGE, "By", "Bytes of requests that are under way.")
SEQUENCERS = Metric("graphtide.ingestion.sequencers", Kind.GAUGE, "{stream}", "Streams that are put in order.")
SEQUENCED_EDGES = Metric(
    "graphtide.sequencer.edges",
    Kind.COUNTER,
    "{edge}",
    "Edges by what became of them: `read`, then `ordered`, `duplicate`, or the code of their dead letter. `replaced` are "
    "ordered ones in the place of what had their id. `filtered` are records that are not of the stream.",
    (key.STREAM, key.OUTCOME),
)
TABLE_LOADS = Metric(
    "graphtide.tables.loads",
    Kind.COUNTER,
    "{load}",
    "Reference tables that were read, or not, by outcome: `loaded` or `failed`.",
    (key.STREAM, key.TABLE, key.OUTCOME),
)
ATTRIBUTES_LEFT_OUT = Metric(
    "graphtide.sequencer.attributes.left_out",
    Kind.COUNTER,
    "{attribute}",
    "Names of attributes left out, since the stream has too many that no pattern reads; counted in each batch of records.",
    (key.STREAM,),
)
ORDERED_SIZE = Metric(
    "graphtide.sequencer.record.edges",
    Kind.HISTOGRAM,
    "{edge}",
    "Edges of an ordered record.",
    (key.MESSAGING_DESTINATION,),
    _EDGES,
)
PENDING_EDGES = Metric(
    "graphtide.sequencer.pending", Kind.GAUGE, "{edge}", "Edges that wait for the watermark to pass them.", (key.STREAM,)
)
WATERMARK_LAG = Metric(
    "graphtide.sequencer.watermark.lag",
    Kind.GAUGE,
    "s",
    "How far the watermark is behind the newest edge, in the stream's own time.",
    (key.STREAM,),
)

# The Spark job.
BATCH_DURATION = Metric(
    "graphtide.preprocess.batch.duration",
    Kind.HISTOGRAM,
    "s",
    "Time from a batch's planning to its commit.",
    (key.WORKER,),
    _SECONDS,
)
BATCH_STAGE_DURATION = Metric(
    "graphtide.preprocess.stage.duration",
    Kind.HISTOGRAM,
    "s",
    "Time of a stage of a batch, in the task that orders the stream.",
    (key.STREAM, key.STAGE),
    _SECONDS,
)
BATCH_RECORDS = Metric(
    "graphtide.preprocess.records", Kind.COUNTER, "{record}", "Raw records that batches took.", (key.STREAM,)
)
BATCH_STATE_SIZE = Metric(
    "graphtide.preprocess.state.memory", Kind.GAUGE, "By", "Memory that the state store takes.", (key.WORKER,)
)
BATCH_STATE_REBUILT = Metric(
    "graphtide.preprocess.state.rebuilt",
    Kind.COUNTER,
    "{batch}",
    "Batches that read the whole state again, because their process did not have the batch before.",
    (key.STREAM,),
)
BATCH_STATE_ENTRIES = Metric(
    "graphtide.preprocess.state.entries", Kind.GAUGE, "{entry}", "Entries of the state store.", (key.WORKER,)
)

# Readers of a stream.
LAG = Metric(
    "graphtide.consumer.lag",
    Kind.GAUGE,
    "s",
    "How old the last record was when it was read; 0 at the end of the log.",
    (key.WORKER, key.STREAM),
)

# Matchers.
MATCHED_EDGES = Metric("graphtide.matcher.edges", Kind.COUNTER, "{edge}", "Ordered edges that were matched.", (key.STREAM,))
MATCHES = Metric(
    "graphtide.pattern.matches", Kind.COUNTER, "{match}", "Matches and retractions reported.", (key.PATTERN, key.MATCH_KIND)
)
PARTIAL_MATCHES = Metric(
    "graphtide.pattern.partial_matches", Kind.GAUGE, "{match}", "Partial matches that are alive.", (key.PATTERN,)
)
STATE_SIZE = Metric("graphtide.pattern.state", Kind.GAUGE, "By", "Memory of a pattern's partial matches.", (key.PATTERN,))
REPLANS = Metric(
    "graphtide.pattern.replans", Kind.COUNTER, "{replan}", "Plans that were changed while the pattern ran.", (key.PATTERN,)
)
PLANS = Metric("graphtide.matcher.plans", Kind.GAUGE, "{plan}", "Plans that the matcher has, by state.", (key.STATE,))
CHECKPOINT_AGE = Metric(
    "graphtide.checkpoint.age", Kind.GAUGE, "s", "Time since the last checkpoint that was saved or not needed.", (key.STREAM,)
)
CHECKPOINT_DURATION = Metric(
    "graphtide.checkpoint.duration",
    Kind.HISTOGRAM,
    "s",
    "Time that saving a checkpoint took: `saved` or `failed`.",
    (key.STREAM, key.OUTCOME),
    _SECONDS,
)
CHECKPOINT_SIZE = Metric(
    "graphtide.checkpoint.size", Kind.HISTOGRAM, "By", "Bytes that a checkpoint added.", (key.STREAM,), _BYTES
)
PARTIAL_MATCH_VIEWS = Metric(
    "graphtide.partial_matches.views",
    Kind.COUNTER,
    "{view}",
    "Views of partial matches: `published`, `dropped` or `failed`.",
    (key.OUTCOME,),
)

# Control.
PATTERNS = Metric("graphtide.patterns", Kind.GAUGE, "{pattern}", "Patterns that are registered, by state.", (key.STATE,))
DECISIONS = Metric(
    "graphtide.planner.decisions",
    Kind.COUNTER,
    "{decision}",
    "What the planner decided: `publish`, `withdraw`, `refuse` or `forgive`.",
    (key.OUTCOME,),
)
REPLICAS = Metric(
    "graphtide.planner.replicas",
    Kind.GAUGE,
    "{replica}",
    "Replicas of a matcher service: `asked` for, `ready`, and `wanted` by the planner.",
    (key.SERVICE_OF_PLANS, key.STATE),
)
SCALING_DECISIONS = Metric(
    "graphtide.planner.scaling.decisions",
    Kind.COUNTER,
    "{decision}",
    "Decisions on replicas: `more`, `fewer` or `as many`.",
    (key.SERVICE_OF_PLANS, key.OUTCOME),
)
SCALING_FAILURES = Metric(
    "graphtide.planner.scaling.failures",
    Kind.COUNTER,
    "{failure}",
    "Requests for replicas that were not taken: `conflict` or `throttled`.",
    (key.OUTCOME,),
)
SCALING_LEADS = Metric("graphtide.planner.scaling.leads", Kind.GAUGE, "{leader}", "1 where the process decides on replicas.")
COUNTED_EDGES = Metric("graphtide.statistics.edges", Kind.COUNTER, "{edge}", "Edges that were counted.", (key.STREAM,))
SNAPSHOTS = Metric("graphtide.statistics.snapshots", Kind.COUNTER, "{snapshot}", "Snapshots published.", (key.STREAM,))

# Alerts.
SETTLED_ALERTS = Metric(
    "graphtide.alerts.settled",
    Kind.COUNTER,
    "{match}",
    "Matches that a target asks for, by what became of them: `delivered`, `dead`, `muted` or `summed`.",
    (key.TARGET, key.OUTCOME),
)
FAILED_ATTEMPTS = Metric(
    "graphtide.alerts.failed_attempts", Kind.COUNTER, "{attempt}", "Attempts that the target did not take.", (key.TARGET,)
)
WAITING_ALERTS = Metric(
    "graphtide.alerts.waiting",
    Kind.GAUGE,
    "{match}",
    "Matches that were read for a target and are not settled; at most 500.",
    (key.TARGET,),
)
