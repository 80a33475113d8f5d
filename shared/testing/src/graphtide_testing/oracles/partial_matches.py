"""The oracle of stored partial matches: all sub-matches over the live edges, by definition.

A partial match over some query edges is an assignment of live edges to them. It satisfies every condition of the pattern that
those edges alone decide. Those are labels, shared and different vertices, the timing order among them, and predicates that read
nothing else. The ends of an edge are vertices, which other edges bind, too: a predicate over them is decided by each. Ids of
live edges are different as texts: a made id reads like no given one.
Cost: O(live ^ edges). Reference: docs/reference/semantics.md, paper 004, Definition 8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.order import TimingOrder
from graphtide_core.predicate import Aggregate, Attribute, Literal, map_operands, variables
from graphtide_core.time import TimeUnit

from graphtide_testing.oracles.conditions import bind, is_match
from graphtide_testing.oracles.subgraph import Live, SubgraphOracle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.predicate import Expression

    from graphtide_testing.found import Found

SubMatch = frozenset[tuple[str, str]]
"""Names of query edges with the ids of their data edges."""


class PartialMatchOracle(SubgraphOracle):
    """Knows the partial matches of a pattern after every record."""

    def __init__(self, pattern: SubgraphPattern, unit: TimeUnit = TimeUnit.MILLISECOND) -> None:
        """Start with an empty window."""
        super().__init__(pattern, unit)
        self._reached: int | None = None

    def push(self, edge: Edge) -> frozenset[Found]:
        """Take one record; a duplicate is dropped and moves no time."""
        now = self._instants.of_record(edge)
        alive = (live for live in self._live if self._instants.is_within(live.instant, now))
        if edge.operation is Operation.DELETE or not any(live.edge.shares_id(edge) for live in alive):
            self._reached = now
        return super().push(edge)

    def partial_matches(self, names: Collection[str]) -> set[SubMatch]:
        """Return the partial matches over the query edges of these names."""
        part = restrict(self._pattern, names)
        if self._reached is None:
            return set()
        alive = [live for live in self._live if self._instants.is_within(live.instant, self._reached)]
        return {
            frozenset((query.name, str(live.edge.id)) for query, live in zip(part.edges, chosen, strict=True))
            for chosen in _assignments(part, alive)
            if is_match(part, [live.edge for live in chosen], [live.instant for live in chosen], self._instants.length)
        }

    def rank(self, partial: SubMatch) -> tuple[int, int, int]:
        """Return how near a partial match is: its edges, then the instants of its oldest and of its newest edge."""
        instants = [live.instant for live in self._live if str(live.edge.id) in {id for _, id in partial}]
        return len(partial), min(instants), max(instants)


def _assignments(part: SubgraphPattern, alive: Sequence[Live], chosen: tuple[Live, ...] = ()) -> Iterator[tuple[Live, ...]]:
    """Yield assignments of different edges whose ends agree; nothing else is looked at."""
    if bind(part, [live.edge for live in chosen]) is None:
        return
    if len(chosen) == len(part.edges):
        yield chosen
        return
    for live in alive:
        if live not in chosen:
            yield from _assignments(part, alive, (*chosen, live))


def restrict(pattern: SubgraphPattern, names: Collection[str]) -> SubgraphPattern:
    """Return the part of a pattern that some of its edges make; they share vertices, as all parts of plans do."""
    edges = tuple(edge for edge in pattern.edges if edge.name in names)
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    predicates = [_over_vertices(pattern, each) for each in pattern.predicates]
    return replace(
        pattern,
        edges=edges,
        vertices=tuple(vertex for vertex in pattern.vertices if vertex.name in ends),
        order=TimingOrder(frozenset((a, b) for a, b in pattern.order.before if a in names and b in names)),
        predicates=tuple(each for each in predicates if variables(each) <= ends | set(names)),
        returns=None,
        one_per=None,
    )


def _over_vertices(pattern: SubgraphPattern, expression: Expression) -> Expression:
    """Return an expression that reads vertices in place of the ends of edges."""
    if isinstance(expression, Attribute):
        edge = next((each for each in pattern.edges if each.name == expression.variable), None)
        if edge is None and expression.name != "id":
            # A vertex has nothing else, so this is decided without it.
            return Literal(None)
        if edge is not None and expression.name in {"src", "dst"}:
            return Attribute(edge.source if expression.name == "src" else edge.target, "id")
        return expression
    if isinstance(expression, Literal | Aggregate):
        return expression
    return map_operands(expression, lambda operand: _over_vertices(pattern, operand))
