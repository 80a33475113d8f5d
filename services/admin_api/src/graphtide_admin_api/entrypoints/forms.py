"""Bodies of requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from fastapi import Path, Query
from graphtide_core.any_pattern import AnyPattern, ordered_stream
from graphtide_query import print_pattern
from graphtide_query.families import AUTO, VARIANTS, family_of
from graphtide_wire.control import LimitsForm, PatternRecord
from graphtide_wire.place import Places
from graphtide_wire.stream_schema import LONGEST_ATTRIBUTE, MOST_ATTRIBUTES
from graphtide_wire.topics import STREAM_NAME
from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.edges import Edge, Shown
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import MOST_TEXT, Wish
from graphtide_admin_api.domain.standing import Standing

MOST: Final = 9_223_372_036_854_775_000
"""About the greatest signed integer of 64 bits: one that a description, whose bounds are doubles, writes as it is."""

Ticks = Annotated[int, Field(ge=-MOST, le=MOST)]
"""A time of a stream."""

_Count = Annotated[int, Field(ge=0, le=MOST)]
Text = Annotated[str, Field(max_length=MOST_TEXT, description="A pattern in the pattern language.")]
State = Literal["active", "paused"]
Engine = Annotated[str, Field(json_schema_extra={"enum": [AUTO, *VARIANTS]})]
"""The name of an engine; another is refused as an unknown engine."""

StreamPath = Annotated[str, Path(json_schema_extra={"pattern": f"^{STREAM_NAME}$"})]
StreamQuery = Annotated[str | SkipJsonSchema[None], Query(json_schema_extra={"pattern": f"^{STREAM_NAME}$"})]
AnyStreamQuery = Annotated[str | SkipJsonSchema[None], Query()]
PlacePath = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9]{1,9}-[0-9]{1,18}$"})]
"""What fits another pattern is refused by the code that reads it, with a problem of its own."""

CursorQuery = Annotated[
    str | SkipJsonSchema[None],
    Query(
        description="`next` of the page before.",
        max_length=10_000,
        json_schema_extra={"pattern": r"^[0-9]{1,9}-[0-9]{1,18}(\.[0-9]{1,9}-[0-9]{1,18})*$"},
        examples=["0-17"],
    ),
]
Next = Annotated[str | None, Field(description="cursor of the page that follows; null where none does")]


_TEXT: Final = "PATTERN fan_out MATCH (a)-[x:http]->(b), (a)-[y:http]->(c) ORDER x < y ON flows WINDOW 10s"
_TIME: Final = "2026-01-01T12:00:00Z"
_MATCH: Final = {
    "match_id": "4232d89a8d4c036f868a7bc9f0d7cb5f",
    "query": "fan_out",
    "kind": "match",
    "detected_at": 1704067201000,
    "first_ts": 1704067200000,
    "last_ts": 1704067201000,
    "edges": {"x": "e1", "y": "e2"},
    "vertices": {"a": "10.0.0.7", "b": "203.0.113.1", "c": "203.0.113.2"},
}
_RESULT: Final = {
    "match_id": "67213523c5049fe4b389d4eb2eeafcbb",
    "query": "notify",
    "kind": "match",
    "detected_at": 4000,
    "first_ts": 4000,
    "last_ts": 4000,
    "src": "ann",
    "dst": "m1",
    "label": "notify",
    "valid": [4000, 86_400_000],
}
_STREAM: Final = {
    "name": "flows",
    "partitions": 4,
    "first": 0,
    "end": 17,
    "dead_letters": 1,
    "patterns": ["fan_out"],
}
_MATCHER: Final = {
    "service": "matcher_timing",
    "shards": [
        {
            "shard": 0,
            "at": _TIME,
            "busy": 0.25,
            "memory_bytes": 134217728,
            "patterns": 12,
            "streams": [{"stream": "flows", "position": 4711, "lag_seconds": 0.5}],
        }
    ],
    "scaling": {
        "at": _TIME,
        "mode": "on",
        "replicas": 1,
        "ready": 1,
        "wanted": 1,
        "least": 1,
        "most": 4,
        "reason": "the load is carried",
        "draining": None,
    },
}
_EDGE: Final = {
    "id": "e1",
    "ts": 1704067200000,
    "src": "10.0.0.7",
    "dst": "203.0.113.1",
    "label": "http",
    "src_label": "ip",
    "dst_label": None,
    "made": False,
    "attributes": {"bytes": 7120},
}


def _like(*examples: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a model that the description shows such examples of."""
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class Strict(BaseModel):
    """A body as it is described: nothing unknown, and no value of another type, such as `true` for 1.

    As in JSON Schema, 1.0 is an integer.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @field_validator("*", mode="before")
    @classmethod
    def _whole(cls, value: object) -> object:
        return int(value) if isinstance(value, float) and value.is_integer() else value


class Limits(Strict):
    """Bounds on a pattern's state and work; null is the service's default.

    `work` counts steps a record of the stream, on average. At a bound the pattern fails, is paused, or sheds matches.
    """

    partial_matches: _Count | None = None
    state_bytes: _Count | None = None
    policy: Literal["fail", "pause", "shed"] = "fail"
    work: Annotated[int, Field(ge=1, le=MOST)] | None = None

    def form(self) -> LimitsForm:
        """Return them as records carry them."""
        return LimitsForm(
            self.partial_matches, self.state_bytes, self.policy, msgspec.UNSET if self.work is None else self.work
        )

    @classmethod
    def of(cls, form: LimitsForm) -> Limits:
        """Return the bounds that hold."""
        held = form.effective
        return cls(partial_matches=held.partial_matches, state_bytes=held.state_bytes, policy=held.policy, work=held.steps)


class PatternIn(Strict):
    """A pattern to be registered."""

    model_config = _like(
        {"text": _TEXT}, {"text": _TEXT, "engine": "auto", "limits": {"partial_matches": 10_000, "policy": "pause"}}
    )

    text: Text
    engine: Engine = AUTO
    limits: Limits = Field(default_factory=Limits)
    state: State = "active"

    def wish(self) -> Wish:
        """Return what is asked."""
        return Wish(self.text, self.limits.form(), self.engine, self.state)


class PatternChange(Strict):
    """What is to change of a pattern; what is left out stays."""

    model_config = _like({"limits": {"state_bytes": 1_048_576, "policy": "shed"}}, {"state": "paused"})

    text: Text | None = None
    engine: Engine | None = None
    limits: Limits | None = None
    state: State | None = None

    def wish(self) -> Wish:
        """Return what is asked."""
        return Wish(self.text, self.limits.form() if self.limits is not None else None, self.engine, self.state)


class Placement(BaseModel):
    """Which plan a pattern has, and who runs it."""

    engine: str
    service: str
    shard: int
    epoch: int


class Figures(BaseModel):
    """What a pattern's host said of it last, but for `matches`; `position` is the offset it reads next."""

    matches: int = Field(description="matches reported since the name was registered, by all versions and hosts")
    partial_matches: int
    state_bytes: int
    work: int | None = Field(description="steps of work")
    suppressed: int = Field(description="matches that its host left untold since one of their key was told (ONE PER)")
    position: int | None
    at: datetime


