"""What a complete assignment of data edges to query edges must satisfy to be a match.

One plain check for each condition: endpoints, labels, keys, injectivity, timing order, window, predicates. Nothing here knows
of streams: expiry, duplicates and deletions are the callers' business. Reference: docs/reference/semantics.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.match import SubgraphMatch
from graphtide_core.pattern import Morphism

from graphtide_testing.oracles.predicates import edge_attribute, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from graphtide_core.edge import Edge, Value
    from graphtide_core.ids import VertexId
    from graphtide_core.match import MatchKind
    from graphtide_core.pattern import QueryEdge, SubgraphPattern
    from graphtide_core.predicate import Attribute
    from graphtide_core.time import EventTime


def fits_alone(pattern: SubgraphPattern, query: QueryEdge, edge: Edge) -> bool:
    """Whether `edge` can stand for `query` as far as one edge shows: labels, keys, and a self-loop for a self-loop."""
    source, target = pattern.vertex(query.source), pattern.vertex(query.target)
    return (
        query.label in (None, edge.label)
        and source.label in (None, edge.source_label)
        and target.label in (None, edge.target_label)
        and source.key in (None, edge.source)
        and target.key in (None, edge.target)
        and (query.source != query.target or edge.source == edge.target)
    )


def bind(pattern: SubgraphPattern, images: Sequence[Edge]) -> dict[str, VertexId] | None:
    """Return the data vertex of every query vertex; None where two images disagree about one.

    `images` stand for the first query edges in the order of the text, or for all of them.
    """
    bound: dict[str, VertexId] = {}
    for query, edge in zip(pattern.edges, images, strict=False):
        for name, vertex in ((query.source, edge.source), (query.target, edge.target)):
            if bound.setdefault(name, vertex) != vertex:
                return None
    return bound


def is_match(pattern: SubgraphPattern, images: Sequence[Edge], instants: Sequence[int], window: int | Fraction) -> bool:
    """Whether `images`, distinct records in the order of the query edges, satisfy every condition of the pattern.

    `instants` are when they came on the clock of the window, which is that long.
    """
    bound = bind(pattern, images)
    if bound is None:
        return False
    if pattern.morphism is Morphism.ISOMORPHISM and len(set(bound.values())) < len(bound):
        return False
    if not all(fits_alone(pattern, query, edge) for query, edge in zip(pattern.edges, images, strict=True)):
        return False
    of = {query.name: edge for query, edge in zip(pattern.edges, images, strict=True)}
    if not all(of[a].ts < of[b].ts for a, b in pattern.order.before):
        return False
    if max(instants) - min(instants) >= window:
        return False
    return all(evaluate(predicate, lambda read: look_up(read, of, bound)) is True for predicate in pattern.predicates)


def look_up(attribute: Attribute, edges: Mapping[str, Edge], vertices: Mapping[str, VertexId]) -> Value:
    """Return what `attribute` reads: of an edge its attributes and built-ins, of a vertex its `id` alone."""
    if attribute.variable in edges:
        return edge_attribute(edges[attribute.variable], attribute.name)
    return vertices[attribute.variable] if attribute.name == "id" else None


def report(pattern: SubgraphPattern, images: Sequence[Edge], kind: MatchKind, detected_at: EventTime) -> SubgraphMatch:
    """Return the record of a match whose images are known to satisfy the pattern.

    Raises:
        ValueError: the images disagree about a vertex: they are not a match.
    """
    bound = bind(pattern, images)
    if bound is None:
        message = "the images are not a match of the pattern"
        raise ValueError(message)
    of = {query.name: edge for query, edge in zip(pattern.edges, images, strict=True)}
    return SubgraphMatch(
        query=pattern.name,
        version=pattern.version,
        kind=kind,
        detected_at=detected_at,
        first_ts=min(edge.ts for edge in images),
        last_ts=max(edge.ts for edge in images),
        edges={query.name: edge.id for query, edge in zip(pattern.edges, images, strict=True)},
        vertices=bound,
        made=frozenset(query.name for query, edge in zip(pattern.edges, images, strict=True) if edge.made),
        fields={each.name: evaluate(each.value, lambda read: look_up(read, of, bound)) for each in pattern.fields},
    )
