"""What the paths of a query of G-CORE draw: vertices, edges and paths with their names, before a rule is made of them.

A vertex may be mentioned often; mentions must agree. What stands behind an OPTIONAL belongs to one branch of the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language import ast
from graphtide_query.language.edge_names import read_part
from graphtide_query.language.graph import names_given, vertex_key
from graphtide_query.language.spelling import brief, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core import predicate
    from graphtide_core.errors import Location
    from graphtide_core.ids import VertexId
    from graphtide_core.stream_window import StreamWindow

MAX_DRAWN = 256
"""Edges and paths that a query may draw, with all its branches; what people write has a dozen."""


MAX_MENTIONS = 2 * MAX_DRAWN
"""Mentions of vertices that a query may have."""


@dataclass(frozen=True, slots=True)
class Block:
    """Paths over one window; `option` is the number of the OPTIONAL that they stand behind, if they do."""

    paths: tuple[ast.Path, ...]
    window: StreamWindow
    option: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """An edge or path between vertices, as it points."""

    source: str
    target: str
    edge: ast.Edge | ast.PathEdge
    window: StreamWindow
    option: int | None


@dataclass(frozen=True, slots=True)
class Mention:
    """A vertex as it is mentioned once."""

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
        edges, paths: that have names, with their places.
        vertices: with the places of their first mentions.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        """Take the paths.

        Raises:
            InvalidPatternError: a name names two things, mentions of a vertex disagree, or too much is drawn; with its place.
        """
        self._used = names_given(path for block in blocks for path in block.paths)
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
                message = f"a query may draw {MAX_DRAWN} edges and paths; this is one more"
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
            message = "parallel edges are not counted in a streaming graph query: equal edges are one"
            hint = "a path of any length is -/:label+/->; *4 is for patterns, PATTERN name MATCH …"
            raise InvalidPatternError(message, edge.times.location, hint=hint)
        if edge.name is None:
            return
        name, place = edge.name.text, edge.name.location
        _refuse_empty(edge.name)
        if name in self.edges or name in self.paths:
            message = f"{show(name)} names two edges or paths"
            raise InvalidPatternError(message, place, hint="every edge and path is written once and has a name of its own")
        if name in self.vertices:
            message = f"{show(name)} already names a vertex"
            raise InvalidPatternError(message, place, hint="give the edge or path another name")
        (self.edges if isinstance(edge, ast.Edge) else self.paths)[name] = place

    def _vertex(self, vertex: ast.Vertex, option: int | None) -> str:
        if len(self.mentions) == MAX_MENTIONS:
            message = f"a query may mention {MAX_MENTIONS} vertices; this is one more"
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
            key = vertex_key(stated)
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
            message = f"{show(variable.text)} is a path, and no condition reads one"
            hint = "conditions are on edges, -[e:label]->, and on ids of vertices"
            raise InvalidPatternError(message, variable.location, hint=hint)
        self.refuse_unknown(variable)
        return read_part(
            attribute,
            self.vertices,
            on_op="edges of a query are inserted edges alone: a deletion withdraws what rests on its edge",
        )

    def compute(self, aggregate: ast.Aggregate) -> predicate.Aggregate:
        """See `Names`; a condition reads one edge."""
        message = f"{show(aggregate.function.text)} cannot be computed: a streaming graph query has no functions"
        hint = "count, sum and others are over the events of an iteration, in a pattern of events: SEQ(a:A+)"
        raise InvalidPatternError(message, aggregate.function.location, hint=hint)

    def not_a_value(self, name: ast.Name) -> InvalidPatternError:
        """See `Names`."""
        spelled = brief(name.text)
        if name.text in self.vertices:
            hint = f"write {spelled}.id; two vertices are one where they are compared alone: {spelled} = other"
            return InvalidPatternError(f"{show(name.text)} is a vertex, not a value", name.location, hint=hint)
        if name.text in self.edges:
            message = f"{show(name.text)} is an edge, not a value"
            return InvalidPatternError(message, name.location, hint=f"write {spelled}.bytes, or another of its attributes")
        if name.text in self.paths:
            return InvalidPatternError(
                f"{show(name.text)} is a path, not a value", name.location, hint=f"RETURN {spelled} tells it"
            )
        message = f"{show(name.text)} is not a value: an attribute is read from an edge or a vertex"
        hint = self._known(name.text) + ", or put quotes around a string"
        return InvalidPatternError(message, name.location, hint=hint)

    def refuse_unknown(self, variable: ast.Name) -> None:
        """Refuse a name that nothing has.

        Raises:
            InvalidPatternError: nothing has it.
        """
        if not any(variable.text in names for names in (self.vertices, self.edges, self.paths)):
            message = f"the query has no vertex or edge {show(variable.text)}"
            raise InvalidPatternError(message, variable.location, hint=self._known(variable.text))

    def _known(self, word: str) -> str:
        known = sorted(self._used)
        return did_you_mean(word, known) or (f"it has {listed(known)}" if known else "name one in MATCH: (u)-[:label]->(v)")


def _refuse_empty(name: ast.Name) -> None:
    if not name.text:
        message = "the name is empty"
        raise InvalidPatternError(message, name.location, hint="leave the backticks out for a part without a name")