class PatternOut(BaseModel):
    """A pattern: what was asked, and how it stands."""

    name: str
    version: int
    text: str
    stream: str
    engine: str
    limits: Limits
    wanted: State
    state: str = Field(description="pending, running, moving, paused or failed")
    reason: str | None
    start: int | None = Field(description="offset of the ordered stream from which on matches are reported")
    created_at: datetime
    updated_at: datetime
    etag: str
    placement: Placement | None
    figures: Figures | None
    warnings: list[str] = Field(
        description="what may be misspelt: labels that the stream has not had lately or the stream; and too many matches"
    )

    @classmethod
    def of(cls, record: PatternRecord, standing: Standing, warnings: list[str]) -> PatternOut:
        """Return what is shown of a pattern."""
        plan = standing.plan
        return cls(
            name=record.name,
            version=record.version,
            text=record.text,
            stream=record.stream,
            engine=record.options.engine,
            limits=Limits.of(record.limits),
            wanted=record.state,
            state=standing.state,
            reason=standing.reason,
            start=record.start,
            created_at=record.created_at,
            updated_at=record.updated_at,
            etag=record.etag,
            placement=None
            if plan is None
            else Placement(engine=plan.engine, service=plan.service, shard=plan.shard, epoch=plan.epoch),
            figures=figures_of(standing),
            warnings=warnings,
        )


