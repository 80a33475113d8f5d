"""A subgraph pattern: what the isomorphism and simulation families match.

Reference: paper 004, Definition 4, with edge labels, predicates and vertex constants; paper 000, Definitions 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final

from graphtide_core.annotations import NO_ANNOTATIONS
from graphtide_core.errors import InvalidPatternError
from graphtide_core.one_per import OnePer, refuse_empty
from graphtide_core.order import TimingOrder
from graphtide_core.predicate import RECORD_FIELDS, Attribute, aggregates, attributes, plain_attributes, rename, variables
from graphtide_core.returns import MatchLayout, refuse_fields
from graphtide_core.suggestion import show
from graphtide_core.window import EdgeCount

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.annotations import Annotations
    from graphtide_core.errors import Location
    from graphtide_core.ids import PatternName, StreamName, VertexId
    from graphtide_core.predicate import Expression
    from graphtide_core.returns import Field, Returns
    from graphtide_core.time import Duration, TimeUnit
    from graphtide_core.window import Extent, Window

MAX_EDGES = 64
"""Edges a pattern may have: engines keep sets of query edges as one machine word."""


class Morphism(Enum):
    """The parts of one match that must differ."""

    ISOMORPHISM = "isomorphism"
    """Vertices and edges are mapped injectively."""

    EDGE_ISOMORPHISM = "edge isomorphism"
    """Edges are mapped injectively; vertices may coincide (GQL's *different edges*)."""

    DUAL_SIMULATION = "dual simulation"
    """Not a mapping but a relation: each part of the pattern may be matched by many of the data (the family `simulation`)."""

    @property
    def family(self) -> str:
        """Name of the family of patterns that are matched so."""
        return "isomorphism" if self.is_mapping else "simulation"

    @property
    def is_mapping(self) -> bool:
        """Whether a match gives each part of the pattern one part of the data."""
        return self is not Morphism.DUAL_SIMULATION

    @property
    def has_closed_windows(self) -> bool:
        """Whether an edge is alive at the very end of a window of time, too: while ts >= now - window."""
        return self is Morphism.DUAL_SIMULATION

    @property
    def reports(self) -> tuple[Report, ...]:
        """The possible reports of a pattern under this semantics; the first is the default."""
        return OF_SIMULATION if self is Morphism.DUAL_SIMULATION else (Report.ALL,)


class Report(Enum):
    """The reports of a pattern, and when they are made."""

    ALL = "all"
    """Every match, once, when it is complete: all there is under (edge) isomorphism."""

    EXISTS = "exists"
    """Of event patterns: for each event that completes matches one of them, with their number."""

    MAXIMAL = "maximal"
    """Under dual simulation: the match component of each edge that arrives, as it is then."""

    INSTANCES = "instances"
    """Under dual simulation: the same, and its earliest edge and all before it are of no use afterwards."""

    CHANGES = "changes"
    """Under dual simulation: what entered the match graph and what left it."""


OF_SIMULATION: Final = (Report.MAXIMAL, Report.INSTANCES, Report.CHANGES)
"""What may be reported under dual simulation."""


@dataclass(frozen=True, slots=True)
class QueryVertex:
    """A vertex of a pattern; `label` None matches every label, `key` pins it to one data vertex."""

    name: str
    label: str | None = None
    key: VertexId | None = None


@dataclass(frozen=True, slots=True)
class QueryEdge:
    """A directed edge of a pattern between two named query vertices; `label` None matches every label."""

    name: str
    source: str
    target: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class SubgraphPattern:
    """A connected directed graph with a timing order, predicates (all must be true) and a window.

    Under dual simulation a predicate reads one edge and its ends at most. A window of time is half-open under (edge)
    isomorphism, where the edges of a match lie less than it apart. It is closed under dual simulation, where an edge is alive
    while ts >= now - window. A window of edges is the same under both: the last so many edges of the stream.

    Where it `is_distinct`, one of the matches that are made of the same edges is reported. It is the one whose edges, in the
    order of the text, are the earliest in the stream. Components differ in their edges anyway. With `one_per`, of those the
    first for each key in each interval of time.
    """

    name: PatternName
    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    window: Window
    stream: StreamName
    order: TimingOrder = field(default_factory=TimingOrder)
    predicates: tuple[Expression, ...] = ()
    morphism: Morphism = Morphism.ISOMORPHISM
    report: Report = Report.ALL
    version: int = 1
    returns: Returns | None = None
    is_distinct: bool = False
    one_per: OnePer | None = None
    annotations: Annotations = NO_ANNOTATIONS
    is_view: ClassVar[bool] = False
    """Matches of edges do not form a stream of edges."""

    def __post_init__(self) -> None:
        """Refuse what no engine could match.

        Raises:
            InvalidPatternError: no edges or too many, a name twice, an unknown name, a disconnected graph, or an empty window.
                Also a report that its morphism does not have, or an aggregate in a condition. Under dual simulation, a
                predicate over more than an edge and its ends. A field without a value or, under dual simulation, with many. ONE
                PER of what does not follow from a stretch of time.
        """
        if not self.edges:
            message = "a pattern needs at least one edge"
            raise InvalidPatternError(message)
        if len(self.edges) > MAX_EDGES:
            message = f"a pattern may have at most {MAX_EDGES} edges; this one has {len(self.edges)}"
            raise InvalidPatternError(message)
        names = [vertex.name for vertex in self.vertices] + [edge.name for edge in self.edges]
        for name in names:
            if names.count(name) > 1:
                message = f"{name!r} names two parts of the pattern"
                raise InvalidPatternError(message)
        self._refuse_unknown_names()
        if len(components(self)) > 1:
            parts = " and ".join("{" + ", ".join(sorted(part)) + "}" for part in components(self))
            message = f"the pattern is not connected: {parts} share no edge"
            raise InvalidPatternError(message, hint="join the parts by an edge, or register them as two patterns")
        if (self.window.edges if isinstance(self.window, EdgeCount) else self.window.amount) == 0:
            message = "the window is empty: it must be longer than 0"
            raise InvalidPatternError(message, hint="for example WINDOW 10m")
        if self.report not in self.morphism.reports:
            message = f"REPORT {self.report.value.upper()} is not for patterns UNDER {self.morphism.value.upper()}"
            raise InvalidPatternError(message)
        for aggregate in (each for predicate in self.predicates for each in aggregates(predicate)):
            message = f"{aggregate.function.value} needs an iteration, and edges are not repeated"
            raise InvalidPatternError(message, aggregate.operand.location, hint="iterations are for event patterns: SEQ(a:A+)")
        if not self.morphism.is_mapping:
            self._refuse_far_predicates()
        self._refuse_returns()
        self._refuse_keys()

    @property
    def reports_changes(self) -> bool:
        """Whether each record of a match says what changed."""
        return self.report is Report.CHANGES

    def _refuse_returns(self) -> None:
        if self.returns is None:
            return
        refuse_fields(self.returns)
        for each in self.returns.fields:
            if self.morphism.is_mapping or not isinstance(each.value, Attribute):
                self._refuse_value(each.value)

    def _refuse_keys(self) -> None:
        if self.one_per is None:
            return
        refuse_empty(self.one_per)
        if self.report in (Report.INSTANCES, Report.CHANGES):
            message = f"REPORT {self.report.value.upper()} emits everything, and ONE PER leaves matches out"
            raise InvalidPatternError(message, hint="write REPORT MAXIMAL ONE PER …, or leave ONE PER out")
        if isinstance(self.window, EdgeCount):
            message = "ONE PER counts time, and the window counts edges"
            raise InvalidPatternError(message, hint="give the pattern a window of time: WINDOW 10m")
        for key in self.one_per.keys:
            self._refuse_value(key)

    def _refuse_unknown_names(self) -> None:
        vertices = {vertex.name for vertex in self.vertices}
        edges = {edge.name for edge in self.edges}
        ends = [end for edge in self.edges for end in (edge.source, edge.target)]
        ordered = [name for pair in self.order.before for name in pair]
        fields = () if self.returns is None else self.returns.fields
        expressions = (*self.predicates, *(each.value for each in fields), *self._keys)
        read = [a.variable for expression in expressions for a in attributes(expression)]
        for known, used in ((vertices, ends), (edges, ordered), (vertices | edges, read)):
            for name in used:
                if name not in known:
                    message = f"the pattern has no {name!r}"
                    raise InvalidPatternError(message)
        for name in vertices - set(ends):
            message = f"vertex {name!r} has no edge"
            raise InvalidPatternError(message)

    def _refuse_far_predicates(self) -> None:
        parts = [{edge.name, edge.source, edge.target} for edge in self.edges]
        for predicate in self.predicates:
            read = variables(predicate)
            if not any(read <= part for part in parts):
                message = (
                    f"under dual simulation a condition reads one edge and its ends; this one reads {', '.join(sorted(read))}"
                )
                place = next((each.location for each in attributes(predicate)), None)
                raise InvalidPatternError(
                    message, place, hint="many edges may match each edge of the pattern: compare it with constants"
                )

    def _refuse_value(self, value: Expression) -> None:
        """Refuse what a match has no one value of."""
        if self.morphism.is_mapping:
            for aggregate in aggregates(value):
                message = f"{aggregate.function.value} needs several edges, and a match has one edge of each name"
                raise InvalidPatternError(message, aggregate.operand.location, hint="read its attribute as it is")
        else:
            for read in plain_attributes(value):
                message = f"under dual simulation {show(read.variable)} has several matches, with a value for each"
                hint = "take one of them, or compute one: first(a.x), last(a.x), sum(a.x) and others"
                raise InvalidPatternError(message, read.location, hint=hint)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of edges that it reads, each once, in their order; what every record has is none."""
        edges = {edge.name for edge in self.edges}
        values = () if self.returns is None else (each.value for each in self.returns.fields)
        read = (each for expression in (*self.predicates, *values, *self._keys) for each in attributes(expression))
        return tuple(dict.fromkeys(e.name for e in read if e.variable in edges and e.name not in RECORD_FIELDS))

    @property
    def _keys(self) -> tuple[Expression, ...]:
        return () if self.one_per is None else self.one_per.keys

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a match beside ids; `RETURN *` is time, label and the attributes that it reads, of each edge."""
        if self.returns is None:
            return ()
        read = ("ts", "label", *sorted(self.attributes))
        return self.returns.expanded(Attribute(edge.name, name) for edge in self.edges for name in read)

    @property
    def family(self) -> str:
        """Name of its family, which its morphism decides."""
        return self.morphism.family

    @property
    def consumes(self) -> bool:
        """Whether what it can match depends on what it matched before."""
        return self.report is Report.INSTANCES

    @property
    def match_layout(self) -> MatchLayout:
        """The layout of its matches."""
        return MatchLayout.ASSIGNMENT if self.morphism.is_mapping else MatchLayout.COMPONENT

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The one stream that it reads."""
        return (self.stream,)

    def durations(self) -> Iterator[tuple[str, Duration, Location | None]]:
        """Yield each duration with its keyword and, where it is known, its place."""
        if not isinstance(self.window, EdgeCount):
            yield "WINDOW", self.window, None
        if self.one_per is not None:
            yield "EVERY", self.one_per.every, None

    def extent(self, unit: TimeUnit) -> Extent:
        """Return how long an edge can be of use: in ticks, as `lookback`, or while it is among the last so many edges."""
        return self.window if isinstance(self.window, EdgeCount) else self.lookback(unit)

    def lookback(self, unit: TimeUnit) -> int:
        """Return how many ticks an edge can be of use: with `now` the newest time, while ts > now - lookback.

        Raises:
            InvalidPatternError: as `duration`.
        """
        if self.morphism.has_closed_windows:
            return self.duration.ticks(unit) // 1 + 1
        return self.duration.ticks_at_least(unit)

    @property
    def duration(self) -> Duration:
        """The window, for whatever keeps edges for a time.

        Raises:
            InvalidPatternError: the window counts edges, so that no time bounds it.
        """
        if isinstance(self.window, EdgeCount):
            message = f"pattern {self.name!r} has a window of edges, WINDOW {self.window}, which has no bound in time"
            raise InvalidPatternError(message, hint="give it a window of time")
        return self.window

    def vertex(self, name: str) -> QueryVertex:
        """Return the vertex of that name.

        Raises:
            LookupError: there is none.
        """
        for vertex in self.vertices:
            if vertex.name == name:
                return vertex
        message = f"the pattern has no vertex {name!r}"
        raise LookupError(message)


def renamed_pattern(pattern: SubgraphPattern, names: Mapping[str, str]) -> SubgraphPattern:
    """Return the pattern with other names of its parts; those that `names` lacks keep theirs.

    Raises:
        InvalidPatternError: two parts would have one name.
    """

    def new(name: str) -> str:
        return names.get(name, name)

    return replace(
        pattern,
        vertices=tuple(replace(vertex, name=new(vertex.name)) for vertex in pattern.vertices),
        edges=tuple(
            replace(edge, name=new(edge.name), source=new(edge.source), target=new(edge.target)) for edge in pattern.edges
        ),
        order=TimingOrder(frozenset((new(earlier), new(later)) for earlier, later in pattern.order.before)),
        predicates=tuple(rename(predicate, names) for predicate in pattern.predicates),
        returns=pattern.returns
        and replace(
            pattern.returns,
            fields=tuple(replace(each, value=rename(each.value, names)) for each in pattern.returns.fields),
        ),
        one_per=pattern.one_per and replace(pattern.one_per, keys=tuple(rename(key, names) for key in pattern.one_per.keys)),
    )


def components(pattern: SubgraphPattern) -> list[frozenset[str]]:
    """Return the weakly connected components, as sets of vertex names, in the order of the vertices."""
    parts: list[set[str]] = [{vertex.name} for vertex in pattern.vertices]
    for edge in pattern.edges:
        touched = [part for part in parts if edge.source in part or edge.target in part]
        parts = [part for part in parts if part not in touched]
        parts.append(set().union(*touched))
    return [frozenset(part) for part in parts]
