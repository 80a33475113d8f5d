"""Restrict the tuples of an expression by their ends, with conditions and constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.algebra import Filter, Path, Union, WScan
from graphtide_core.graph_query import EDGE
from graphtide_core.predicate import (
    Aggregate,
    Attribute,
    Compare,
    Comparison,
    Literal,
    map_operands,
)
from graphtide_core.regular_rule import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.algebra import Algebra
    from graphtide_core.ids import VertexId
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Term

SOURCE: Final = Attribute("source", "id")
TARGET: Final = Attribute("target", "id")
_OF_EDGE: Final = {"source": Attribute(EDGE, "src"), "target": Attribute(EDGE, "dst")}


def read_from(condition: Expression, new: Mapping[str, Attribute]) -> Expression:
    """Return a condition with its attributes replaced, by their variables."""

    def visit(each: Expression) -> Expression:
        match each:
            case Literal() | Aggregate():
                return each
            case Attribute(variable):
                return new.get(variable, each)
            case _:
                return map_operands(each, visit)

    return visit(condition)


def filter_ends(operand: Algebra, conditions: tuple[Expression, ...]) -> Algebra:
    """Return the tuples of an expression whose ends, `source` and `target`, satisfy conditions; for a scan, its edges."""
    match operand:
        case WScan():
            return Filter(operand, tuple(read_from(each, _OF_EDGE) for each in conditions))
        case Filter(WScan(), known):
            own = (read_from(each, _OF_EDGE) for each in conditions)
            return replace(operand, conditions=tuple(dict.fromkeys((*known, *own))))
        case Filter(inner, known):
            return replace(operand, operand=inner, conditions=tuple(dict.fromkeys((*known, *conditions))))
        case _:
            return Filter(operand, conditions)


def bind_ends(operand: Algebra, source: VertexId | None, target: VertexId | None) -> Algebra:
    """Return the tuples of an expression that begin or end at known vertices, restricted as far down as possible.

    An expression that cannot be restricted, such as a PATTERN, is unchanged: the caller compares the ends.
    """
    if source is None and target is None:
        return operand
    match operand:
        case Path():
            taken = replace(
                operand,
                source=source if operand.source is None else operand.source,
                target=target if operand.target is None else operand.target,
            )
            asked = ((source, taken.source), (target, taken.target))
            return taken if all(own is None or own == has for own, has in asked) else operand
        case WScan() | Filter(WScan()):
            ends = ((SOURCE, source), (TARGET, target))
            return filter_ends(operand, tuple(_is(end, key) for end, key in ends if key is not None))
        case Filter(inner):
            return replace(operand, operand=bind_ends(inner, source, target))
        case Union(several, label):
            return Union(tuple(dict.fromkeys(bind_ends(each, source, target) for each in several)), label)
        case _:
            return operand


def known_vertex(condition: Expression) -> tuple[str, VertexId] | None:
    """Return the variable and the key of a condition that fixes a vertex; None for other conditions."""
    match condition:
        case Compare(Comparison.EQUAL, Attribute(variable, "id"), Literal(str() as key)):
            return variable, key  # type: ignore[return-value]  # ids of vertices are texts
        case Compare(Comparison.EQUAL, Literal(str() as key), Attribute(variable, "id")):
            return variable, key  # type: ignore[return-value]  # as above
        case _:
            return None


def known_vertices(conditions: Iterable[Expression]) -> dict[str, VertexId]:
    """Return the keys of the variables that conditions fix."""
    return dict(pair for pair in map(known_vertex, conditions) if pair is not None)


def known_end(end: Term, known: Mapping[str, VertexId]) -> VertexId | None:
    """Return the key of an end that is a constant, or a variable whose vertex is known."""
    match end:
        case Constant(key):
            return key
        case Variable(name):  # pragma: no branch - mypy knows that no case is left
            return known.get(name)


def _is(end: Attribute, key: VertexId) -> Expression:
    return Compare(Comparison.EQUAL, end, Literal(key))