class PatternsOut(BaseModel):
    """Patterns, by their names."""

    patterns: list[PatternOut]
    next: Next = None


class TextIn(Strict):
    """A text to look at."""

    model_config = _like({"text": _TEXT})

    text: Text


class PatternSummary(BaseModel):
    """A pattern of a text: of edges and vertices, of events, or a graph query with what it reports."""

    name: str
    stream: str
    window: str
    edges: list[str] = []
    vertices: list[str] = []
    events: list[str] = []
    results: list[str] = []
    canonical: str

    @classmethod
    def of(cls, pattern: AnyPattern) -> Self:
        """Return the summary of a pattern; the window of an event pattern is its time, that of a graph query its longest."""
        family = family_of(pattern)
        layout = family.layout(pattern)
        is_result = bool(layout.outputs)
        return cls(
            name=pattern.name,
            stream=ordered_stream(pattern),
            window=str(family.window(pattern)),
            edges=list(layout.edges),
            vertices=[] if is_result else list(layout.vertices),
            events=list(family.event_names(pattern)),
            results=[output.label for output in layout.outputs],
            canonical=print_pattern(pattern),
        )


class Flaw(BaseModel):
    """What is wrong with a text, and where."""

    detail: str
    line: int | None = None
    column: int | None = None
    source_line: str | None = None
    expected: list[str] | None = None
    hint: str | None = None


class Validity(BaseModel):
    """Whether a text is valid: its patterns, or what is wrong."""

    model_config = _like(
        {
            "valid": True,
            "patterns": [
                {
                    "name": "fan_out",
                    "stream": "flows",
                    "window": "10s",
                    "edges": ["x", "y"],
                    "vertices": ["a", "b", "c"],
                    "canonical": _TEXT,
                }
            ],
        },
        {"valid": False, "error": {"detail": "expected a name", "line": 1, "column": 9}},
    )

    valid: bool
    patterns: list[PatternSummary] = Field(default_factory=list)
    warnings: list[str] = Field(
        default_factory=list,
        description="Of the patterns: names that their streams have not had, and where one record may complete very many.",
    )
    error: Flaw | None = None


class BadEdge(BaseModel):
    """An edge that could not be used, by its place among those given, from 1 on."""

    number: int | None
    reason: str


class SimulationOut(BaseModel):
    """What was found; `truncated` if a bound ended the search."""

    matches: list[JsonValue]
    engines: dict[str, str]
    rejected: list[BadEdge]
    truncated: bool


class MatchOut(BaseModel):
    """A match record and its place, `partition-offset`."""

    model_config = _like({"place": "0-17", "match": _MATCH})

    place: str
    match: JsonValue


class EdgeOut(BaseModel):
    """An edge as it was put in order; `made` says that its id is its place in the stream, because the sender gave none.

    Of an event the label is its type, and the ends are empty.
    """

    model_config = _like(_EDGE)

    id: str
    ts: int
    src: str
    dst: str
    label: str | None
    src_label: str | None
    dst_label: str | None
    made: bool
    attributes: dict[str, bool | int | float | str | None]

    @classmethod
    def of(cls, edge: Edge) -> EdgeOut:
        """Return an edge as it is shown."""
        return cls(
            id=edge.id,
            ts=edge.ts,
            src=edge.src,
            dst=edge.dst,
            label=edge.label,
            src_label=edge.src_label,
            dst_label=edge.dst_label,
            made=edge.is_made,
            attributes=dict(edge.attributes),
        )


