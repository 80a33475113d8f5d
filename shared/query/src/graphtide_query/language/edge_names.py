"""Resolve the names in expressions of a pattern of edges: its edges and vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language.functions import bind_function, no_lists
from graphtide_query.language.spelling import list_names, shorten

if TYPE_CHECKING:
    from collections.abc import Container

    from graphtide_core.pattern import Morphism

    from graphtide_query.language import ast
    from graphtide_query.language.graph import Graph


def read_part(attribute: ast.Attribute, vertices: Container[str], *, on_op: str) -> predicate.Attribute:
    """Return an attribute of one of `vertices`, which have only an id, or else of an edge.

    Raises:
        InvalidPatternError: no vertex has it, or it is `op` of an edge, for which `on_op` is the hint.
    """
    variable, name = attribute.variable, attribute.name
    if variable.text in vertices:
        if name.text != "id":
            message = f"vertex {show(variable.text)} has no attribute {show(name.text)}"
            hint = "a vertex has only `id`; edges have attributes, and MATCH states labels"
            raise InvalidPatternError(message, name.location, hint=hint)
    elif name.text == "op":
        message = "`op` cannot be read"
        raise InvalidPatternError(message, name.location, hint=on_op)
    return predicate.Attribute(variable.text, name.text, variable.location)


class EdgeNames:
    """The names of one graph; see `graphtide_query.language.expressions.Names`."""

    def __init__(self, graph: Graph) -> None:
        """Take the names of a graph: edges, copies of edges, and vertices."""
        self._edges = {edge.name for edge in graph.edges} | graph.copies.keys()
        self._vertices = {vertex.name for vertex in graph.vertices}

    def read(self, attribute: ast.Attribute) -> predicate.Attribute:
        """See `Names`."""
        self.refuse_unknown(attribute.variable)
        return read_part(
            attribute,
            self._vertices,
            on_op="matches have only inserted edges; a deletion retracts the matches that have its edge",
        )

    def compute(self, aggregate: ast.Aggregate) -> predicate.Aggregate:
        """See `Names`; a pattern of edges has no lists."""
        raise no_lists(aggregate.function, "a pattern of edges")

    def refuse_unknown(self, variable: ast.Name) -> None:
        """Refuse a name that no part has.

        Raises:
            InvalidPatternError: no part has it.
        """
        if variable.text not in self._vertices and variable.text not in self._edges:
            known = self._edges | self._vertices
            message = f"the pattern has no edge or vertex {show(variable.text)}"
            hint = did_you_mean(variable.text, sorted(known)) or f"it has {list_names(known)}"
            raise InvalidPatternError(message, variable.location, hint=hint)

    def not_a_value(self, name: ast.Name) -> InvalidPatternError:
        """See `Names`."""
        spelled = shorten(name.text)
        if name.text in self._vertices:
            return InvalidPatternError(f"{show(name.text)} is a vertex, not a value", name.location, hint=f"write {spelled}.id")
        if name.text in self._edges:
            message = f"{show(name.text)} is an edge, not a value"
            return InvalidPatternError(message, name.location, hint=f"write {spelled}.bytes, or another of its attributes")
        message = f"{show(name.text)} is not a value: attributes belong to an edge or a vertex"
        hint = f"write {shorten(min(self._edges))}.{spelled} for an attribute, or put quotes around a string"
        return InvalidPatternError(message, name.location, hint=hint)


class FieldNames(EdgeNames):
    """The names of one graph for RETURN: each is an edge or vertex of a match, or under dual simulation a list of them."""

    def __init__(self, graph: Graph, morphism: Morphism) -> None:
        """Take the names."""
        super().__init__(graph)
        self._copies = graph.copies
        self._are_lists = not morphism.is_mapping

    def compute(self, aggregate: ast.Aggregate) -> predicate.Aggregate:
        """See `Names`; under dual simulation a function reads all edges, or vertices, of a name."""
        return bind_function(aggregate, self, self._whole) if self._are_lists else super().compute(aggregate)

    def refuse_unknown(self, variable: ast.Name) -> None:
        """See `EdgeNames`; rejects a name for several edges, too."""
        super().refuse_unknown(variable)
        if copies := self._copies.get(variable.text):
            message = f"{show(variable.text)} stands for {len(copies)} edges, each with its own values"
            raise InvalidPatternError(message, variable.location, hint=f"name one of them: {shorten(copies[0])}")

    def _whole(self, variable: ast.Name) -> predicate.Attribute:
        return predicate.Attribute(variable.text, "id" if variable.text in self._vertices else "ts", variable.location)
