"""Build the body of a rule from a branch of a G-CORE query: join vertices that are one, and place conditions.

A label of a vertex holds on every edge of the input there. At an end of a path, it holds only on the first or last edge, so the
expression is rewritten. For `:a+` from a person, the first edge is one of the `:a` edges from persons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import EDGE
from graphtide_core.graph_query_rules import MAX_SYMBOLS
from graphtide_core.path_expression import Symbol, from_start, renamed_symbols, reversed_expression, symbols
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal, rename
from graphtide_core.regular_rule import Atom, Constant, Rule, Variable
from graphtide_core.suggestion import show

from graphtide_query.language import ast
from graphtide_query.language.gcore_conditions import Fixed, OnEdge, OnVertices, Same
from graphtide_query.language.graph import bind_properties
from graphtide_query.language.path_binder import bind_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.ids import VertexId
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Term

    from graphtide_query.language import graph_ast
    from graphtide_query.language.gcore_conditions import Condition
    from graphtide_query.language.gcore_scope import Drawn, Scope
    from graphtide_query.language.graph_inputs import Inputs

_DERIVED = "~"


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch: the representative of each vertex, and the body; conditions are on ids of vertices."""

    representatives: Mapping[str, str]
    body: tuple[Atom, ...]
    conditions: tuple[Expression, ...]

    def rule(self, head: str, columns: Sequence[str]) -> Rule:
        """Return the rule that derives edges between vertices of the branch."""
        return Rule(head, tuple(self.representatives[each] for each in columns), self.body, self.conditions)


def bind_branch(
    scope: Scope, option: int | None, conditions: Sequence[Condition], columns: Sequence[str], inputs: Inputs
) -> Branch | None:
    """Return the branch of an OPTIONAL, or of only the mandatory part; None if it lacks a name that is used.

    Args:
        scope: of the query.
        option: the number of the OPTIONAL.
        conditions: of the query.
        columns: the reported vertices.
        inputs: gets the inputs that the branch reads.

    Raises:
        InvalidPatternError: vertices that are one have different labels or ids. Or a label is at the end of a derived path, or
            an expression is too large; with its place.
    """
    drawn = [each for each in scope.drawn if each.option in {None, option}]
    there = {each.name for each in scope.mentions if each.option in {None, option}}
    there |= {each.edge.name.text for each in drawn if each.edge.name is not None}
    if not there.issuperset([*columns, *(name for condition in conditions for name in _names(condition))]):
        return None
    vertices = _Vertices(scope, option, conditions)
    ends = {vertices.of(end) for each in drawn for end in (each.source, each.target)}
    needed = [*columns, *(name for each in conditions if isinstance(each, OnVertices | Fixed) for name in _names(each))]
    if any(vertices.of(name) not in ends for name in needed):
        return None
    return _Body(vertices, drawn, conditions, columns, inputs).branch()


def _names(condition: Condition) -> tuple[str, ...]:
    match condition:
        case Same(one, other):
            return (one, other)
        case Fixed(vertex):
            return (vertex,)
        case OnEdge(edge):
            return (edge,)
        case OnVertices(vertices):  # pragma: no branch - mypy knows that no case is left
            return tuple(sorted(vertices))


class _Vertices:
    """The vertices of a branch, with equal vertices joined; each with its label and key."""

    def __init__(self, scope: Scope, option: int | None, conditions: Sequence[Condition]) -> None:
        self.labels: dict[str, ast.Name] = {}
        self.keys: dict[str, VertexId] = {}
        order = list(scope.vertices)
        self._parents = dict(zip(order, order, strict=True))
        self._ranks = {name: rank for rank, name in enumerate(order)}
        for same in conditions:
            if isinstance(same, Same):
                first, second = sorted((self.of(same.one), self.of(same.other)), key=self._ranks.__getitem__)
                self._parents[second] = first
        for mention in scope.mentions:
            if mention.option not in {None, option}:
                continue
            name = self.of(mention.name)
            label = mention.label
            if label is not None and self.labels.setdefault(name, label).text != label.text:
                message = f"vertex {show(mention.name)} has the label {show(self.labels[name].text)} already"
                raise InvalidPatternError(message, label.location, hint="state the label once, or the same one")
            if mention.key is not None and self.keys.setdefault(name, mention.key) != mention.key:
                message = f"vertex {show(mention.name)} has the id {show(self.keys[name])} already"
                raise InvalidPatternError(message, mention.location, hint="a query vertex is one vertex of the data")
        for fixed in conditions:
            if isinstance(fixed, Fixed) and self.keys.setdefault(self.of(fixed.vertex), fixed.key) != fixed.key:
                message = f"vertex {show(fixed.vertex)} has the id {show(self.keys[self.of(fixed.vertex)])} already"
                raise InvalidPatternError(message, fixed.location, hint="a query vertex is one vertex of the data")

    def of(self, name: str) -> str:
        """Return the first of the vertices that are joined with a vertex."""
        while self._parents[name] != name:
            name = self._parents[name]
        return name

    def representatives(self) -> dict[str, str]:
        return {name: self.of(name) for name in self._parents}