class EdgesOut(BaseModel):
    """Edges that were found, the newest first; `truncated` where a bound ended the search before all was looked at."""

    model_config = _like({"edges": [_EDGE], "truncated": False})

    edges: list[EdgeOut]
    truncated: bool


class MatchDetails(MatchOut):
    """A match, and its edges or events by their names in the pattern; null where one is not in the log, or not any more.

    A name has a list of them in a component and in an iteration. The edges of a path that a result returns are under `path`.
    """

    model_config = _like({"place": "0-17", "match": _MATCH, "edges": {"x": _EDGE, "y": None}})

    edges: dict[str, EdgeOut | list[EdgeOut | None] | None]

    @classmethod
    def of(cls, place: str, shown: Shown) -> MatchDetails:
        """Return a match as it is shown at a place."""

        def out(edge: Edge | None) -> EdgeOut | None:
            return None if edge is None else EdgeOut.of(edge)

        edges = {name: [out(each) for each in of] if isinstance(of, list) else out(of) for name, of in shown.edges.items()}
        return cls(place=place, match=msgspec.json.decode(shown.body), edges=edges)


class MatchesOut(BaseModel):
    """Matches, the newest first. A page may hold less than was asked for, or nothing, and another follow all the same."""

    model_config = _like({"matches": [{"place": "0-17", "match": _MATCH}], "next": "0-17"})

    matches: list[MatchOut]
    next: Next = None


class ResultsOut(BaseModel):
    """Results of a graph query that are valid at one instant, by `match_id`; times are ticks of the stream.

    `complete` is whether these are all of them, with those of the other pages, and stay so; `notes` say why they may not be.
    """

    model_config = _like(
        {"version": 1, "at": 6500, "read_to": 7000, "results": [_RESULT], "complete": True, "notes": [], "next": None}
    )

    version: int
    at: int | None = Field(description="the instant; null where none was given, and the query has not read its stream")
    read_to: int | None = Field(description="time of the newest edge that the query is known to have read")
    results: list[JsonValue] = Field(
        description="match records of kind `match`; of kind `extend` where `valid` may have begun before what was looked at"
    )
    complete: bool
    notes: list[str]
    next: Next = None


class TicketOut(BaseModel):
    """What follows matches in an address, in place of a header, and until when."""

    model_config = _like({"ticket": "eyJhbGciOiJIUzI1NiJ9.e30.c2ln", "expires_at": _TIME})

    ticket: str
    expires_at: datetime


class PatternStatistics(BaseModel):
    """How a pattern does; `behind` counts the edges of the ordered stream that its host has not matched yet."""

    state: str
    reason: str | None
    figures: Figures | None
    behind: int | None


class StreamOut(BaseModel):
    """A stream; dead letters are counted by offsets, so there may be a few less."""

    model_config = _like(_STREAM)

    name: str
    partitions: int
    first: int
    end: int
    dead_letters: int
    patterns: list[str]


class StreamStanding(BaseModel):
    """How far a stream was put in order: its epoch, its times, edges read in the epoch and those put aside for their times.

    `lateness` is by how many ticks an edge may come later than a newer one; null where an older version wrote the position.
    `note` says what is odd, and what helps.
    """

    epoch: int
    watermark: int | None
    newest: int | None
    read: int
    late: int
    future: int
    lateness: int | None
    note: str | None


class StreamDetails(StreamOut):
    """A stream and how it stands; `standing` is null until a part of it was put in order."""

    model_config = _like(
        {
            **_STREAM,
            "standing": {
                "epoch": 0,
                "watermark": 1704067201000,
                "newest": 1704067201000,
                "read": 17,
                "late": 0,
                "future": 0,
                "lateness": 1000,
                "note": None,
            },
        }
    )

    standing: StreamStanding | None


