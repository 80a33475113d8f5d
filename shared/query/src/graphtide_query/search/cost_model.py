"""Estimated cardinalities: how many edges, prefixes and joins of a pattern are alive in its window.

Edges are taken as independent: an edge type's share of the stream, times the edges in the window, spread evenly over the
distinct vertices. Each pair that the timing order relates halves a join, and a chain of n edges keeps one in n! of its
permutations. Predicates pass `PREDICATE_SHARE` each. Where no statistics are given, structure alone decides: a label, a fixed
vertex and a predicate each make an edge rarer by a fixed factor. The estimates order plans; they do not promise figures.

Reference: paper 004, section 6 (expected joins an edge) with the edge-type histogram of paper 003, section 5.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.predicate import variables
from graphtide_core.statistics import StatisticsSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.pattern import QueryEdge, SubgraphPattern

PREDICATE_SHARE = 0.3
EDGE_LABEL_SHARE = 0.2
VERTEX_LABEL_SHARE = 0.5
DEFAULT_VERTICES = 1000
DEFAULT_EDGES_IN_WINDOW = 1000.0


@dataclass(frozen=True, slots=True)
class CostModel:
    """Estimates for one pattern over one stream.

    Attributes:
        pattern: the pattern.
        statistics: what is known of the stream; empty if nothing is.
        ticks: the pattern's window in the stream's ticks.
    """

    pattern: SubgraphPattern
    statistics: StatisticsSnapshot = StatisticsSnapshot()  # noqa: RUF009 - frozen, so one instance serves all
    ticks: int = 0
    _shares: dict[QueryEdge, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def vertices(self) -> int:
        """Distinct vertices that edges are spread over."""
        return max(1, self.statistics.vertices or DEFAULT_VERTICES)

    @property
    def edges_in_window(self) -> float:
        """Edges of any kind alive at once."""
        known = self.statistics
        if known.edges == 0:
            return DEFAULT_EDGES_IN_WINDOW
        if known.span <= 0 or self.ticks <= 0:
            return float(known.edges)
        return max(1.0, known.edges * min(1.0, self.ticks / known.span))

    def share(self, edge: QueryEdge) -> float:
        """Return the share of the stream's edges that the query edge alone can match; counted once, as types may be many."""
        if edge not in self._shares:
            self._shares[edge] = self._counted_share(edge)
        return self._shares[edge]

    def _counted_share(self, edge: QueryEdge) -> float:
        source, target = self.pattern.vertex(edge.source), self.pattern.vertex(edge.target)
        if self.statistics.edges:
            share = self.statistics.share(self.pattern, edge)
        else:
            labelled = (source.label is not None) + (target.label is not None)
            share = math.pow(VERTEX_LABEL_SHARE, labelled) * (EDGE_LABEL_SHARE if edge.label is not None else 1.0)
        fixed = (source.key is not None) + (target.key is not None)
        share /= math.pow(self.vertices, fixed)
        own = {edge.name, edge.source, edge.target}
        decided = sum(1 for p in self.pattern.predicates if variables(p) and variables(p) <= own)
        return share * math.pow(PREDICATE_SHARE, decided)

    def alive(self, edge: int) -> float:
        """Return how many edges that the query edge can match are alive at once."""
        return self.share(self.pattern.edges[edge]) * self.edges_in_window

    def fan_out(self, bound: Iterable[int], edge: int) -> float:
        """Return how many alive edges extend one match of the `bound` edges by `edge`, the order left aside."""
        ends = self.ends(bound)
        added = self.pattern.edges[edge]
        shared = len({added.source, added.target} & ends)
        return self.alive(edge) / math.pow(self.vertices, shared)

    def ends(self, edges: Iterable[int]) -> set[str]:
        """Return the query vertices that the edges touch."""
        return {end for e in edges for end in (self.pattern.edges[e].source, self.pattern.edges[e].target)}

    def prefix(self, sequence: Sequence[int]) -> float:
        """Return how many matches of a timing sequence are alive."""
        size = self.alive(sequence[0])
        for depth in range(1, len(sequence)):
            size *= self.fan_out(sequence[:depth], sequence[depth])
        return size / math.factorial(len(sequence))

    def union(self, left: Sequence[int], left_size: float, right: Sequence[int]) -> float:
        """Return how many matches of two joined parts are alive, given those of the left."""
        shared = len(self.ends(left) & self.ends(right))
        names = self.pattern.edges
        related = sum(
            self.pattern.order.precedes(names[a].name, names[b].name)
            or self.pattern.order.precedes(names[b].name, names[a].name)
            for a in left
            for b in right
        )
        return left_size * self.prefix(right) / math.pow(self.vertices, shared) / math.pow(2, min(related, 8))
