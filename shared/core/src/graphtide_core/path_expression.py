"""A regular expression over the labels of edges, as paths have to spell it.

Symbols name predicates of a graph query: the edges of an input, or what a rule derives. An expression that is matched as a
whole never yields the empty path: `a*` alone is `a+`, while a star inside a longer expression includes zero steps.

Reference: paper 001, Definitions 13 and 20, and Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Symbol:
    """One step along an edge of a predicate, against its direction where it `is_inverse`."""

    predicate: str
    is_inverse: bool = False


@dataclass(frozen=True, slots=True)
class Concatenation:
    """The parts, one after the other; two at least."""

    parts: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of the options; two at least."""

    options: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class Star:
    """The operand any number of times, none too."""

    operand: PathExpression


@dataclass(frozen=True, slots=True)
class Plus:
    """The operand once or more often."""

    operand: PathExpression


@dataclass(frozen=True, slots=True)
class Maybe:
    """The operand once or not at all."""

    operand: PathExpression


PathExpression = Symbol | Concatenation | Alternation | Star | Plus | Maybe
"""A regular expression over predicates."""


def symbols(expression: PathExpression) -> Iterator[Symbol]:
    """Yield the symbols of an expression, from left to right, each as often as it stands there."""
    match expression:
        case Symbol():
            yield expression
        case Concatenation(operands) | Alternation(operands):
            for operand in operands:
                yield from symbols(operand)
        case Star(operand) | Plus(operand) | Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            yield from symbols(operand)


def is_nullable(expression: PathExpression) -> bool:
    """Return whether the empty word is a word of the expression."""
    match expression:
        case Symbol():
            return False
        case Concatenation(parts):
            return all(map(is_nullable, parts))
        case Alternation(options):
            return any(map(is_nullable, options))
        case Star() | Maybe():
            return True
        case Plus(operand):  # pragma: no branch - mypy knows that no case is left
            return is_nullable(operand)


def reversed_expression(expression: PathExpression) -> PathExpression:
    """Return the expression of the same paths, walked from their ends to their starts."""
    match expression:
        case Symbol(predicate, is_inverse):
            return Symbol(predicate, not is_inverse)
        case Concatenation(parts):
            return Concatenation(tuple(reversed_expression(part) for part in reversed(parts)))
        case Alternation(options):
            return Alternation(tuple(map(reversed_expression, options)))
        case Star(operand):
            return Star(reversed_expression(operand))
        case Plus(operand):
            return Plus(reversed_expression(operand))
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return Maybe(reversed_expression(operand))


def renamed_symbols(expression: PathExpression, names: Mapping[str, str]) -> PathExpression:
    """Return the expression over other predicates; those that `names` lacks keep theirs."""
    match expression:
        case Symbol(predicate, is_inverse):
            return Symbol(names.get(predicate, predicate), is_inverse)
        case Concatenation(parts):
            return Concatenation(tuple(renamed_symbols(part, names) for part in parts))
        case Alternation(options):
            return Alternation(tuple(renamed_symbols(option, names) for option in options))
        case Star(operand):
            return Star(renamed_symbols(operand, names))
        case Plus(operand):
            return Plus(renamed_symbols(operand, names))
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return Maybe(renamed_symbols(operand, names))


def spelled(expression: PathExpression) -> str:
    """Write the expression as G-CORE does between its slashes: `:a :b* | ^:c`."""
    match expression:
        case Symbol(predicate, is_inverse):
            return f"{'^' if is_inverse else ''}:{predicate}"
        case Concatenation(parts):
            return " ".join(_grouped(part) if isinstance(part, Alternation) else spelled(part) for part in parts)
        case Alternation(options):
            return " | ".join(map(spelled, options))
        case Star(operand):
            return f"{_grouped(operand)}*"
        case Plus(operand):
            return f"{_grouped(operand)}+"
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return f"{_grouped(operand)}?"


def _grouped(expression: PathExpression) -> str:
    return spelled(expression) if isinstance(expression, Symbol) else f"({spelled(expression)})"
