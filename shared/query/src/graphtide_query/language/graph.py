"""Bind the MATCH clause: vertices and edges of a pattern, with the predicates of their braces.

A vertex may be mentioned often; its label and key are those of any mention, and mentions must agree. `*n` makes n parallel
edges of a written one: e_1, e_2, … of e, which stands for all of them in ORDER and WHERE. Unnamed edges become e1, e2, … and
unnamed vertices v1, v2, … in the order of the text; generated names skip the stated ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count, product
from math import prod
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import VertexId
from graphtide_core.pattern import MAX_EDGES, QueryEdge, QueryVertex
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, Literal, rename, variables
from graphtide_core.suggestion import show

from graphtide_query.language import ast
from graphtide_query.language.expressions import bind_constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.errors import Location


MAX_CONDITIONS = 10_000
"""The most conditions of a pattern after names for several edges are expanded."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of MATCH; vertices in the order of their first mention, edges in the order of the text.

    `copies` has the edges that a name stands for after `*n`.
    """

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    predicates: tuple[Expression, ...]
    copies: Mapping[str, tuple[str, ...]]

    def edges_of(self, name: str) -> tuple[str, ...]:
        """Return the edges that a name stands for."""
        return self.copies.get(name, (name,))

    def each(self, conditions: Iterable[Expression], place: Location) -> tuple[Expression, ...]:
        """Return the conditions, expanded for each of the edges that their names stand for.

        Raises:
            InvalidPatternError: more than `MAX_CONDITIONS` result.
        """
        found: list[Expression] = []
        for condition in conditions:
            names = sorted(variables(condition) & self.copies.keys())
            count = prod(len(self.copies[name]) for name in names)
            if names and len(found) + count > MAX_CONDITIONS:
                message = f"with an edge for each of *n, there are more than {MAX_CONDITIONS:,} conditions"
                raise InvalidPatternError(message, place, hint="compare with constants, or write fewer parallel edges")
            for edges in product(*(self.copies[name] for name in names)):
                found.append(rename(condition, dict(zip(names, edges, strict=True))) if names else condition)
        return tuple(found)


def bind_graph(pattern: ast.PatternNode) -> Graph:
    """Return the graph of the pattern's paths.

    Raises:
        InvalidPatternError: a name is used twice, mentions disagree, or a property has no meaning. Or there is no edge or there
            are too many, or the parts are not connected.
    """
    work = _Work(used=collect_names(pattern.paths))
    for path in pattern.paths:
        _bind_path(path, work)
    _refuse_loose_parts(pattern, work)
    vertices = tuple(QueryVertex(name, work.labels.get(name), work.keys.get(name)) for name in work.vertices)
    return Graph(vertices, tuple(work.edges.values()), tuple(work.predicates), work.copies)


@dataclass(slots=True)
class _Work:
    """The graph so far, with the places of first mentions."""

    used: frozenset[str]
    vertices: dict[str, Location] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    keys: dict[str, VertexId] = field(default_factory=dict)
    edges: dict[str, QueryEdge] = field(default_factory=dict)
    edge_places: dict[str, Location] = field(default_factory=dict)
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    predicates: list[Expression] = field(default_factory=list)
    edge_numbers: Iterator[int] = field(default_factory=lambda: count(1))
    vertex_numbers: Iterator[int] = field(default_factory=lambda: count(1))


def collect_names(paths: Iterable[ast.Path]) -> frozenset[str]:
    """Return the names of vertices, edges and paths that a text states."""
    parts = [part for path in paths for part in (path.start, *(part for step in path.steps for part in step))]
    return frozenset(part.name.text for part in parts if part.name is not None)


def _fresh_name(prefix: str, numbers: Iterator[int], used: frozenset[str]) -> str:
    return next(name for number in numbers if (name := f"{prefix}{number}") not in used)


def _bind_path(path: ast.Path, work: _Work) -> None:
    left = _bind_vertex(path.start, work)
    for edge, vertex in path.steps:
        if isinstance(edge, ast.PathEdge):
            message = "a pattern of edges has no paths"
            hint = (
                "only streaming graph queries have paths: CONSTRUCT (a)-[:near]->(b) MATCH (a)-/:x+/->(b) ON stream WINDOW(10m)"
            )
            raise InvalidPatternError(message, edge.location, hint=hint)
        names = _bind_edge_names(edge, work)
        right = _bind_vertex(vertex, work)
        source, target = (left, right) if edge.forward else (right, left)
        for name in names:
            work.edges[name] = QueryEdge(name, source, target, None if edge.label is None else edge.label.text)
            work.predicates += bind_properties(name, edge.properties)
        left = right


def _bind_edge_names(edge: ast.Edge, work: _Work) -> tuple[str, ...]:
    """Return the names of the edges that one written edge stands for."""
    if edge.times is None:
        return (_bind_edge_name(edge, edge.name, work),)
    count, place = edge.times.value, edge.times.location
    if not isinstance(count, int) or count < 1:
        message = "the number of parallel edges must be at least 1"
        raise InvalidPatternError(message, place, hint="*4 stands for four edges between the same two vertices")
    if count > MAX_EDGES:
        message = f"a pattern may have at most {MAX_EDGES} edges, not {count:,}"
        raise InvalidPatternError(message, place)
    if edge.name is None:
        return tuple(_bind_edge_name(edge, None, work) for _ in range(count))
    stem = edge.name
    _refuse_taken(stem, work)
    named = (ast.Name(f"{stem.text}_{number}", stem.location) for number in range(1, count + 1))
    work.copies[stem.text] = tuple(_bind_edge_name(edge, name, work) for name in named)
    return work.copies[stem.text]


def _bind_edge_name(edge: ast.Edge, given: ast.Name | None, work: _Work) -> str:
    if len(work.edge_places) == MAX_EDGES:
        message = f"a pattern may have at most {MAX_EDGES} edges"
        raise InvalidPatternError(message, edge.location)
    if given is None:
        name, place = _fresh_name("e", work.edge_numbers, work.used), edge.location
    else:
        name, place = given.text, given.location
        _refuse_taken(given, work)
    work.edge_places[name] = place
    return name


def _refuse_taken(given: ast.Name, work: _Work) -> None:
    name, place = given.text, given.location
    _refuse_empty(given)
    if name in work.edge_places or name in work.copies:
        message = f"{show(name)} names two edges"
        raise InvalidPatternError(message, place, hint="write every edge once, with its own name")
    if name in work.vertices:
        message = f"{show(name)} already names a vertex"
        raise InvalidPatternError(message, place, hint="give the edge another name")


def _bind_vertex(vertex: ast.Vertex, work: _Work) -> str:
    if vertex.name is None:
        name = _fresh_name("v", work.vertex_numbers, work.used)
    else:
        name = vertex.name.text
        _refuse_empty(vertex.name)
        if name in work.edge_places or name in work.copies:
            message = f"{show(name)} already names an edge"
            raise InvalidPatternError(message, vertex.name.location, hint="give the vertex another name")
    work.vertices.setdefault(name, vertex.location)
    if vertex.label is not None and work.labels.setdefault(name, vertex.label.text) != vertex.label.text:
        message = f"vertex {show(name)} has the label {show(work.labels[name])} already"
        raise InvalidPatternError(message, vertex.label.location, hint="state the label once, or the same one")
    for number, each in enumerate(vertex.properties):
        key = bind_vertex_key(each)
        if number > 0:
            message = "'id' is stated twice"
            raise InvalidPatternError(message, each.name.location)
        if work.keys.setdefault(name, key) != key:
            message = f"vertex {show(name)} has the id {show(work.keys[name])} already"
            raise InvalidPatternError(message, each.value.location, hint="a query vertex is one vertex of the data")
    return name


def bind_vertex_key(stated: ast.Property) -> VertexId:
    """Return the vertex that the braces of a vertex name.

    Raises:
        InvalidPatternError: they state something other than an id, or an id that is neither a string nor an integer.
    """
    if stated.name.text != "id":
        message = f"a vertex has no attribute {show(stated.name.text)}"
        raise InvalidPatternError(message, stated.name.location, hint="a vertex has only `id`; edges have attributes")
    value = stated.value.value
    if isinstance(value, bool) or not isinstance(value, int | str):
        message = "an id is a string or an integer"
        raise InvalidPatternError(message, stated.value.location, hint="for example {id: '10.0.0.7'}")
    return VertexId(str(bind_constant(stated.value)))


def bind_properties(variable: str, properties: tuple[ast.Property, ...]) -> list[Expression]:
    """Return the predicates of the braces of an edge or event: each attribute equals its constant.

    Raises:
        InvalidPatternError: an attribute is stated twice, or as NULL.
    """
    seen: set[str] = set()
    equalities: list[Expression] = []
    for each in properties:
        name, place = each.name.text, each.name.location
        if name in seen:
            message = f"{show(name)} is stated twice"
            raise InvalidPatternError(message, place, hint="an attribute has one value; for one of several, write IN in WHERE")
        if each.value.value is None:
            message = "no value equals NULL"
            raise InvalidPatternError(message, each.value.location, hint="write IS NULL in WHERE")
        seen.add(name)
        equalities.append(Compare(Comparison.EQUAL, Attribute(variable, name, place), Literal(bind_constant(each.value))))
    return equalities


def _refuse_empty(name: ast.Name) -> None:
    if not name.text:
        message = "the name is empty"
        raise InvalidPatternError(message, name.location, hint="leave the backticks out for a part without a name")


def _refuse_loose_parts(pattern: ast.PatternNode, work: _Work) -> None:
    """Check that every vertex has an edge, and that the edges are connected."""
    ends = {end for edge in work.edges.values() for end in (edge.source, edge.target)}
    for name, place in work.vertices.items():
        if name not in ends:
            message = "a pattern needs at least one edge" if not work.edges else f"vertex {show(name)} has no edge"
            raise InvalidPatternError(message, place, hint="for example (a)-[e]->(b)")
    edges = list(work.edges.values())
    reached = {edges[0].source, edges[0].target}
    for _ in edges:
        for edge in edges:
            if edge.source in reached or edge.target in reached:
                reached |= {edge.source, edge.target}
    for edge in edges:
        if edge.source not in reached:
            name = show(pattern.name.text)
            message = f"the pattern {name} is not connected: nothing joins edge {show(edge.name)} to the edges before it"
            hint = "join the parts by an edge or a common vertex, or register them as two patterns"
            raise InvalidPatternError(message, work.edge_places[edge.name], hint=hint)
