"""Patterns over the streams of `streams`: connected, small, with every feature of the isomorphism family."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.ids import PatternName, StreamName, VertexId
from graphtide_core.one_per import OnePer
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import Morphism, QueryEdge, QueryVertex, Report, SubgraphPattern
from graphtide_core.predicate import Aggregate, Aggregation, Arithmetic, Attribute, Compute, variables
from graphtide_core.returns import Field, Returns
from graphtide_core.time import Duration
from graphtide_core.window import EdgeCount
from hypothesis import strategies as st

from graphtide_testing.strategies.choices import DrawnChoices, RandomChoices
from graphtide_testing.strategies.expressions import predicate
from graphtide_testing.strategies.streams import StreamShape

if TYPE_CHECKING:
    from random import Random

    from graphtide_core.predicate import Expression
    from graphtide_core.window import Window
    from hypothesis.strategies import DrawFn, SearchStrategy

    from graphtide_testing.strategies.choices import Choices


@dataclass(frozen=True, slots=True)
class PatternShape:
    """What may occur in a generated pattern; the defaults allow everything.

    Labels, vertex ids and attributes are those of `stream`, so that patterns meet streams of the same shape. Windows are 1 to
    `max_window` ticks, or 1 to `max_counted` edges where that is not 0.
    """

    min_edges: int = 1
    max_edges: int = 5
    max_window: int = 16
    max_counted: int = 0
    stream: StreamShape = field(default_factory=StreamShape)
    self_loops: bool = True
    parallel_edges: bool = True
    order: bool = True
    edge_isomorphism: bool = True
    vertex_labels: bool = True
    keys: bool = True
    predicates: bool = True
    report: Report = Report.ALL
    returns: bool = True
    deduplication: bool = True


def patterns(shape: PatternShape | None = None) -> SearchStrategy[SubgraphPattern]:
    """Return a strategy for patterns."""
    return _patterns(shape or PatternShape())


def random_pattern(rng: Random, shape: PatternShape | None = None) -> SubgraphPattern:
    """Return a pattern; equal for equal states of `rng`."""
    return _pattern(RandomChoices(rng), shape or PatternShape())


@st.composite
def _patterns(draw: DrawFn, shape: PatternShape) -> SubgraphPattern:
    return _pattern(DrawnChoices(draw), shape)


def _pattern(choices: Choices, shape: PatternShape) -> SubgraphPattern:
    edges = _edges(choices, shape)
    names = list(dict.fromkeys(end for edge in edges for end in (edge.source, edge.target)))
    can_coincide = shape.edge_isomorphism and choices.rarely(4)
    return SubgraphPattern(
        name=PatternName("generated"),
        vertices=tuple(_vertex(choices, shape, name) for name in names),
        edges=tuple(edges),
        window=_window(choices, shape),
        stream=StreamName("generated"),
        order=_order(choices, [edge.name for edge in edges]) if shape.order else TimingOrder(),
        predicates=_predicates_of(choices, shape, edges, names) if shape.predicates else (),
        morphism=_morphism(shape, can_coincide=can_coincide),
        report=shape.report,
        returns=_returns(choices, edges, names) if shape.returns and shape.report is Report.ALL and choices.rarely(3) else None,
        is_distinct=shape.deduplication and choices.rarely(3),
        one_per=_one_per(choices, shape, edges, names) if shape.deduplication and choices.rarely(4) else None,
    )


def _one_per(choices: Choices, shape: PatternShape, edges: list[QueryEdge], vertices: list[str]) -> OnePer | None:
    """Return ONE PER for a pattern that may have it: intervals are shorter and longer than windows."""
    if shape.max_counted or shape.report in (Report.INSTANCES, Report.CHANGES):
        return None
    names, functions = ("ts", "src", "n", "label"), (Aggregation.COUNT, Aggregation.LEAST, Aggregation.FIRST)
    keys: list[Expression] = []
    for _ in range(choices.integer(1, 2)):
        read = Attribute(choices.one_of(edges).name, choices.one_of(names))
        if shape.report is Report.MAXIMAL:
            keys.append(Aggregate(choices.one_of(functions), read))
        else:
            keys.append(Attribute(choices.one_of(vertices), "id") if choices.rarely(2) else read)
    return OnePer(tuple(keys), Duration(choices.integer(1, 2 * shape.max_window)))


def _returns(choices: Choices, edges: list[QueryEdge], vertices: list[str]) -> Returns:
    """Return fields of single edges and vertices, and what is computed from two of them."""
    fields = []
    for number in range(choices.integer(0, 3)):
        name = choices.one_of(("ts", "id", "src", "dst", "label", "src_label", "n", "m"))
        value: Expression = Attribute(choices.one_of(edges).name, name)
        match choices.integer(0, 3):
            case 0:
                value = Attribute(choices.one_of(vertices), "id")
            case 1:
                value = Compute(Arithmetic.SUBTRACT, value, Attribute(choices.one_of(edges).name, "ts"))
            case _:
                pass
        fields.append(Field(f"f{number}", value))
    return Returns(tuple(fields), everything=not fields or choices.rarely(4))


def _window(choices: Choices, shape: PatternShape) -> Window:
    if shape.max_counted:
        return EdgeCount(choices.integer(1, shape.max_counted))
    return Duration(choices.integer(1, shape.max_window))


def _morphism(shape: PatternShape, *, can_coincide: bool) -> Morphism:
    if shape.report is not Report.ALL:
        return Morphism.DUAL_SIMULATION
    return Morphism.EDGE_ISOMORPHISM if can_coincide else Morphism.ISOMORPHISM


def _edges(choices: Choices, shape: PatternShape) -> list[QueryEdge]:
    """Grow a connected graph: every edge has one end among the vertices so far; the other is one of them or new.

    New vertices stop where the stream has no more to match them injectively, unless a knob leaves no other end.
    """
    ends: list[tuple[int, int]] = []
    vertices = 1
    for _ in range(choices.integer(shape.min_edges, shape.max_edges)):
        anchor = choices.integer(0, vertices - 1)
        grows = vertices < shape.stream.vertices
        other = vertices if grows and not choices.rarely(2) else choices.integer(0, vertices - 1)
        pair = (anchor, other) if choices.rarely(2) else (other, anchor)
        if (anchor == other and not shape.self_loops) or (pair in ends and not shape.parallel_edges):
            other = vertices
            pair = (anchor, other)
        vertices = max(vertices, other + 1)
        ends.append(pair)
    labels = (None, None, *shape.stream.labels)
    return [
        QueryEdge(f"e{number}", f"q{source}", f"q{target}", choices.one_of(labels))
        for number, (source, target) in enumerate(ends, start=1)
    ]


def _vertex(choices: Choices, shape: PatternShape, name: str) -> QueryVertex:
    label = choices.one_of((None, None, None, *shape.stream.vertex_labels)) if shape.vertex_labels else None
    pinned = shape.keys and choices.rarely(10)
    key = VertexId(choices.one_of(_vertex_ids(shape))) if pinned else None
    return QueryVertex(name, label, key)


def _order(choices: Choices, names: list[str]) -> TimingOrder:
    """Return an order of any density: none, total, or some pairs of one random permutation."""
    shuffled: list[str] = []
    for name in names:
        shuffled.insert(len(shuffled) - choices.integer(0, len(shuffled)), name)
    keep_one_in = choices.one_of((0, 4, 2, 1))
    return TimingOrder.of(
        (a, b)
        for i, a in enumerate(shuffled)
        for b in shuffled[i + 1 :]
        if keep_one_in == 1 or (keep_one_in > 1 and choices.rarely(keep_one_in))
    )


def _predicates(choices: Choices, shape: PatternShape, edges: list[str], vertices: list[str]) -> tuple[Expression, ...]:
    count = choices.one_of((0, 0, 0, 1, 1, 2))
    return tuple(predicate(choices, edges, vertices, _vertex_ids(shape)) for _ in range(count))


def _predicates_of(
    choices: Choices, shape: PatternShape, edges: list[QueryEdge], vertices: list[str]
) -> tuple[Expression, ...]:
    predicates = _predicates(choices, shape, [edge.name for edge in edges], vertices)
    if shape.report is Report.ALL:
        return predicates
    parts = [{edge.name, edge.source, edge.target} for edge in edges]
    return tuple(each for each in predicates if any(variables(each) <= part for part in parts))


def _vertex_ids(shape: PatternShape) -> list[str]:
    return [f"v{number}" for number in range(shape.stream.vertices)]
