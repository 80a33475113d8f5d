"""A regular expression over the labels of edges, as paths have to spell it.

Symbols name predicates of a graph query: the edges of an input, or what a rule derives. An expression that is matched as a
whole never yields the empty path. So `a*` alone is `a+`, while a star inside a longer expression includes zero steps.

Reference: paper 001, Definitions 13 and 20, and Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


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


MAX_NESTING: Final = 100
"""Levels of an expression: what walks over one may do so recursively."""

PathExpression = Symbol | Concatenation | Alternation | Star | Plus | Maybe
"""A regular expression over predicates."""


def operands(expression: PathExpression) -> tuple[PathExpression, ...]:
    """Return the direct operands."""
    match expression:
        case Symbol():
            return ()
        case Concatenation(several) | Alternation(several):
            return several
        case Star(operand) | Plus(operand) | Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return (operand,)


def is_nested_too_deep(expression: PathExpression) -> bool:
    """Return whether the expression has more than `MAX_NESTING` levels."""
    level: list[PathExpression] = [expression]
    for _ in range(MAX_NESTING):
        level = [operand for each in level for operand in operands(each)]
        if not level:
            return False
    return True


def symbols(expression: PathExpression) -> Iterator[Symbol]:
    """Yield the symbols of an expression from left to right, each as often as it occurs."""
    match expression:
        case Symbol():
            yield expression
        case Concatenation(operands) | Alternation(operands):
            for operand in operands:
                yield from symbols(operand)
        case Star(operand) | Plus(operand) | Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            yield from symbols(operand)


def make_concatenation(parts: Iterable[PathExpression]) -> PathExpression:
    """Return the concatenation of at least one part: a part that is one gives its own parts."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Concatenation) else (part,))]
    return flat[0] if len(flat) == 1 else Concatenation(tuple(flat))


def make_alternation(options: Iterable[PathExpression]) -> PathExpression:
    """Return the alternation of at least one option: each once, and those of alternations in it."""
    flat = [inner for option in options for inner in (option.options if isinstance(option, Alternation) else (option,))]
    once = tuple(dict.fromkeys(flat))
    return once[0] if len(once) == 1 else Alternation(once)


def without_empty(expression: PathExpression) -> PathExpression:
    """Return an expression of the same words but for the empty one, if dropping outer stars and `?` is enough to lose that.

    What is left nullable is a concatenation of nullable parts, and has to be matched without its empty word.
    """
    match expression:
        case Symbol() | Concatenation():
            return expression
        case Alternation(options):
            return make_alternation(map(without_empty, options))
        case Star(operand) | Plus(operand):
            inner = without_empty(operand)
            return inner if isinstance(inner, Plus) else Plus(inner)
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return without_empty(operand)


def from_start(expression: PathExpression, mark: Callable[[Symbol], Symbol]) -> PathExpression:
    """Return the expression of its words but the empty one, each with its first symbol as `mark` gives it.

    Complexity: linear in the expression, but quadratic in the parts of a concatenation that may be empty.
    """
    match expression:
        case Symbol():
            return mark(expression)
        case Concatenation(parts):
            options: list[PathExpression] = []
            for place, part in enumerate(parts):
                options.append(make_concatenation((from_start(part, mark), *parts[place + 1 :])))
                if not is_nullable(part):
                    break
            return make_alternation(options)
        case Alternation(several):
            return make_alternation(from_start(option, mark) for option in several)
        case Star(operand) | Plus(operand):
            return make_concatenation((from_start(operand, mark), Star(operand)))
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return from_start(operand, mark)


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


def write_expression(expression: PathExpression) -> str:
    """Write the expression as G-CORE does between its slashes: `:a :b* | ^:c`."""
    match expression:
        case Symbol(predicate, is_inverse):
            return f"{'^' if is_inverse else ''}:{predicate}"
        case Concatenation(parts):
            return " ".join(_group(part) if isinstance(part, Alternation) else write_expression(part) for part in parts)
        case Alternation(options):
            return " | ".join(map(write_expression, options))
        case Star(operand):
            return f"{_group(operand)}*"
        case Plus(operand):
            return f"{_group(operand)}+"
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return f"{_group(operand)}?"


def _group(expression: PathExpression) -> str:
    return write_expression(expression) if isinstance(expression, Symbol) else f"({write_expression(expression)})"
