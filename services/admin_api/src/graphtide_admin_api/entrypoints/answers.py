"""Answers about patterns, texts, edges and matches: how they are made, and those that only the document describes."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, Self

import msgspec
from graphtide_core.any_pattern import AnyPattern, ordered_stream
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream, part_in
from graphtide_query import print_pattern
from graphtide_query.families import VARIANTS, family_of
from graphtide_query.layout import PatternGraph
from graphtide_serving.described import describe
from graphtide_wire.bodies import TIME
from graphtide_wire.bodies.matches import MATCH, SHOWN_WITH_A_MATCH, Acknowledgement, ReportedMatch
from graphtide_wire.bodies.patterns import Limits, PartOfPattern, Pattern, Placement, PlanCounts
from graphtide_wire.control import AnnotationsForm, PatternRecord, PlanRecord
from graphtide_wire.plan_changes import PlanChangeRecord
from pydantic import BaseModel, Field, JsonValue

from graphtide_admin_api.application.edges import Edge, Found, Shown
from graphtide_admin_api.domain.pattern_status import PatternStatus
from graphtide_admin_api.entrypoints.forms import TEXT, like

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
_ENGINE: Final = next(iter(VARIANTS))
"""An engine in examples."""


class DrawnVertex(BaseModel):
    """A vertex of a pattern; `key` names the one data vertex that it may be."""

    name: str
    label: str | None
    key: str | None


class DrawnEdge(BaseModel):
    """An edge of a pattern between two of its vertices."""

    name: str
    source: str
    target: str
    label: str | None


class Shape(BaseModel):
    """A pattern of edges as a graph; in each pair of `order` the first edge comes before the second."""

    vertices: list[DrawnVertex]
    edges: list[DrawnEdge]
    order: list[tuple[str, str]]

    @classmethod
    def of(cls, graph: PatternGraph) -> Self:
        """Return the shape of a graph."""
        return cls(
            vertices=[DrawnVertex(name=each.name, label=each.label, key=each.key) for each in graph.vertices],
            edges=[DrawnEdge(name=each.name, source=each.source, target=each.target, label=each.label) for each in graph.edges],
            order=list(graph.order),
        )


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
    shape: Shape | None = None

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
            shape=None if layout.graph is None else Shape.of(layout.graph),
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

    model_config = like(
        {
            "valid": True,
            "patterns": [
                {
                    "name": "fan_out",
                    "stream": "flows",
                    "window": "10s",
                    "edges": ["x", "y"],
                    "vertices": ["a", "b", "c"],
                    "canonical": TEXT,
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


class DryRunOut(BaseModel):
    """What was found; `truncated` if a bound ended the search.

    With the newest edges of a stream, `edges` has those that matches name, by their ids; otherwise it is empty.
    """

    matches: list[JsonValue]
    engines: dict[str, str]
    rejected: list[BadEdge]
    truncated: bool
    edges: dict[str, EdgeOut]


class EdgeOut(BaseModel):
    """An edge as it was put in order; `made` says that its id is its place in the stream, because the sender gave none.

    Of an event the label is its type, and the ends are empty.
    """

    model_config = like(_EDGE)

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

    model_config = like({"edges": [_EDGE], "truncated": False})

    edges: list[EdgeOut]
    truncated: bool

    @classmethod
    def of(cls, found: Found) -> EdgesOut:
        """Return what is shown of edges that were found."""
        return cls(edges=[EdgeOut.of(each) for each in found.edges], truncated=not found.is_whole)


class MatchDetails(BaseModel):
    """A match, and its edges or events by their names in the pattern; null where one is not in the log, or not any more.

    A name has a list of them in a component and in an iteration. The edges of a path that a result returns are under `path`.
    """

    model_config = like({"place": "0-17", "match": MATCH, "edges": {"x": _EDGE, "y": None}, **SHOWN_WITH_A_MATCH})

    place: str
    match: JsonValue
    edges: dict[str, EdgeOut | list[EdgeOut | None] | None]
    acknowledgement: describe(Acknowledgement) | None  # type: ignore[valid-type]  # a model made of the body
    muted: str | None
    severity: str | None
    message: str | None

    @classmethod
    def of(cls, reported: ReportedMatch, shown: Shown) -> MatchDetails:
        """Return a match as lists show it, with its edges."""

        def out(edge: Edge | None) -> EdgeOut | None:
            return None if edge is None else EdgeOut.of(edge)

        edges = {name: [out(each) for each in of] if isinstance(of, list) else out(of) for name, of in shown.edges.items()}
        return cls(edges=edges, **msgspec.json.decode(msgspec.json.encode(reported)))


class VersionOut(BaseModel):
    """A text that a pattern had from an instant on."""

    model_config = like({"version": 2, "text": TEXT, "at": TIME})

    version: int
    text: str
    at: datetime


class VersionsOut(BaseModel):
    """The last texts of a pattern, the newest first."""

    versions: list[VersionOut]


class EvidenceOut(BaseModel):
    """A part of a pattern, by its edges, with its partial matches alive: as they were estimated, and as a host counted them."""

    edges: list[str]
    estimated: float
    counted: float


class PlanChangeOut(BaseModel):
    """A plan that took the place of the one before; `part` of a pattern that each part of a stream runs by itself."""

    version: int
    epoch: int
    part: int | None
    at: datetime
    engine: str
    service: str
    shard: int
    desired: Literal["running", "paused", "stopped"]
    reason: str
    nanoseconds: float | None
    partial_matches: float | None
    evidence: list[EvidenceOut]

    @classmethod
    def of(cls, record: PlanChangeRecord) -> Self:
        """Return what is shown of a change."""
        part = part_in(record.name)
        return cls.model_validate({**msgspec.to_builtins(record), "part": None if part is None else part.number})


class PlanHistoryOut(BaseModel):
    """The newest changes of the plans of a pattern, the newest first."""

    model_config = like(
        {
            "changes": [
                {
                    "version": 1,
                    "epoch": 2,
                    "part": None,
                    "at": TIME,
                    "engine": _ENGINE,
                    "service": f"matcher_{_ENGINE}",
                    "shard": 0,
                    "desired": "running",
                    "reason": f"another plan costs less now: engine {_ENGINE}, the cheapest",
                    "nanoseconds": 250.5,
                    "partial_matches": 17.25,
                    "evidence": [{"edges": ["x", "y"], "estimated": 0.5, "counted": 1200.0}],
                }
            ]
        }
    )

    changes: list[PlanChangeOut]


class TicketOut(BaseModel):
    """A ticket that follows matches in an address, in place of a header, and when it expires."""

    model_config = like({"ticket": "eyJhbGciOiJIUzI1NiJ9.e30.c2ln", "expires_at": TIME})

    ticket: str
    expires_at: datetime


def pattern_of(record: PatternRecord, pattern_status: PatternStatus, warnings: list[str]) -> Pattern:
    """Return what is shown of a pattern."""
    plan, held = pattern_status.plan, record.limits.effective
    said = AnnotationsForm() if isinstance(record.annotations, msgspec.UnsetType) else record.annotations
    return Pattern(
        name=record.name,
        version=record.version,
        text=record.text,
        stream=logical_stream(StreamName(record.stream)),
        engine=record.options.engine,
        limits=Limits(held.partial_matches, held.state_bytes, held.policy, held.steps),
        wanted=record.state,
        state=pattern_status.state,
        reason=pattern_status.reason,
        start=record.start,
        created_at=record.created_at,
        updated_at=record.updated_at,
        etag=record.etag,
        placement=_placement_of(plan),
        figures=counts_of(pattern_status),
        warnings=tuple(warnings),
        parts=tuple(
            PartOfPattern(number, each.state, _placement_of(each.plan)) for number, each in enumerate(pattern_status.parts)
        ),
        description=said.description,
        severity=said.severity,
        tags=said.tags,
        message=said.message,
    )


def _placement_of(plan: PlanRecord | None) -> Placement | None:
    return None if plan is None else Placement(plan.engine, plan.service, plan.shard, plan.epoch)


def counts_of(pattern_status: PatternStatus) -> PlanCounts | None:
    """Return what was counted."""
    status = pattern_status.status
    if status is None:
        return None
    return PlanCounts(
        matches=pattern_status.reported,
        partial_matches=status.partial_matches,
        state_bytes=status.state_bytes,
        work=None if isinstance(status.work, msgspec.UnsetType) else status.work,
        suppressed=status.suppressed or 0,
        position=status.position,
        at=status.at,
    )
