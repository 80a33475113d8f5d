"""One example of every record, with its codec: what golden vectors pin and damaged bytes are made from."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from graphtide_core import formats
from graphtide_core.ids import MatchId, PatternName
from graphtide_core.match import MatchKind
from graphtide_core.plans import (
    AssignedPlan,
    BaselinePlan,
    Candidate,
    ColoringPlan,
    CountedPart,
    Derivation,
    EventRates,
    FilteringPlan,
    Grouping,
    JoinSteps,
    PathEngine,
    Rewriting,
    SearchPlan,
    SignaturePlan,
    SjTreePlan,
    SjTreeStrategy,
    Storage,
    TimingPlan,
)
from graphtide_core.ports.log import Message, Record
from graphtide_core.statistics import (
    DegreeMoments,
    Direction,
    EdgeEnd,
    EdgeType,
    PathType,
    StatisticsSnapshot,
    TimeRange,
)
from graphtide_core.time import EventTime, TimeUnit
from graphtide_query import parse_streams
from graphtide_wire import (
    acknowledgements,
    control,
    dead_letters,
    hosts,
    match_counts,
    matches,
    mutes,
    operations,
    ordered,
    pattern_versions,
    plan_changes,
    raw,
    replicas,
    statistics,
    stream_schema,
    stream_statement,
    targets,
    verdicts,
)
from graphtide_wire.plans import CountedPartForm, form_of
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Callable

AT = datetime(2024, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@dataclass(frozen=True)
class Example:
    """A message, the value it carries, and what reads it."""

    name: str
    message: Message
    value: object
    decode: Callable[[Record], object]


def record_of(message: Message) -> Record:
    """Return the message as a reader gets it."""
    return Record(message.topic, message.partition or 0, 0, 0, message.key, message.value, message.headers)


RAW = raw.RawEdges(b'{"ts":1,"src":"a","dst":"b","label":"x"}\n{"ts":2}', producer="gate-7", line=3, traceparent=TRACE)
CSV = raw.RawEdges(b"1,a,b,x\n", formats.CSV, columns="ts,src,dst,label")
LETTER = dead_letters.DeadLetterRecord(
    raw=b"1,a\xff",
    code=dead_letters.ErrorCode.MALFORMED.value,
    reason="2 fields where 4 are named: größer",
    time="2024-01-01T12:00:00.250Z",
    source=dead_letters.Source("graphtide.in.flows.v1", 3, 41, 7),
    content_type="text/csv",
    producer="gate-7",
    traceparent=TRACE,
)
BODY = (
    b'{"match_id":"4232d89a8d4c036f868a7bc9f0d7cb5f","query":"exfiltration","kind":"match","detected_at":1704121186924,'
    b'"first_ts":1704120796793,"last_ts":1704121186924,"edges":{"a":"f1"},"vertices":{"v":"10.0.0.1"}}'
)
OVER = (
    b'{"match_id":"4232d89a8d4c036f868a7bc9f0d7cb5f","query":"exfiltration","kind":"timeout","detected_at":1704121186924,'
    b'"first_ts":1704120796793,"last_ts":1704120796793,"events":{"a":"f1"}}'
)
RETRACTED = BODY.replace(b'"kind":"match"', b'"kind":"retract"')
HEADER = ordered.OrderedHeader(EventTime(-5), EventTime(9), 2, 100, EventTime(8), TimeUnit.MILLISECOND, TRACE)
LATER_HEADER = replace(HEADER, epoch=3)
RESET = raw.Reset(2, "operator")
TRACED = (ordered.TracedRows(0, 1, TRACE), ordered.TracedRows(1, 1, TRACE.replace("4bf9", "5cfa")))
TRACED_HEADER = replace(HEADER, traces=TRACED)
COLUMNS: dict[str, list[bool | int | float | str | None]] = {
    "ts": [-5, 9],
    "src": ["a", "b"],
    "dst": ["b", "c"],
    "label": ["http", "http"],
    "src_label": ["ip", None],
    "dst_label": [None, None],
    "id": ["100", "e7"],
    "op": ["insert", "delete"],
    "graphtide.made": [True, False],
    "bytes": [12, None],
}
PATTERN = control.PatternRecord(
    name="exfiltration",
    version=2,
    text="PATTERN exfiltration\nMATCH (a)-[e]->(b)\nON flows WINDOW 10m",
    stream="flows",
    state="active",
    created_at=AT,
    updated_at=AT,
    etag="2-9f",
    reads=ReadsForm(("flows",), LookbackForm("10m"), None, ()),
    limits=control.LimitsForm(partial_matches=1000, policy="shed"),
    start=4711,
    registration=1,
)
PHYSICAL: dict[str, AssignedPlan] = {
    "timing": TimingPlan(((0, 1), (2,)), Storage.MS_TREE, (("L1.1", 2.5), ("L0.1", 0.0))),
    "re-search": SearchPlan(((0, 1, 2), (1, 0, 2), (2, 1, 0)), ((1.0, 2.0, 4.0),)),
    "sj-tree": SjTreePlan(((0, 1), (2,)), SjTreeStrategy.PATH_LAZY, (("P1", 3.0),)),
    "filtering": FilteringPlan(((0, 1, 2),), (2,), (1.0, 2.0, 3.0), ((1.0, 1.5, 2.0),)),
    "ddst-baseline": BaselinePlan(),
    "aggregation": Grouping("auto", EventRates(60_000, 100, (("A", 40), ("B", 2)))),
    "s-path": Derivation(
        PathEngine.S_PATH,
        (Rewriting("inline concatenation", 0), Rewriting("fold alternation", 3)),
        (JoinSteps(1, ((0, 2), (1,))),),
        (12.5, None, 3.0),
    ),
    "delta-tree": Derivation(PathEngine.DELTA_TREE),
    "ddst-signature": SignaturePlan(prime=997, seed=3),
    "ddst-coloring": ColoringPlan(),
}
CONSIDERED = tuple(Candidate(PHYSICAL[engine], 120.5, 3.0) for engine in ("timing", "re-search", "sj-tree", "filtering"))
ANNOTATED = structs.replace(
    PATTERN,
    annotations=control.AnnotationsForm("data leaves the network", "high", ("exfiltration", "net"), "{a.id} sends to {b.id}"),
)
REASON = "61 % for 0.6 partial matches made an edge"
PLANS = {
    engine: control.PlanRecord(
        name="exfiltration",
        version=2,
        epoch=5,
        engine=engine,
        service="matcher_timing",
        shard=0,
        plan=form_of(physical, CONSIDERED if engine == "timing" else ()),
        pattern=control.PatternText(PATTERN.text),
        desired="running",
        unit="ms",
        limits=PATTERN.limits,
        start=4711,
        reported_to=4720,
        registration=1,
    )
    for engine, physical in PHYSICAL.items()
}
PLANS["moved"] = structs.replace(PLANS["timing"], came_from=control.HostName("matcher_sjtree", 1))
PLANS["reasoned"] = structs.replace(
    PLANS["timing"], plan=form_of(PHYSICAL["timing"], tuple(replace(each, reason=REASON) for each in CONSIDERED))
)
PLANS["counted"] = structs.replace(
    PLANS["timing"], plan=form_of(PHYSICAL["timing"], evidence=(CountedPart(("e1", "e2"), 12.5, 3400.0),))
)
PLANS["consumed"] = structs.replace(PLANS["moved"], consumption=control.ConsumptionCursorForm(1_704_067_200_000, 2))
STATUS = control.StatusRecord(
    name="exfiltration",
    version=2,
    epoch=5,
    service="matcher_timing",
    shard=0,
    state="failed",
    at=AT,
    reason="pattern 'exfiltration' reached its limit of 1000 partial matches",
    start=4711,
    position=4712,
    matches=17,
    partial_matches=1000,
    state_bytes=65536,
    items=(control.ItemStatus("L1.1", 900, 950, 12_000), control.ItemStatus("L1.2", 100, 120, 340)),
    stream="flows",
    reports_from=4720,
)
STATUS_CONSUMED = structs.replace(
    STATUS, state="running", reason=None, consumption=control.ConsumptionCursorForm(1_704_067_200_000, 2)
)
HTTP, DNS = EdgeType("ip", "http", "ip"), EdgeType(None, "dns", None, 3)
SNAPSHOT = statistics.StatisticsRecord(
    "flows",
    12,
    StatisticsSnapshot(
        version=12,
        window=TimeRange(EventTime(0), EventTime(1000)),
        first_ts=EventTime(1),
        last_ts=EventTime(999),
        edges=10,
        vertices=7,
        types={HTTP: 8, DNS: 2},
        paths={PathType.of(EdgeEnd(HTTP, Direction.OUT), EdgeEnd(DNS, Direction.IN)): 4},
        out_degrees=DegreeMoments(5, 10, 30, 4),
        in_degrees=DegreeMoments(6, 10, 20, 3),
    ),
    0.25,
)

SNAPSHOT_WITH_ATTRIBUTES = dataclasses.replace(SNAPSHOT, attributes=("amount", "", "ümlaut"))

HOST = hosts.HostRecord("matcher_timing", 1, AT, 0.25, 134217728, (hosts.StreamPlace("flows", 4711, 0.5),))
SCALING = hosts.ScalingRecord("matcher_timing", AT, "on", 3, 3, 2, 1, 4, "two replicas carry the load", 2)
OPERATION = operations.OperationRecord(
    id="9f86d081884c7d65",
    pattern="exfiltration",
    version=2,
    text=PATTERN.text,
    stream="flows",
    desired="cancelled",
    created_at=AT,
    start=1704067200000,
    limits=PATTERN.limits,
)
OPERATION_STATUS = operations.OperationStatus(
    id="9f86d081884c7d65",
    state="failed",
    at=AT,
    slices_done=3,
    slices=12,
    edges=4_000_000,
    matches=17,
    edges_per_second=250_000.5,
    reason="pattern 'exfiltration' reached its limit of 1000 partial matches",
)
CUT = operations.RunCut("d3b07384d113edec", (-5, 1_704_067_200_000, 1_704_070_800_000))
MARKER = operations.SliceMarker("d3b07384d113edec", 4, 17)
MUTE = mutes.MuteRecord(
    id="5d41402abc4b2a76",
    pattern="exfiltration",
    key=mutes.MuteKey("10.0.0.7"),
    until=AT,
    reason="a backup runs",
    created_at=AT,
    created_by="ann",
)
TARGET = targets.TargetRecord(
    name="on-call",
    kind="webhook",
    address="https://hooks.example.com/graphtide",
    template="{v.id} leaks",
    patterns="exfil*",
    severity="high",
    rate=60,
    retractions=True,
    secret="on-call.key",  # noqa: S106 - the name of a file
    starts=(4711,),
    created_at=AT,
)
ALERT_COUNTS = targets.AlertCounts(
    target="on-call",
    created_at=AT,
    accepted=17,
    delivered=10,
    dead=1,
    muted=2,
    summed=4,
    retried=3,
    retractions=5,
    minute=28_401_840,
    sent=9,
    unsaid=4,
)
DEAD_ALERT = targets.DeadAlert(
    target="on-call",
    id="4232d89a8d4c036f868a7bc9f0d7cb5f",
    reason="the receiver answered 400",
    attempts=1,
    at=AT,
    pattern="exfiltration",
    match='{"match_id":"4232d89a8d4c036f868a7bc9f0d7cb5f"}',
)
ALERT_REQUEST = targets.AlertRequest(id="5d41402abc4b2a76", target="on-call", at=AT, dead=DEAD_ALERT)
ALERT_ANSWER = targets.AlertAnswer(
    id="5d41402abc4b2a76", target="on-call", alert=DEAD_ALERT.id, outcome="failed", reason="the receiver answered 503"
)
ACKNOWLEDGEMENT = acknowledgements.AcknowledgementRecord(
    "exfiltration", "4232d89a8d4c036f868a7bc9f0d7cb5f", "ann", AT, "a test of ours"
)
COUNTS = match_counts.CountsRecord("exfiltration", {1: 40, 2: 2}, {2: 1})
SCHEMA = stream_schema.SchemaRecord("flows", "declared", {"bytes": "integer", "zip": "string"})

STATEMENT_TEXT = (
    "STREAM flows FORMAT jsonl EDGE (source.ip)-[proto]->(destination.ip) SET bytes = network.bytes AT `@timestamp` IN ms"
)
STATEMENT = stream_statement.StatementRecord.of(STATEMENT_TEXT, parse_streams(STATEMENT_TEXT)[0], 3, AT)
NO_STATEMENT = stream_statement.StatementRecord.removed("flows", 4, AT)
RECEIPT = "5f0f3d6c6d9b4e3f8a1c2b3d4e5f6a7b"
AWAITED = replace(RAW, receipt=RECEIPT)
REPLICA = replicas.ReplicaRecord("sequencer", "graphtide-sequencer-0-1-5f0f3d6c", 17)
VERSION = pattern_versions.VersionRecord("exfiltration", 2, "PATTERN exfiltration MATCH (a)-[x]->(b) ON flows WINDOW 10m", AT)
CHANGE = plan_changes.PlanChangeRecord(
    name="exfiltration",
    version=2,
    epoch=23,
    at=AT,
    stream="flows",
    engine="timing",
    service="matcher_timing",
    shard=0,
    desired="running",
    reason="another plan costs less now: engine timing, cheapest by estimate",
    nanoseconds=250.5,
    partial_matches=17.25,
    evidence=(CountedPartForm(("x", "y"), 0.5, 1200.0),),
)
VERDICT = verdicts.VerdictRecord(
    RECEIPT, "0-17", 3, 1, 2, 1, 1, (verdicts.RejectedExample("late", "late: ts 4 is before the watermark 5 (lateness 0)", 2),)
)


def match_event(body: bytes, kind: MatchKind, traceparent: str | None = None) -> matches.MatchEvent:
    """Return the event of the example match."""
    return matches.MatchEvent(
        MatchId("4232d89a8d4c036f868a7bc9f0d7cb5f"), PatternName("exfiltration"), 2, kind, body, traceparent
    )


EXAMPLES = [
    Example("raw-json", raw.encode("t", RAW, b"k"), RAW, raw.decode),
    Example("raw-awaited", raw.encode("t", AWAITED), AWAITED, raw.decode),
    Example("raw-csv", raw.encode("t", CSV), CSV, raw.decode),
    Example("raw-reset", raw.encode_reset("t", RESET), RESET, lambda record: raw.parts(record)[0].reset),
    Example("dead-letter", dead_letters.encode("t", LETTER), LETTER, dead_letters.decode),
    Example(
        "match",
        matches.encode("t", BODY + b"\n", 2, TimeUnit.MILLISECOND, TRACE),
        match_event(BODY, MatchKind.MATCH, TRACE),
        matches.decode,
    ),
    Example("retraction", matches.encode("t", RETRACTED, 2, None), match_event(RETRACTED, MatchKind.RETRACT), matches.decode),
    Example("timeout", matches.encode("t", OVER, 2, None), match_event(OVER, MatchKind.TIMEOUT), matches.decode),
    Example("ordered-headers", ordered.encode("t", HEADER, b"any"), HEADER, lambda record: ordered.header(record.headers)),
    Example(
        "ordered-epoch",
        ordered.encode("t", LATER_HEADER, b"any"),
        LATER_HEADER,
        lambda record: ordered.header(record.headers),
    ),
    Example(
        "ordered-traces",
        ordered.encode("t", TRACED_HEADER, b"any"),
        TRACED_HEADER,
        lambda record: ordered.header(record.headers),
    ),
    Example(
        "pattern",
        Message("t", b"exfiltration", control.encode_pattern(PATTERN)),
        PATTERN,
        lambda record: control.decode_pattern(record.value),
    ),
    Example(
        "pattern-annotated",
        Message("t", b"exfiltration", control.encode_pattern(ANNOTATED)),
        ANNOTATED,
        lambda record: control.decode_pattern(record.value),
    ),
    *(
        Example(
            f"plan-{engine}",
            Message("t", b"exfiltration", control.encode_plan(plan)),
            plan,
            lambda record: control.decode_plan(record.value),
        )
        for engine, plan in PLANS.items()
    ),
    Example(
        "version",
        Message("t", pattern_versions.version_key("exfiltration", 2), pattern_versions.encode_version(VERSION)),
        VERSION,
        lambda record: pattern_versions.decode_version(record.key, record.value or b""),
    ),
    Example(
        "plan-change",
        Message("t", plan_changes.change_key("exfiltration", 23), plan_changes.encode_change(CHANGE)),
        CHANGE,
        lambda record: plan_changes.decode_change(record.key, record.value or b""),
    ),
    Example(
        "status",
        Message("t", b"exfiltration", control.encode_status(STATUS)),
        STATUS,
        lambda record: control.decode_status(record.value),
    ),
    Example(
        "status-consumed",
        Message("t", b"exfiltration", control.encode_status(STATUS_CONSUMED)),
        STATUS_CONSUMED,
        lambda record: control.decode_status(record.value),
    ),
    Example(
        "host",
        Message("t", hosts.host_key(HOST), hosts.encode_host(HOST)),
        HOST,
        lambda record: hosts.decode_hosts(b"matcher_timing.1", record.value),
    ),
    Example(
        "scaling",
        Message("t", hosts.scaling_key(SCALING.service), hosts.encode_scaling(SCALING)),
        SCALING,
        lambda record: hosts.decode_hosts(b"matcher_timing@scaling", record.value),
    ),
    Example(
        "match-backfilled",
        matches.as_backfilled(matches.encode("t", BODY, 2, TimeUnit.MILLISECOND)),
        replace(match_event(BODY, MatchKind.MATCH), is_backfilled=True),
        matches.decode,
    ),
    Example(
        "operation",
        Message("t", operations.operation_key(OPERATION.id), operations.encode_operation(OPERATION)),
        OPERATION,
        lambda record: operations.decode_operation(record.value),
    ),
    Example(
        "operation-status",
        Message("t", operations.status_key(OPERATION_STATUS.id), operations.encode_status(OPERATION_STATUS)),
        OPERATION_STATUS,
        lambda record: operations.decode_status(record.value),
    ),
    Example(
        "run-cut",
        Message("t", operations.cut_key(CUT.run), operations.encode_cut(CUT)),
        CUT,
        lambda record: operations.decode_cut(record.value),
    ),
    Example(
        "slice-marker",
        Message("t", operations.marker_key(MARKER), operations.encode_marker(MARKER)),
        MARKER,
        lambda record: operations.decode_marker(record.value),
    ),
    Example(
        "counts",
        Message("t", b"exfiltration", match_counts.encode_counts(COUNTS)),
        COUNTS,
        match_counts.decode_counts,
    ),
    Example("mute", mutes.encode_mute("t", MUTE), MUTE, mutes.decode_mute),
    Example(
        "acknowledgement",
        acknowledgements.encode_acknowledgement("t", ACKNOWLEDGEMENT),
        ACKNOWLEDGEMENT,
        acknowledgements.decode_acknowledgement,
    ),
    Example("target", targets.encode_target("t", TARGET), TARGET, targets.decode_target),
    Example("alert-counts", targets.encode_counts("t", ALERT_COUNTS), ALERT_COUNTS, targets.decode_counts),
    Example("dead-alert", targets.encode_dead_alert("t", DEAD_ALERT), DEAD_ALERT, targets.decode_dead_alert),
    Example("alert-request", targets.encode_request("t", ALERT_REQUEST), ALERT_REQUEST, targets.decode_request),
    Example("alert-answer", targets.encode_answer("t", ALERT_ANSWER), ALERT_ANSWER, targets.decode_answer),
    Example(
        "schema",
        Message("t", stream_schema.schema_key("flows", "declared"), stream_schema.encode_schema(SCHEMA)),
        SCHEMA,
        lambda record: stream_schema.decode_schema(record.key, record.value),
    ),
    Example(
        "statement",
        Message("t", stream_statement.statement_key("flows"), stream_statement.encode_statement(STATEMENT)),
        STATEMENT,
        lambda record: stream_statement.decode_statement(record.key, record.value),
    ),
    Example(
        "statement-version",
        Message("t", stream_statement.version_key("flows", 3), stream_statement.encode_statement(STATEMENT)),
        STATEMENT,
        lambda record: stream_statement.decode_statement(record.key, record.value),
    ),
    Example(
        "statement-removed",
        Message("t", stream_statement.statement_key("flows"), stream_statement.encode_statement(NO_STATEMENT)),
        NO_STATEMENT,
        lambda record: stream_statement.decode_statement(record.key, record.value),
    ),
    Example("replica", replicas.encode_replica("t", REPLICA), REPLICA, replicas.decode_replica),
    Example("verdict", verdicts.encode_verdict("t", VERDICT), VERDICT, verdicts.decode_verdict),
    Example(
        "statistics",
        Message("t", b"flows", statistics.encode_statistics(SNAPSHOT)),
        SNAPSHOT,
        lambda record: statistics.decode_statistics(record.value),
    ),
    Example(
        "statistics-attributes",
        Message("t", b"flows", statistics.encode_statistics(SNAPSHOT_WITH_ATTRIBUTES)),
        SNAPSHOT_WITH_ATTRIBUTES,
        lambda record: statistics.decode_statistics(record.value),
    ),
]
