"""Expressions of the streaming graph algebra: what a query computes, whatever computes it.

Every operator takes streaming graphs and gives one; operators are equal by value, so that equal parts of plans are one. Where
the paper writes positions of operands (`trg1 = src2`), a `Pattern` has variables: positions of one variable are equal.

Reference: paper 001, Definitions 16 to 20.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ids import VertexId
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Term
    from graphtide_core.stream_window import StreamWindow


class _Operator:
    """An operator, whose hash is computed once: plans look expressions up again and again, each with all below it."""

    __slots__ = ("_hash",)
    __match_args__: ClassVar[tuple[str, ...]] = ()
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash((type(self), *(getattr(self, name) for name in self.__match_args__)))
            # It is not a field: a copy of an operator, or one sent to another process, does not have it.
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class WScan(_Operator):
    """The edges of a label in a window over a stream, valid as the window says; None is every label."""

    window: StreamWindow
    label: str | None
    __hash__ = _Operator.__hash__


@dataclass(frozen=True, slots=True)
class Filter(_Operator):
    """The tuples of the operand for which everything holds that is asked.

    Over a `WScan`, conditions read the edge `e` and act before equal edges become one tuple; labels are those of its ends.
    Over any other operand, conditions read only `source.id` and `target.id`, and there are no labels.
    """

    operand: Algebra
    conditions: tuple[Expression, ...] = ()
    source_label: str | None = None
    target_label: str | None = None
    __hash__ = _Operator.__hash__


@dataclass(frozen=True, slots=True)
class Union(_Operator):
    """The tuples of all operands, which have equally many columns, under one label."""

    operands: tuple[Algebra, ...]
    label: str
    __hash__ = _Operator.__hash__


@dataclass(frozen=True, slots=True)
class PatternOperand:
    """An operand of a PATTERN, and what its two columns are called there."""

    operand: Algebra
    source: Term
    target: Term


@dataclass(frozen=True, slots=True)
class Pattern(_Operator):
    """The tuples of `columns` for which every part has a tuple, all valid together.

    `conditions` read `variable.id` alone.
    """

    parts: tuple[PatternOperand, ...]
    columns: tuple[str, ...]
    label: str
    conditions: tuple[Expression, ...] = ()
    __hash__ = _Operator.__hash__


@dataclass(frozen=True, slots=True)
class Binding:
    """The expression that a symbol of a path expression stands for."""

    symbol: str
    operand: Algebra


@dataclass(frozen=True, slots=True)
class Path(_Operator):
    """Pairs of vertices with a path between them, of edges valid together, that spells a word of the expression.

    The empty word is none.

    Where `source` or `target` is given, paths begin or end there alone.
    """

    expression: PathExpression
    bindings: tuple[Binding, ...]
    label: str
    source: VertexId | None = None
    target: VertexId | None = None
    __hash__ = _Operator.__hash__


Algebra = WScan | Filter | Union | Pattern | Path
"""An expression of the algebra."""


def operands(expression: Algebra) -> tuple[Algebra, ...]:
    """Return the direct operands, in their order."""
    match expression:
        case WScan():
            return ()
        case Filter(operand):
            return (operand,)
        case Union(several):
            return several
        case Pattern(parts):
            return tuple(part.operand for part in parts)
        case Path(_, bindings):  # pragma: no branch - mypy knows that no case is left
            return tuple(binding.operand for binding in bindings)


def paths(expression: Algebra) -> Iterator[Path]:
    """Yield the PATHs of an expression, each as often as it occurs."""
    if isinstance(expression, Path):
        yield expression
    for operand in operands(expression):
        yield from paths(operand)


def arity(expression: Algebra) -> int:
    """Return how many columns the tuples of an expression have."""
    match expression:
        case Pattern(_, columns):
            return len(columns)
        case Union(several):
            return arity(several[0])
        case _:
            return 2


def distinct(expression: Algebra) -> Iterator[Algebra]:
    """Yield an expression and everything below it, each once, operands first."""
    seen: set[Algebra] = set()

    def below(each: Algebra) -> Iterator[Algebra]:
        if each in seen:
            return
        seen.add(each)
        for operand in operands(each):
            yield from below(operand)
        yield each

    yield from below(expression)
