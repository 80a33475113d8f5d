"""Simplify regular expressions by laws that keep all words, including the empty one.

Common prefixes and suffixes of options are factored out, a closure of closures is one closure, and an optional part is optional
once. Expressions that differ in their words never become equal; expressions of equal words mostly do, and their automata always
are.

>>> from graphtide_core.path_expression import Alternation, Concatenation, Plus, Symbol, write_expression
>>> a, b = Symbol("a"), Symbol("b")
>>> write_expression(simplify(Alternation((a, Concatenation((a, Plus(b)))))))
':a :b*'

Reference: Kleene algebra, Kozen, "A completeness theorem for Kleene algebras" (1994).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.path_expression import (
    Alternation,
    Concatenation,
    Maybe,
    Plus,
    Star,
    Symbol,
    from_start,
    is_nullable,
    make_concatenation,
    without_empty,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.path_expression import PathExpression

_MOST_ROUNDS: Final = 8
"""The most rounds; two are nearly always enough."""

_Word = tuple["PathExpression", ...]
"""Parts of a concatenation; none is the empty word."""


def simplify(expression: PathExpression) -> PathExpression:
    """Return an expression of the same words. Complexity: quadratic in the options of each alternation, in few rounds."""
    for _ in range(_MOST_ROUNDS):
        before, expression = expression, _once(expression)
        if before == expression:
            break
    return expression


def _once(expression: PathExpression) -> PathExpression:
    match expression:
        case Symbol():
            return expression
        case Concatenation(parts):
            return _in_a_row(map(_once, parts))
        case Alternation(options):
            return _one_of([_word(_once(option)) for option in options])
        case Star(operand) | Plus(operand):
            return _close(_once(operand), is_star=isinstance(expression, Star))
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return _or_nothing(_once(operand))


def never_empty(expression: PathExpression) -> PathExpression:
    """Return an expression of the same words except the empty one.

    >>> from graphtide_core.path_expression import Concatenation, Star, Symbol, write_expression
    >>> write_expression(never_empty(Concatenation((Star(Symbol("a")), Star(Symbol("b"))))))
    ':a+ :b* | :b+'
    """
    found = without_empty(simplify(expression))
    return simplify(from_start(found, lambda symbol: symbol)) if is_nullable(found) else found


def _word(expression: PathExpression) -> _Word:
    return expression.parts if isinstance(expression, Concatenation) else (expression,)


def _close(operand: PathExpression, *, is_star: bool) -> PathExpression:
    is_star = is_star or is_nullable(operand)
    match operand:
        case Star(inner) | Plus(inner) | Maybe(inner):
            return _close(inner, is_star=is_star)
        case Alternation(options):
            # Any number of any of them: repetitions inside do not matter.
            inner_options = [each.operand if isinstance(each, Star | Plus | Maybe) else each for each in options]
            operand = _one_of([_word(each) for each in inner_options])
            if not isinstance(operand, Alternation):
                return _close(operand, is_star=is_star)
        case _:
            pass
    return Star(operand) if is_star else Plus(operand)


def _or_nothing(operand: PathExpression) -> PathExpression:
    if is_nullable(operand):
        return operand
    return Star(operand.operand) if isinstance(operand, Plus) else Maybe(operand)


def _in_a_row(parts: Iterable[PathExpression]) -> PathExpression:
    """Return a concatenation in which no closure is next to its operand."""
    found: list[PathExpression] = []
    for part in (inner for each in parts for inner in _word(each)):
        merged = _merge(found[-1], part) if found else None
        if merged is None:
            found.append(part)
        else:
            found[-1] = merged
    return make_concatenation(found)


def _merge(left: PathExpression, right: PathExpression) -> PathExpression | None:
    """Return the merged form of two neighbours, if one of them repeats the other."""
    if isinstance(left, Star) and _repeats(left, right):
        return _close(left.operand, is_star=is_nullable(right))
    if isinstance(right, Star) and _repeats(right, left):
        return _close(right.operand, is_star=is_nullable(left))
    return None


def _repeats(star: Star, other: PathExpression) -> bool:
    return other == star.operand or (isinstance(other, Star | Plus) and other.operand == star.operand)


def _one_of(words: list[_Word]) -> PathExpression:
    """Return the alternation of words, with common prefixes and suffixes factored out; () is the empty word."""
    flat: dict[_Word, None] = {}
    for word in words:
        match word:
            case (Alternation(options),):
                flat.update(dict.fromkeys(map(_word, options)))
            case (Maybe(operand),):
                flat.update(
                    dict.fromkeys((*map(_word, operand.options if isinstance(operand, Alternation) else (operand,)), ()))
                )
            case _:
                flat[word] = None
    left, before = list(flat), list[_Word]()
    # After factoring out a suffix, prefixes may agree; each round has fewer options, or nothing changes.
    while left != before:
        before = left
        for is_suffix in (False, True):
            left = _factor_out(left, is_suffix=is_suffix)
    rest = [make_concatenation(word) for word in left if word]
    found = rest[0] if len(rest) == 1 else Alternation(tuple(rest))
    return _or_nothing(found) if () in left else found


def _factor_out(options: list[_Word], *, is_suffix: bool) -> list[_Word]:
    """Return options without common prefixes, or suffixes; options that shared one become one."""
    # Factoring out may make two options equal.
    options = list(dict.fromkeys(_with_empty_inside(options)))
    groups: dict[PathExpression | None, list[_Word]] = {}
    for word in options:
        groups.setdefault((word[-1] if is_suffix else word[0]) if word else None, []).append(word)
    found: list[_Word] = []
    for shared, members in groups.items():
        if shared is None or len(members) == 1:
            found += members
        else:
            rests = [word[:-1] if is_suffix else word[1:] for word in members]
            rest = _one_of(rests)
            found.append(_word(_in_a_row((rest, shared) if is_suffix else (shared, rest))))
    return list(dict.fromkeys(_with_empty_inside(found)))


def _with_empty_inside(options: list[_Word]) -> list[_Word]:
    """Return options without the empty word, if another option has it or can absorb it."""
    if () not in options:
        return options
    rest = [word for word in options if word]
    if any(all(map(is_nullable, word)) for word in rest):
        return rest
    for place, word in enumerate(rest):
        if len(word) == 1 and isinstance(word[0], Plus):
            rest[place] = (Star(word[0].operand),)
            return rest
    return options