class AttributeOut(BaseModel):
    """An attribute, what it is, and how that is known: declared, or seen in edges, where `any` are values of several types."""

    name: str
    type: Literal["any", "string", "integer", "number", "boolean"]
    source: Literal["declared", "seen"]


class SchemaOut(BaseModel):
    """What is known of a stream's attributes, by their names."""

    stream: str
    attributes: list[AttributeOut]


class SchemaIn(Strict):
    """Types by the names of attributes; they take the place of those that were declared before."""

    model_config = _like({"attributes": {"zip": "string", "amount": "number"}})

    attributes: Annotated[
        dict[
            Annotated[str, Field(min_length=1, max_length=LONGEST_ATTRIBUTE)], Literal["string", "integer", "number", "boolean"]
        ],
        Field(max_length=MOST_ATTRIBUTES),
    ]


class StreamPlaceOut(BaseModel):
    """How far a shard is in a stream: the offset it reads next, and how old the last record was when it was read."""

    stream: str
    position: int
    lag_seconds: float


class ShardOut(BaseModel):
    """One shard of a matcher service, as its host said last.

    `busy` is the share of its time in which it did not wait for records; `patterns` are those that it is to run.
    """

    shard: int
    at: datetime
    busy: float
    memory_bytes: int
    patterns: int
    streams: list[StreamPlaceOut]


class ScalingOut(BaseModel):
    """What the planner decided of a service's replicas, and why.

    While they are to become fewer, patterns leave the shards from `draining` on.
    """

    at: datetime
    mode: Literal["follow", "dry-run", "on"]
    replicas: int
    ready: int
    wanted: int
    least: int
    most: int
    reason: str
    draining: int | None


class MatcherOut(BaseModel):
    """A matcher service; `scaling` is null where the planner was told how many shards there are."""

    model_config = _like(_MATCHER)

    service: str
    shards: list[ShardOut]
    scaling: ScalingOut | None


class MatchersOut(BaseModel):
    """Matcher services, by their names."""

    matchers: list[MatcherOut]


class StreamsOut(BaseModel):
    """Streams, by their names."""

    streams: list[StreamOut]


class DeadLetterOut(BaseModel):
    """A record that could not be used; `raw` where it is UTF-8, else `raw_base64`.

    `place` is its own, `source_place` that of the raw record it came from, where it was put aside as the stream was ordered.
    """

    model_config = _like(
        {
            "stream": "flows",
            "place": "0-17",
            "code": "malformed",
            "reason": 'ts "x" is not an integer',
            "time": _TIME,
            "raw": '{"ts":"x"}',
            "raw_base64": None,
            "content_type": "application/x-ndjson",
            "producer": "probe-7",
            "source_topic": None,
            "source_partition": None,
            "source_offset": None,
            "source_place": None,
            "source_line": 2,
        }
    )

    stream: str
    place: str
    code: str
    reason: str
    time: str
    raw: str | None
    raw_base64: str | None
    content_type: str | None
    producer: str | None
    source_topic: str | None
    source_partition: int | None
    source_offset: int | None
    source_place: str | None
    source_line: int | None


class DeadLettersOut(BaseModel):
    """Dead letters, the newest of each stream first; pages are those of one stream."""

    dead_letters: list[DeadLetterOut]
    next: Next = None


def begin_of(cursor: str | None) -> Places | None:
    """Return what a page begins below.

    Raises:
        ProblemError: this is no cursor.
    """
    try:
        return None if cursor is None else Places.of(cursor)
    except ValueError as error:
        raise ProblemError(400, "bad-cursor", "a cursor is what `next` of another page is, and this is none") from error


def figures_of(standing: Standing) -> Figures | None:
    """Return what was counted."""
    status = standing.status
    if status is None:
        return None
    return Figures(
        matches=standing.reported,
        partial_matches=status.partial_matches,
        state_bytes=status.state_bytes,
        work=None if isinstance(status.work, msgspec.UnsetType) else status.work,
        suppressed=status.suppressed or 0,
        position=status.position,
        at=status.at,
    )
