"""Plans as the native matcher reads them: names replaced by positions, durations by ticks, attributes by columns.

The format is private to this package: `graphtide_match::plan` reads what is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from graphtide_core import predicate as p
from graphtide_core.merged_streams import whole_of
from graphtide_core.pattern import Morphism, Report
from graphtide_core.plans import (
    BaselinePlan,
    ColoringPlan,
    FilteringPlan,
    SearchPlan,
    SignaturePlan,
    SjTreePlan,
    TimingPlan,
)
from graphtide_core.time import MAX_EVENT_TIME
from graphtide_core.window import EdgeCount

from graphtide_native.event_spec import once, unit_spec
from graphtide_native.expression_spec import FIRST_AGGREGATE, LABEL_COLUMNS, ExpressionWriter
from graphtide_native.kinds import Kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import AnyPlan, EventUnit, GraphPlan, Plan
    from graphtide_core.returns import Field
    from graphtide_core.time import TimeUnit
    from graphtide_core.window import Extent

    from graphtide_native.expression_spec import Json


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one pattern's state and work.

    Attributes:
        partial_matches: partial matches alive at once.
        state_bytes: bytes of state alive.
        policy: `fail` stops the run, `pause` the pattern, `shed` gives up partial matches, or the search under way, and marks
            matches from then on.
        work: steps of work a record of the stream on average, saved up to 4,096 records' worth.
    """

    partial_matches: int | None = None
    state_bytes: int | None = None
    policy: str = "fail"
    work: int | None = None


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How the `timing` engine uses threads: how many, and whether locks are taken `fine` (one by one) or `all` at once."""

    threads: int = 1
    locking: str = "fine"


def columns(patterns: Iterable[AnyPattern]) -> tuple[str, ...]:
    """Return the attributes the patterns read, sorted: what a decoder has to project."""
    names: set[str] = set()
    for pattern in patterns:
        names.update(pattern.attributes)
    return tuple(sorted(names))


def encode(
    plans: Sequence[AnyPlan], unit: TimeUnit, projected: Sequence[str], limits: Sequence[Limits], concurrency: Concurrency
) -> bytes:
    """Return the plans as the native matcher reads them.

    Args:
        plans: one for each pattern.
        unit: what a tick of the stream's time is.
        projected: the attributes its decoder projects, in order; they include `columns` of the patterns.
        limits: bounds, one for each pattern; the same for event patterns of one unit.
        concurrency: threads for each pattern under `timing`.
    """
    if len(limits) != len(plans):
        message = f"there are {len(plans)} plans, and limits of {len(limits)}"
        raise ValueError(message)
    places, kinds = _places(projected), Kinds.of(dict(enumerate(plans)))
    patterns: list[dict[str, object] | None] = [None] * len(plans)
    for number, plan in kinds.edges.items():
        patterns[number] = _spec(plan, unit, places, limits[number], concurrency)
    # Event patterns of one unit are written together.
    units: dict[int, tuple[EventUnit, Limits, dict[int, int]]] = {}
    for number, each in kinds.events.items():
        _, common, numbers = units.setdefault(id(each.unit), (each.unit, limits[number], {}))
        if common != limits[number]:
            message = f"pattern {each.pattern.name!r} shares a plan with patterns that have different limits"
            raise ValueError(message)
        numbers[each.place] = number
    of_events = [
        {**unit_spec(of, [numbers[place] for place in range(len(of.patterns))], unit, projected), "limits": _limits(common)}
        for of, common, numbers in units.values()
    ]
    graph_queries = [_spec_of_query(query, number, unit, projected, limits[number]) for number, query in kinds.queries.items()]
    return msgspec.json.encode({"patterns": patterns, "units": of_events, "graph_queries": graph_queries})


def encode_one(plan: Plan, unit: TimeUnit, projected: Sequence[str], limits: Limits, concurrency: Concurrency) -> bytes:
    """Return one plan as the native matcher reads it; arguments as of `encode`, but for the one plan."""
    return msgspec.json.encode(_spec(plan, unit, _places(projected), limits, concurrency))


def encode_unit(
    own: EventUnit, unit: TimeUnit, projected: Sequence[str], limits: Limits, numbers: Sequence[int] | None = None
) -> bytes:
    """Return a unit of event patterns as the native matcher reads it, with the numbers of its patterns if they have some."""
    return msgspec.json.encode({**unit_spec(own, numbers, unit, projected), "limits": _limits(limits)})


def encode_graph_query(plan: GraphPlan, unit: TimeUnit, projected: Sequence[str], limits: Limits) -> bytes:
    """Return one graph query as the native matcher reads it."""
    return msgspec.json.encode(_spec_of_query(plan, None, unit, projected, limits))


def encode_graph_queries(
    plans: Mapping[int, GraphPlan], unit: TimeUnit, projected: Sequence[str], limits: Mapping[int, Limits]
) -> bytes:
    """Return graph queries that have numbers as the native matcher reads them."""
    return msgspec.json.encode(
        [_spec_of_query(plan, number, unit, projected, limits[number]) for number, plan in plans.items()]
    )


def _spec_of_query(
    plan: GraphPlan, number: int | None, unit: TimeUnit, projected: Sequence[str], limits: Limits
) -> dict[str, object]:
    from graphtide_native.graph_spec import graph_query_spec  # noqa: PLC0415 - most runs have no graph query

    return {**graph_query_spec(plan, number, unit, projected), "limits": _limits(limits)}


def _places(projected: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(projected)}


def _spec(plan: Plan, unit: TimeUnit, places: Mapping[str, int], limits: Limits, concurrency: Concurrency) -> dict[str, object]:
    pattern = plan.pattern
    vertices = {vertex.name: place for place, vertex in enumerate(pattern.vertices)}
    edges = {edge.name: place for place, edge in enumerate(pattern.edges)}
    ends = [(vertices[edge.source], vertices[edge.target]) for edge in pattern.edges]
    writer = _EdgeWriter(edges, vertices, places, ends, pattern.morphism.is_mapping, [], unit)
    return {
        "name": whole_of(pattern.name),
        "version": pattern.version,
        "vertices": [{"name": v.name, "label": v.label, "key": v.key} for v in pattern.vertices],
        "edges": [
            {"name": e.name, "source": vertices[e.source], "target": vertices[e.target], "label": e.label}
            for e in pattern.edges
        ],
        "order": sorted((edges[a], edges[b]) for a, b in pattern.order.before),
        "predicates": [writer.write(predicate) for predicate in pattern.predicates],
        **_window(pattern.extent(unit)),
        "vertices_may_coincide": pattern.morphism is Morphism.EDGE_ISOMORPHISM,
        "report": None if pattern.report is Report.ALL else pattern.report.value,
        "returns": _returns(pattern, writer),
        "deduplication": {
            "is_distinct": pattern.is_distinct,
            "once": None if pattern.one_per is None else once(pattern.one_per, pattern.lookback(unit), unit),
        },
        "plan": _plan(plan, concurrency),
        "limits": _limits(limits),
    }


def _limits(limits: Limits) -> dict[str, object]:
    return {
        "partial_matches": limits.partial_matches,
        "state_bytes": limits.state_bytes,
        "work": limits.work,
        "policy": limits.policy,
    }


def _window(extent: Extent) -> dict[str, object]:
    if isinstance(extent, EdgeCount):
        return {"window": extent.edges, "clock": "edges"}
    return {"window": min(extent, MAX_EVENT_TIME), "clock": "time"}


def _plan(plan: Plan, concurrency: Concurrency) -> dict[str, object]:
    match plan.physical:
        case TimingPlan(subqueries=subqueries, storage=storage):
            return {
                "engine": "timing",
                "subqueries": subqueries,
                "storage": storage.value,
                "threads": concurrency.threads,
                "locking": concurrency.locking,
            }
        case SjTreePlan(leaves=leaves, strategy=strategy):
            return {"engine": "sj-tree", "leaves": leaves, "lazy": strategy.is_lazy}
        case SearchPlan(orders=orders):
            return {"engine": "re-search", "orders": orders}
        case FilteringPlan(orders=orders):
            return {"engine": "filtering", "orders": orders}
        case BaselinePlan(name=name) | ColoringPlan(name=name):
            return {"engine": name}
        case SignaturePlan(prime=prime, seed=seed, name=name):
            return {"engine": name, "prime": prime, "seed": seed}


def _returns(pattern: SubgraphPattern, writer: _EdgeWriter) -> dict[str, object]:
    keys = () if pattern.one_per is None else pattern.one_per.keys
    return {
        "fields": [_field(field, writer) for field in pattern.fields],
        "keys": [writer.write(key) for key in keys],
        "aggregates": writer.aggregates,
    }


def _field(field: Field, writer: _EdgeWriter) -> dict[str, object]:
    """Return a field; where a name is of many, each has a value of a plain attribute."""
    if writer.is_mapping or not isinstance(field.value, p.Attribute):
        return {"name": field.name, "value": writer.write(field.value)}
    return {"name": field.name, "value": writer.of_one(field.value), "each": writer.place(field.value.variable)}


@dataclass(frozen=True, slots=True)
class _EdgeWriter(ExpressionWriter):
    """Writes predicates and fields with positions in place of names; a list of vertices has a place behind those of edges."""

    edges: Mapping[str, int]
    vertices: Mapping[str, int]
    places: Mapping[str, int]
    ends: Sequence[tuple[int, int]]
    is_mapping: bool
    aggregates: list[dict[str, object]]
    unit: TimeUnit

    def place(self, variable: str) -> int:
        """Return the place of a list."""
        return self.edges[variable] if variable in self.edges else len(self.edges) + self.vertices[variable]

    def of_one(self, attribute: p.Attribute) -> Json:
        """Return what an attribute is of one edge, which is bound alone."""
        match attribute.name:
            case _ if attribute.variable in self.vertices:
                return {"vertex_id": 0}
            case "ts" | "id":
                return {attribute.name: 0}
            case "src" | "dst":
                return {"end": [0, int(attribute.name == "dst")]}
            case name:
                return {"attribute": [0, self._column(name)]}

    def aggregate(self, aggregate: p.Aggregate) -> Json:
        operand = aggregate.operand
        spec: dict[str, object] = {"function": aggregate.function.name.lower(), "of": self._of(operand)}
        if spec not in self.aggregates:
            self.aggregates.append(spec)
        return {"attribute": [self.place(operand.variable), FIRST_AGGREGATE + self.aggregates.index(spec)]}

    def _of(self, attribute: p.Attribute) -> Json:
        match attribute.name:
            case "ts" | "id":
                return attribute.name
            case "src" | "dst":
                return {"end": int(attribute.name == "dst")}
            case name:
                return {"column": self._column(name)}

    def _column(self, name: str) -> int:
        return LABEL_COLUMNS[name] if name in LABEL_COLUMNS else self.places[name]

    def attribute(self, attribute: p.Attribute) -> Json:
        if attribute.variable in self.vertices:
            # A vertex has no attribute but its id: any other is missing.
            return {"vertex_id": self.vertices[attribute.variable]} if attribute.name == "id" else {"literal": None}
        edge = self.edges[attribute.variable]
        match attribute.name:
            case "ts" | "id":
                return {attribute.name: edge}
            case "src" | "dst":
                side = int(attribute.name == "dst")
                source, target = self.ends[edge]
                # Where a vertex of the pattern may be many of the data, an edge that matches a loop need be none.
                is_apart = source == target and not self.is_mapping
                return {"end": [edge, side]} if is_apart else {"vertex_id": self.ends[edge][side]}
            case name:
                return {"attribute": [edge, self._column(name)]}
