"""Convert expressions of the algebra to path expressions over others, and back; rules on PATHs are built from this.

Symbols of a path are named after their expressions, and bindings are in the order of their symbols. So equal paths are equal
expressions, whatever their derivation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.algebra import Binding, Filter, Path, Pattern, PatternOperand, Union, WScan, arity
from graphtide_core.path_expression import (
    Alternation,
    Concatenation,
    Symbol,
    renamed_symbols,
    reversed_expression,
    symbols,
    write_expression,
)
from graphtide_core.path_expression import operands as parts_of
from graphtide_core.regular_rule import Variable

from graphtide_query.families.algebra.regular_laws import never_empty, simplify
from graphtide_query.families.algebra.translation import in_a_row, reverse_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.algebra import Algebra
    from graphtide_core.ids import VertexId
    from graphtide_core.path_expression import PathExpression


@dataclass(slots=True)
class Alphabet:
    """Named expressions, the symbols of path expressions."""

    operands: dict[str, Algebra] = field(default_factory=dict)
    _names: dict[Algebra, str] = field(default_factory=dict)

    def symbol(self, operand: Algebra) -> Symbol:
        """Return the step along a tuple of an expression."""
        name = self._names.get(operand)
        if name is None:
            name = label_of(operand)
            while name in self.operands:
                name += "'"
            self._names[operand] = name
            self.operands[name] = operand
        return Symbol(name)

    def read(self, path: Path) -> PathExpression:
        """Return the expression of a path over this alphabet."""
        names = {binding.symbol: self.symbol(binding.operand).predicate for binding in path.bindings}
        return renamed_symbols(path.expression, names)

    def spell(self, operand: Algebra) -> PathExpression:
        """Return the words of an expression: for a PATH with open ends, its words except the empty one; else one step."""
        if isinstance(operand, Path) and operand.source is None and operand.target is None:
            return never_empty(self.read(operand))
        return self.symbol(operand)


def path_of(
    expression: PathExpression,
    operands: Mapping[str, Algebra],
    source: VertexId | None = None,
    target: VertexId | None = None,
) -> Algebra:
    """Return the words of a path expression except the empty one; a single step forward is its expression."""
    expression = simplify(expression)
    if source is None and target is None and isinstance(expression, Symbol):
        operand = operands[expression.predicate]
        return reverse_ends(operand, write_expression(expression)) if expression.is_inverse else operand
    return _in_form(expression, operands, source, target)


def in_form(path: Path) -> Path:
    """Return the same path, named as it is written, with its symbols named after their expressions."""
    operands = {binding.symbol: binding.operand for binding in path.bindings}
    return _in_form(path.expression, operands, path.source, path.target)


def _in_form(
    expression: PathExpression,
    operands: Mapping[str, Algebra],
    source: VertexId | None,
    target: VertexId | None,
) -> Path:
    alphabet = Alphabet()
    names = {
        name: alphabet.symbol(operands[name]).predicate
        for name in dict.fromkeys(symbol.predicate for symbol in symbols(expression))
    }
    renamed = renamed_symbols(expression, names)
    bindings = tuple(Binding(name, operand) for name, operand in alphabet.operands.items())
    return Path(renamed, bindings, write_expression(renamed), source, target)


def substitute(expression: PathExpression, predicate: str, by: PathExpression) -> PathExpression:
    """Return the expression with another one in place of a predicate's steps, reversed for inverse steps."""
    turned_by = reversed_expression(by)

    def visit(each: PathExpression) -> PathExpression:
        match each:
            case Symbol(name, is_inverse):
                return each if name != predicate else turned_by if is_inverse else by
            case _:
                return rebuild(each, map(visit, parts_of(each)))

    return visit(expression)


def rebuild(expression: PathExpression, parts: Iterable[PathExpression]) -> PathExpression:
    """Return a path expression with other operands."""
    found = tuple(parts)
    if isinstance(expression, Concatenation | Alternation):
        return type(expression)(found)
    return expression if isinstance(expression, Symbol) else type(expression)(*found)


def chain(pattern: Pattern, alphabet: Alphabet) -> tuple[PathExpression, ...] | None:
    """Return the steps of a PATTERN that is a chain from its first column to its second; None for another one.

    Each variable between them joins exactly two parts, and there are no conditions.
    """
    columns = pattern.columns
    if pattern.conditions or len(columns) != 2 or columns[0] == columns[1]:
        return None
    ends = [end for part in pattern.parts for end in (part.source, part.target)]
    counts = Counter(ends)
    outer = {Variable(column) for column in columns}
    if any(not isinstance(end, Variable) or counts[end] != (1 if end in outer else 2) for end in ends):
        return None
    here, left, found = Variable(columns[0]), list(pattern.parts), list[Symbol]()
    while left:
        part = next((part for part in left if here in (part.source, part.target)), None)
        if part is None or part.source == part.target:
            return None
        left.remove(part)
        is_inverse = part.target == here
        found.append(Symbol(alphabet.symbol(part.operand).predicate, is_inverse))
        there = part.source if is_inverse else part.target
        if not isinstance(there, Variable):  # pragma: no cover - seen above
            return None
        here = there
    return tuple(found) if here == Variable(columns[1]) else None


def row_of(parts: Iterable[Algebra], label: str) -> Algebra:
    """Return the PATTERN of consecutive expressions; a single one is itself."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else in_a_row(found, label)


def plain(pattern: Pattern) -> Algebra:
    """Return the only part of a PATTERN that does not change its tuples; else the PATTERN."""
    match pattern:
        case Pattern((PatternOperand(operand, Variable(source), Variable(target)),), (first, second), _, ()) if (
            source != target and (source, target) == (first, second) and arity(operand) == 2
        ):
            return operand
        case _:
            return pattern


def label_of(expression: Algebra) -> str:
    """Return the label of the tuples of an expression."""
    match expression:
        case WScan(_, label):
            return label or "any"
        case Filter(operand):
            return label_of(operand)
        case Union(_, label) | Pattern(_, _, label) | Path(_, _, label):  # pragma: no branch - mypy knows that no case is left
            return label
