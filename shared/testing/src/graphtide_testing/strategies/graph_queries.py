"""Streaming graph queries over streams of few vertices and labels: small, with every feature, mostly satisfiable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.graph_query import EDGE, GraphQuery, Input, Output
from graphtide_core.ids import PatternName, StreamName, VertexId
from graphtide_core.path_expression import Maybe, Plus, Star, Symbol, make_alternation, make_concatenation, without_empty
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal
from graphtide_core.regular_rule import Atom, Constant, Rule, Variable
from graphtide_core.stream_window import StreamWindow, WindowKind
from graphtide_core.time import Duration
from hypothesis import strategies as st

from graphtide_testing.strategies.calls import draw_call
from graphtide_testing.strategies.choices import DrawnChoices, RandomChoices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from graphtide_core.path_expression import PathExpression
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Term
    from hypothesis.strategies import DrawFn, SearchStrategy

    from graphtide_testing.strategies.choices import Choices

_NAMES = ("x", "y", "z", "w", "v", "u")
_COMPARISONS = (Comparison.NOT_EQUAL, Comparison.LESS_OR_EQUAL, Comparison.GREATER, Comparison.EQUAL)


@dataclass(frozen=True, slots=True)
class GraphQueryShape:
    """What may occur in a generated query; the defaults allow everything.

    A query reads edges of `labels` between `vertices` from `streams`, with windows of up to `max_window` ticks that slide by up
    to `max_slide`. It has up to `max_heads` derived heads below the answer, each of up to `max_rules` rules. A rule has up to
    `max_atoms` atoms, whose expressions have up to `max_symbols` symbols. `attributes` are those of edges, with values to
    compare with; `vertex_labels` are those of the ends of edges.
    """

    labels: tuple[str, ...] = ("a", "b", "c")
    vertices: tuple[str, ...] = ("v0", "v1", "v2")
    streams: tuple[str, ...] = ("generated",)
    attributes: tuple[tuple[str, tuple[int | str, ...]], ...] = (("n", (0, 1, 2)),)
    vertex_labels: tuple[str, ...] = ("A", "B")
    max_window: int = 8
    max_slide: int = 4
    max_heads: int = 2
    max_rules: int = 2
    max_atoms: int = 3
    max_symbols: int = 4
    kinds: tuple[WindowKind, ...] = (WindowKind.EXTERNAL,)
    several_windows: bool = True
    unlabelled: bool = True
    conditions: bool = True
    constants: bool = True
    inverses: bool = True
    closures: bool = True
    wide_answers: bool = True
    paths: bool = True


def graph_queries(shape: GraphQueryShape | None = None) -> SearchStrategy[GraphQuery]:
    """Return a strategy for queries."""
    return _queries(shape or GraphQueryShape())


def random_graph_query(rng: Random, shape: GraphQueryShape | None = None) -> GraphQuery:
    """Return a query; equal for equal states of `rng`."""
    return _Growth(RandomChoices(rng), shape or GraphQueryShape()).query()


@st.composite
def _queries(draw: DrawFn, shape: GraphQueryShape) -> GraphQuery:
    return _Growth(DrawnChoices(draw), shape).query()


class _Growth:
    """Grows a query, from its inputs to its answer."""

    def __init__(self, choices: Choices, shape: GraphQueryShape) -> None:
        self._choices = choices
        self._shape = shape
        self._readable: list[str] = []

    def query(self) -> GraphQuery:
        choices, shape = self._choices, self._shape
        inputs = self._inputs()
        self._readable = [each.name for each in inputs]
        rules: list[Rule] = []
        for number in range(choices.integer(0, shape.max_heads)):
            head = f"h{number}"
            rules += self._rules(head, 2)
            # What is derived is read more often than what comes in.
            self._readable += [head, head]
        width = 3 if shape.wide_answers and choices.rarely(5) else 2
        answer = self._rules("Answer", width)
        path = None
        if shape.paths and choices.rarely(3):
            path = "p"
            answer = [Rule(each.head, each.columns, _name_atoms(each.body, path), each.conditions) for each in answer]
        output = Output("Answer", "Answer", _distinct(answer[0].columns), path)
        return GraphQuery(PatternName("generated"), inputs, (*rules, *answer), (output,))

    # ---- what comes in

    def _inputs(self) -> tuple[Input, ...]:
        choices, shape = self._choices, self._shape
        first = self._window()
        found = []
        for label in shape.labels:
            window = self._window() if shape.several_windows and choices.rarely(4) else first
            conditions = (self._condition(),) if shape.conditions and shape.attributes and choices.rarely(4) else ()
            found.append(Input(label, window, label, self._vertex_label(), self._vertex_label(), conditions))
        if shape.unlabelled and choices.rarely(5):
            found.append(Input("any", first, None))
        return tuple(found)

    def _window(self) -> StreamWindow:
        choices, shape = self._choices, self._shape
        stream = StreamName(choices.one_of(shape.streams))
        kind = choices.one_of(shape.kinds)
        if kind is WindowKind.NOW:
            return StreamWindow(stream, Duration(1), None, kind)
        length = choices.integer(2, shape.max_window)
        slide = Duration(choices.integer(1, min(length, shape.max_slide))) if choices.rarely(2) else None
        return StreamWindow(stream, Duration(length), slide, kind)

    def _vertex_label(self) -> str | None:
        labels = self._shape.vertex_labels
        return self._choices.one_of(labels) if labels and self._choices.rarely(10) else None

    def _condition(self) -> Expression:
        name, values = self._choices.one_of(self._shape.attributes)
        comparison = self._choices.one_of(_COMPARISONS)
        read = draw_call(self._choices, Attribute(EDGE, name))
        return Compare(comparison, read, Literal(self._choices.one_of(values)))

    # ---- rules

    def _rules(self, head: str, width: int) -> list[Rule]:
        return [self._rule(head, width) for _ in range(self._choices.integer(1, self._shape.max_rules))]

    def _rule(self, head: str, width: int) -> Rule:
        choices, shape = self._choices, self._shape
        names = [_NAMES[0]]
        drawn = []
        for _ in range(choices.integer(1, shape.max_atoms)):
            # Every atom begins or ends where one before it does.
            here = choices.one_of(names)
            fresh = [each for each in _NAMES if each not in names][:1]
            # Loops are rare: few data vertices have one.
            others = [*fresh * 4, *(each for each in names if each != here)]
            there = here if choices.rarely(12) else choices.one_of(others)
            names += [there] if there not in names else []
            drawn.append((here, there) if choices.rarely(2) else (there, here))
        columns = self._columns(names, width)
        body = tuple(Atom(self._expression(), *self._ends(ends, drawn, columns)) for ends in drawn)
        conditions = (self._on_vertex(names, body),) if shape.conditions and choices.rarely(8) else ()
        return Rule(head, columns, body, conditions)

    def _columns(self, names: Sequence[str], width: int) -> tuple[str, ...]:
        """Return variables of the body, each once if there are so many."""
        left = list(names)
        found: list[str] = []
        for _ in range(width):
            name = self._choices.one_of(left or list(names))
            found.append(name)
            left = [each for each in left if each != name]
        return tuple(found)

    def _ends(self, ends: tuple[str, str], drawn: Sequence[tuple[str, str]], columns: Sequence[str]) -> tuple[Term, Term]:
        """Return the ends of an atom; one that nothing else is joined by may be a constant."""
        used = [each for pair in drawn for each in pair]
        found: list[Term] = []
        for name in ends:
            is_free = name not in columns and used.count(name) == 1
            if is_free and self._shape.constants and self._choices.rarely(4):
                found.append(Constant(VertexId(self._choices.one_of(self._shape.vertices))))
            else:
                found.append(Variable(name))
        return found[0], found[1]

    def _on_vertex(self, names: Sequence[str], body: Sequence[Atom]) -> Expression:
        bound = {term.name for atom in body for term in (atom.source, atom.target) if isinstance(term, Variable)}
        known = [each for each in names if each in bound]
        one = self._choices.one_of(known)
        left = Attribute(one, "id")
        if len(known) > 1 and self._choices.rarely(2):
            other = self._choices.one_of([each for each in known if each != one])
            return Compare(Comparison.NOT_EQUAL, left, Attribute(other, "id"))
        comparison = Comparison.NOT_EQUAL if self._choices.rarely(2) else Comparison.EQUAL
        return Compare(comparison, draw_call(self._choices, left), Literal(self._choices.one_of(self._shape.vertices)))

    # ---- expressions

    def _expression(self) -> PathExpression:
        """Return one as an atom has it: mostly an edge or the closure of one."""
        match self._choices.integer(0, 5):
            case 0 | 1 | 2:
                return self._symbol()
            case 3 | 4 if self._shape.closures:
                return Plus(self._symbol())
            case _:
                return without_empty(self._grown(self._choices.integer(1, self._shape.max_symbols)))

    def _grown(self, size: int) -> PathExpression:
        if size == 1:
            return self._repeated(self._symbol())
        left = self._choices.integer(1, size - 1)
        parts = (self._grown(left), self._grown(size - left))
        return self._repeated(make_concatenation(parts) if self._choices.rarely(2) else make_alternation(parts))

    def _repeated(self, expression: PathExpression) -> PathExpression:
        if not self._shape.closures:
            return expression
        match self._choices.integer(0, 7):
            case 0:
                return Star(expression)
            case 1:
                return Plus(expression)
            case 2:
                return Maybe(expression)
            case _:
                return expression

    def _symbol(self) -> Symbol:
        return Symbol(self._choices.one_of(self._readable), self._shape.inverses and self._choices.rarely(6))


def _name_atoms(body: tuple[Atom, ...], name: str) -> tuple[Atom, ...]:
    first, *others = body
    return (Atom(first.expression, first.source, first.target, name), *others)


def _distinct(columns: Sequence[str]) -> tuple[str, ...]:
    """Return names for columns, with a number where a variable comes again."""
    found: list[str] = []
    for each in columns:
        numbered = (each, *(f"{each}_{number}" for number in range(2, len(columns) + 1)))
        found.append(next(name for name in numbered if name not in found))
    return tuple(found)
