"""A subgraph pattern: what the isomorphism family matches.

Reference: paper 004, Definition 4, with edge labels, predicates and vertex constants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.order import TimingOrder
from graphtide_core.predicate import attributes

if TYPE_CHECKING:
    from graphtide_core.ids import PatternName, StreamName, VertexId
    from graphtide_core.predicate import Expression
    from graphtide_core.time import Duration

MAX_EDGES = 64
"""Edges a pattern may have: engines keep sets of query edges as one machine word."""


class Morphism(Enum):
    """What must differ between the parts of one match."""

    ISOMORPHISM = "isomorphism"
    """Vertices and edges are mapped injectively."""

    EDGE_ISOMORPHISM = "edge isomorphism"
    """Edges are mapped injectively; vertices may coincide (GQL's *different edges*)."""


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
    """A connected directed graph with a timing order, predicates (all must be true) and a window."""

    name: PatternName
    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    window: Duration
    stream: StreamName
    order: TimingOrder = field(default_factory=TimingOrder)
    predicates: tuple[Expression, ...] = ()
    morphism: Morphism = Morphism.ISOMORPHISM
    version: int = 1

    def __post_init__(self) -> None:
        """Refuse what no engine could match.

        Raises:
            InvalidPatternError: no edges or too many, a name twice, an unknown name, a disconnected graph, an empty window.
        """
        if not self.edges:
            message = "a pattern needs at least one edge"
            raise InvalidPatternError(message)
        if len(self.edges) > MAX_EDGES:
            message = f"a pattern may have {MAX_EDGES} edges, this one has {len(self.edges)}"
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
        if self.window.amount == 0:
            message = "the window is empty: it must be longer than 0"
            raise InvalidPatternError(message, hint="for example WINDOW 10m")

    def _refuse_unknown_names(self) -> None:
        vertices = {vertex.name for vertex in self.vertices}
        edges = {edge.name for edge in self.edges}
        ends = [end for edge in self.edges for end in (edge.source, edge.target)]
        ordered = [name for pair in self.order.before for name in pair]
        read = [a.variable for predicate in self.predicates for a in attributes(predicate)]
        for known, used in ((vertices, ends), (edges, ordered), (vertices | edges, read)):
            for name in used:
                if name not in known:
                    message = f"the pattern has no {name!r}"
                    raise InvalidPatternError(message)
        for name in vertices - set(ends):
            message = f"vertex {name!r} has no edge"
            raise InvalidPatternError(message)

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


def components(pattern: SubgraphPattern) -> list[frozenset[str]]:
    """Return the weakly connected components, as sets of vertex names, in the order of the vertices."""
    parts: list[set[str]] = [{vertex.name} for vertex in pattern.vertices]
    for edge in pattern.edges:
        touched = [part for part in parts if edge.source in part or edge.target in part]
        parts = [part for part in parts if part not in touched]
        parts.append(set().union(*touched))
    return [frozenset(part) for part in parts]