class _Body:
    """Builds the atoms of a branch."""

    def __init__(
        self,
        vertices: _Vertices,
        drawn: Sequence[Drawn],
        conditions: Sequence[Condition],
        columns: Sequence[str],
        inputs: Inputs,
    ) -> None:
        self._vertices = vertices
        self._drawn = drawn
        self._inputs = inputs
        self._on_edges = [each for each in conditions if isinstance(each, OnEdge)]
        self._on_vertices = [each for each in conditions if isinstance(each, OnVertices)]
        ends = [vertices.of(end) for each in drawn for end in (each.source, each.target)]
        kept = {vertices.of(name) for name in columns}
        kept |= {vertices.of(name) for each in self._on_vertices for name in each.vertices}
        # A constant joins nothing: where it must join, or a condition or column reads it, it stays a variable with an id.
        self._fixed = {name for name in vertices.keys if name not in kept and ends.count(name) == 1}
        self._ends = set(ends)

    def branch(self) -> Branch:
        representatives = self._vertices.representatives()
        of_text = (rename(each.condition, representatives) for each in self._on_vertices)
        of_ids: Iterator[Expression] = (
            Compare(Comparison.EQUAL, Attribute(name, "id"), Literal(str(key)))
            for name, key in self._vertices.keys.items()
            if name in self._ends and name not in self._fixed
        )
        body = tuple(self._atom(each) for each in self._drawn)
        return Branch(representatives, body, (*of_ids, *of_text))

    def _atom(self, drawn: Drawn) -> Atom:
        source, target = self._vertices.of(drawn.source), self._vertices.of(drawn.target)
        if isinstance(drawn.edge, ast.PathEdge):
            name = None if drawn.edge.name is None else drawn.edge.name.text
            return Atom(self._path(drawn, drawn.edge, source, target), self._term(source), self._term(target), name)
        return Atom(Symbol(self._input(drawn, drawn.edge, source, target)), self._term(source), self._term(target))

    def _term(self, name: str) -> Term:
        return Constant(self._vertices.keys[name]) if name in self._fixed else Variable(name)

    def _input(self, drawn: Drawn, edge: ast.Edge, source: str, target: str) -> str:
        own = () if edge.name is None else (each.condition for each in self._on_edges if each.edge == edge.name.text)
        conditions = (*bind_properties(EDGE, edge.properties), *own)
        label = None if edge.label is None else edge.label.text
        return self._inputs.name_of(drawn.window, label, self._label(source), self._label(target), conditions)

    def _label(self, vertex: str) -> str | None:
        label = self._vertices.labels.get(vertex)
        return None if label is None else label.text

    def _path(self, drawn: Drawn, edge: ast.PathEdge, source: str, target: str) -> PathExpression:
        steps = _Steps()
        expression = bind_path(edge.expression, steps.symbol)
        if (first := self._vertices.labels.get(source)) is not None:
            expression = from_start(expression, lambda symbol: steps.beginning(symbol, first))
            _refuse_large(expression, edge)
        if (last := self._vertices.labels.get(target)) is not None:
            backward = from_start(reversed_expression(expression), lambda symbol: steps.beginning(symbol, last))
            expression = reversed_expression(backward)
            _refuse_large(expression, edge)
        names = {each.predicate: steps.predicate(each.predicate, drawn, self._inputs) for each in symbols(expression)}
        return renamed_symbols(expression, names)


def _refuse_large(expression: PathExpression, edge: ast.PathEdge) -> None:
    if sum(1 for _ in symbols(expression)) > MAX_SYMBOLS:
        message = f"with the labels of its ends, the path has more than {MAX_SYMBOLS} labels"
        raise InvalidPatternError(message, edge.location, hint="state the labels of vertices at edges before and after it")


@dataclass(frozen=True, slots=True)
class _Read:
    """The edges that a step reads: those of a label between labelled vertices, or those that a PATH derives."""

    name: str
    is_derived: bool
    source_label: str | None = None
    target_label: str | None = None


class _Steps:
    """The steps of one expression as symbols, which are numbers until all steps are known."""

    def __init__(self) -> None:
        self._read: list[_Read] = []

    def symbol(self, step: graph_ast.Step) -> str:
        return self._number(_Read(step.name.text, step.sign == _DERIVED))

    def beginning(self, symbol: Symbol, label: ast.Name) -> Symbol:
        """Return the symbol whose first vertex, in the direction of the walk, has a label."""
        read = self._read[int(symbol.predicate)]
        if read.is_derived:
            message = f"the label {show(label.text)} is at the end of a path of ~{read.name}, which is derived"
            hint = "only vertices of a stream's edges have labels: state it in the PATH clause"
            raise InvalidPatternError(message, label.location, hint=hint)
        if symbol.is_inverse:
            return Symbol(self._number(replace(read, target_label=label.text)), is_inverse=True)
        return Symbol(self._number(replace(read, source_label=label.text)))

    def predicate(self, number: str, drawn: Drawn, inputs: Inputs) -> str:
        read = self._read[int(number)]
        if read.is_derived:
            return read.name
        return inputs.name_of(drawn.window, read.name, read.source_label, read.target_label)

    def _number(self, read: _Read) -> str:
        if read not in self._read:
            self._read.append(read)
        return str(self._read.index(read))
