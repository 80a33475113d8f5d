"""Collect the vertices, edges and paths of a G-CORE query with their names, before they become rules.

A vertex may be mentioned often; mentions must agree. What follows an OPTIONAL belongs to one branch of the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language import ast
from graphtide_query.language.edge_names import read_part
from graphtide_query.language.functions import no_lists
from graphtide_query.language.graph import bind_vertex_key, collect_names
from graphtide_query.language.spelling import list_names, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core import predicate
    from graphtide_core.errors import Location
    from graphtide_core.ids import VertexId
    from graphtide_core.stream_window import StreamWindow

MAX_DRAWN = 256
"""The most edges and paths of a query, with all its branches; typical queries have a dozen."""


MAX_MENTIONS = 2 * MAX_DRAWN
"""The most mentions of vertices in a query."""


@dataclass(frozen=True, slots=True)
class Block:
    """Paths over one window; `option` is the number of their OPTIONAL, if they have one."""

    paths: tuple[ast.Path, ...]
    window: StreamWindow
    option: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """An edge or path between vertices, in its direction."""

    source: str
    target: str
    edge: ast.Edge | ast.PathEdge
    window: StreamWindow
    option: int | None


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention of a vertex."""

    name: str
    label: ast.Name | None
    key: VertexId | None
    location: Location
    option: int | None


class Scope:
    """The names of a MATCH with all its blocks, or of a PATH; see `graphtide_query.language.expressions.Names`.

    Attributes:
        drawn: edges and paths, in the order of the text.
        mentions: of vertices, in the order of the text.
        edges, paths: those with names, with their places.
        vertices: with the places of their first mentions.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        """Take the paths.

        Raises:
            InvalidPatternError: a name is used twice, mentions of a vertex disagree, or there are too many; with its place.
        """
        self._used = collect_names(path for block in blocks for path in block.paths)
        self._numbers = count(1)
        self.drawn: list[Drawn] = []
        self.mentions: list[Mention] = []
        self.edges: dict[str, Location] = {}
        self.paths: dict[str, Location] = {}
        self.vertices: dict[str, Location] = {}
        for block in blocks:
            for path in block.paths:
                self._take(path, block)

    def _take(self, path: ast.Path, block: Block) -> None:
        left = self._vertex(path.start, block.option)
        for edge, vertex in path.steps:
            if len(self.drawn) == MAX_DRAWN:
                message = f"a query may draw at most {MAX_DRAWN} edges and paths"
                raise InvalidPatternError(message, edge.location)
            self._name(edge)
            right = self._vertex(vertex, block.option)
            source, target = (left, right) if edge.forward else (right, left)
            self.drawn.append(Drawn(source, target, edge, block.window, block.option))
            left = right

    def start_of(self, path: ast.Path) -> str:
        """Return the vertex that a path of the scope begins with."""
        return next(each.name for each in self.mentions if each.location == path.start.location)

    def end_of(self, path: ast.Path) -> str:
        """Return the vertex that a path of the scope ends with."""
        last = path.steps[-1][1]
        return next(each.name for each in self.mentions if each.location == last.location)

    def _name(self, edge: ast.Edge | ast.PathEdge) -> None:
        if isinstance(edge, ast.Edge) and edge.times is not None:
            message = "a streaming graph query does not count parallel edges: equal edges are one edge"
            hint = "write a path of any length as -/:label+/->; *4 is for patterns, PATTERN name MATCH …"
            raise InvalidPatternError(message, edge.times.location, hint=hint)
        if edge.name is None:
            return
        name, place = edge.name.text, edge.name.location
        _refuse_empty(edge.name)
        if name in self.edges or name in self.paths:
            message = f"{show(name)} names two edges or paths"
            raise InvalidPatternError(message, place, hint="write every edge and path once, with its own name")
        if name in self.vertices:
            message = f"{show(name)} already names a vertex"
            raise InvalidPatternError(message, place, hint="give the edge or path another name")
        (self.edges if isinstance(edge, ast.Edge) else self.paths)[name] = place

    def _vertex(self, vertex: ast.Vertex, option: int | None) -> str:
        if len(self.mentions) == MAX_MENTIONS:
            message = f"a query may mention at most {MAX_MENTIONS} vertices"
            raise InvalidPatternError(message, vertex.location)
        if vertex.name is None:
            name = next(each for number in self._numbers if (each := f"v{number}") not in self._used)
        else:
            name = vertex.name.text
            _refuse_empty(vertex.name)
            if name in self.edges or name in self.paths:
                message = f"{show(name)} already names an edge or path"
                raise InvalidPatternError(message, vertex.name.location, hint="give the vertex another name")
        key: VertexId | None = None
        for number, stated in enumerate(vertex.properties):
            key = bind_vertex_key(stated)
            if number > 0:
                message = "'id' is stated twice"
                raise InvalidPatternError(message, stated.name.location)
        self.vertices.setdefault(name, vertex.location)
        self.mentions.append(Mention(name, vertex.label, key, vertex.location, option))
        return name

    # ---- names of expressions

    def read(self, attribute: ast.Attribute) -> predicate.Attribute:
        """See `Names`."""
        variable = attribute.variable
        if variable.text in self.paths:
            message = f"{show(variable.text)} is a path, and a condition cannot read paths"
            hint = "a condition reads edges, -[e:label]->, and ids of vertices"
            raise InvalidPatternError(message, variable.location, hint=hint)
        self.refuse_unknown(variable)
        return read_part(
            attribute,
            self.vertices,
            on_op="a query reads only inserted edges; a deletion withdraws the results that need its edge",
        )

    def compute(self, aggregate: ast.Aggregate) -> predicate.Aggregate:
        """See `Names`; a query has no lists."""
        raise no_lists(aggregate.function, "a streaming graph query")

    def not_a_value(self, name: ast.Name) -> InvalidPatternError:
        """See `Names`."""
        spelled = shorten(name.text)
        if name.text in self.vertices:
            hint = f"write {spelled}.id; to make two vertices one, compare them without attributes: {spelled} = other"
            return InvalidPatternError(f"{show(name.text)} is a vertex, not a value", name.location, hint=hint)
        if name.text in self.edges:
            message = f"{show(name.text)} is an edge, not a value"
            return InvalidPatternError(message, name.location, hint=f"write {spelled}.bytes, or another of its attributes")
        if name.text in self.paths:
            return InvalidPatternError(
                f"{show(name.text)} is a path, not a value", name.location, hint=f"RETURN {spelled} reports it"
            )
        message = f"{show(name.text)} is not a value: attributes belong to an edge or a vertex"
        hint = self._known(name.text) + ", or put quotes around a string"
        return InvalidPatternError(message, name.location, hint=hint)

    def refuse_unknown(self, variable: ast.Name) -> None:
        """Check that a name is known.

        Raises:
            InvalidPatternError: it is unknown.
        """
        if not any(variable.text in names for names in (self.vertices, self.edges, self.paths)):
            message = f"the query has no vertex or edge {show(variable.text)}"
            raise InvalidPatternError(message, variable.location, hint=self._known(variable.text))

    def _known(self, word: str) -> str:
        known = sorted(self._used)
        return did_you_mean(word, known) or (f"it has {list_names(known)}" if known else "name one in MATCH: (u)-[:label]->(v)")


def _refuse_empty(name: ast.Name) -> None:
    if not name.text:
        message = "the name is empty"
        raise InvalidPatternError(message, name.location, hint="leave the backticks out for a part without a name")
