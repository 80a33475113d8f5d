"""Whether a pattern of edges is local to the key of a stream in parts.

A match of edges that differ is in one part if its edges have equal keys in every match. By a vertex key each part has all
edges at the vertices that it owns. So a match whose edges all hang at one vertex is whole in the part of that vertex.

The components of dual simulation hang together by any vertex, so equal keys do not keep them apart: only a constant does.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graphtide_core.window import EdgeCount

from graphtide_query.language.spelling import write_name
from graphtide_query.locality import Equalities, Locality, constant, has_key_in_class

if TYPE_CHECKING:
    from collections.abc import Hashable

    from graphtide_core.part_key import PartKey
    from graphtide_core.pattern import QueryEdge, SubgraphPattern

_ENDS: Final = ("src", "dst")


def locality(pattern: SubgraphPattern, key: PartKey) -> Locality:
    """Return where a pattern is matched. Complexity: nearly O(size of the pattern)."""
    if isinstance(pattern.window, EdgeCount):
        return Locality(key, f"WINDOW {pattern.window} counts the edges of the whole stream", "give it a window of time")
    equalities = _equalities(pattern)
    if key.field is None:
        return _at_a_vertex(pattern, key, equalities)
    first, *_ = keys = [_key_of(edge, key.field) for edge in pattern.edges]
    for (one, left), (other, right) in pairwise(zip(pattern.edges, keys, strict=True)):
        if not equalities.are_equal(left, right):
            return Locality(key, *_difference(one, other, key.field))
    if (value := equalities.constant_of(first)) is not None:
        return Locality(key, constant=value)
    if not pattern.morphism.is_mapping:
        obstacle = "match components hang together by vertices, whatever their key"
        example = f"{write_name(pattern.edges[0].name)}.{write_name(key.field)} = …"
        return Locality(key, obstacle, f"compare the key of every edge with one constant: {example}")
    return _unless_keys_differ(pattern, Locality(key), equalities, first)


def _equalities(pattern: SubgraphPattern) -> Equalities:
    """Return what the pattern makes equal: by conditions, by edges that meet at a vertex, and by constants of its text."""
    found = Equalities(pattern.predicates)
    for vertex in pattern.vertices:
        if vertex.key is not None:
            found.unite((vertex.name, "id"), constant(str(vertex.key)))
    for edge in pattern.edges:
        for field, end in zip(_ENDS, (edge.source, edge.target), strict=True):
            found.unite((edge.name, field), (end, "id"))
        if edge.label is not None:
            found.unite((edge.name, "label"), constant(edge.label))
    return found


def _key_of(edge: QueryEdge, field: str) -> Hashable:
    return (edge.name, field)


def _difference(one: QueryEdge, other: QueryEdge, field: str) -> tuple[str, str]:
    """Return why two edges may be in two parts, and what to do."""
    left, right = (f"{write_name(edge.name)}.{write_name(field)}" for edge in (one, other))
    if field in _ENDS:
        word = "begin" if field == "src" else "end"
        return f"{one.name} and {other.name} may {word} at two vertices", f"let all edges {word} at one vertex"
    return f"{left} and {right} may differ", f"add WHERE {left} = {right}"


def _at_a_vertex(pattern: SubgraphPattern, key: PartKey, equalities: Equalities) -> Locality:
    """Return whether all edges hang at one vertex."""
    centre = next((each.name for each in pattern.vertices if _has_all_edges(pattern, each.name, equalities)), None)
    if centre is None:
        return Locality(key, "its edges do not all hang at one vertex")
    if (value := equalities.constant_of((centre, "id"))) is not None:
        return Locality(key, constant=value)
    if not pattern.morphism.is_mapping:
        obstacle = "match components hang together by vertices, and these are in several parts"
        return Locality(key, obstacle, f"name the vertex {write_name(centre)} in the pattern")
    if pattern.is_distinct:
        return Locality(key, "under DISTINCT matches of the same edges may have two centres", "leave DISTINCT out")
    return _unless_keys_differ(pattern, Locality(key, owners=(centre,)), equalities, (centre, "id"))


def _has_all_edges(pattern: SubgraphPattern, vertex: str, equalities: Equalities) -> bool:
    return all(
        any(equalities.are_equal((end, "id"), (vertex, "id")) for end in (edge.source, edge.target)) for edge in pattern.edges
    )


def _unless_keys_differ(pattern: SubgraphPattern, found: Locality, equalities: Equalities, value: Hashable) -> Locality:
    """Return that it is local, unless a key of ONE PER may be that of matches in two parts."""
    if pattern.one_per is None or has_key_in_class(pattern.one_per.keys, equalities, value):
        return found
    wanted = found.owners[0] + ".id" if found.owners else f"{pattern.edges[0].name}.{found.key.field}"
    return Locality(found.key, "matches of two parts may have one key of ONE PER", f"add {wanted} to the keys of ONE PER")
