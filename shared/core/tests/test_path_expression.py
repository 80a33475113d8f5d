"""Path expressions rewritten spell the words that they should, up to a length; words are enumerated from the definition."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.path_expression import (
    MAX_NESTING,
    Alternation,
    Concatenation,
    Maybe,
    PathExpression,
    Plus,
    Star,
    Symbol,
    from_start,
    is_nested_too_deep,
    is_nullable,
    make_alternation,
    make_concatenation,
    renamed_symbols,
    reversed_expression,
    symbols,
    without_empty,
    write_expression,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

Word = tuple[Symbol, ...]
LONGEST = 4
A, B, C = map(Symbol, "abc")


def short(words: Iterable[Word]) -> frozenset[Word]:
    return frozenset(word for word in words if len(word) <= LONGEST)


def powers(once: frozenset[Word]) -> frozenset[Word]:
    """Return the words of a star."""
    found: frozenset[Word] = frozenset({()})
    for _ in range(LONGEST):
        found |= short(first + second for first, second in product(found, once))
    return found


def words(expression: PathExpression) -> frozenset[Word]:
    """Return the words of an expression that have up to `LONGEST` symbols."""
    match expression:
        case Symbol():
            return frozenset({(expression,)})
        case Concatenation(parts):
            found: frozenset[Word] = frozenset({()})
            for part in parts:
                found = short(first + second for first, second in product(found, words(part)))
            return found
        case Alternation(options):
            return frozenset().union(*map(words, options))
        case Star(operand):
            return powers(words(operand))
        case Plus(operand):
            once = words(operand)
            return short(first + second for first, second in product(once, powers(once)))
        case Maybe(operand):
            return words(operand) | {()}


def grow(rng: Random, size: int) -> PathExpression:
    if size == 1:
        plain: PathExpression = Symbol(rng.choice("abc"), rng.random() < 0.3)
    else:
        left = rng.randrange(1, size)
        parts = (grow(rng, left), grow(rng, size - left))
        plain = Concatenation(parts) if rng.random() < 0.5 else Alternation(parts)
    return rng.choice([plain, plain, Star(plain), Plus(plain), Maybe(plain)])


EXPRESSIONS = [grow(Random(seed), 1 + seed % 5) for seed in range(300)]


def mark(symbol: Symbol) -> Symbol:
    return Symbol(f"{symbol.predicate}!", symbol.is_inverse)


@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_rewriting_keeps_or_changes_the_words_as_it_says(seed: int) -> None:
    for expression in EXPRESSIONS[seed : seed + 10]:
        plain = words(expression)
        assert is_nullable(expression) == (() in plain)
        assert words(without_empty(expression)) - {()} == plain - {()}
        assert words(from_start(expression, mark)) == {(mark(word[0]), *word[1:]) for word in plain if word}
        turned = {tuple(Symbol(each.predicate, not each.is_inverse) for each in reversed(word)) for word in plain}
        assert words(reversed_expression(expression)) == turned
        assert reversed_expression(reversed_expression(expression)) == expression
        assert words(renamed_symbols(expression, {"a": "b"})) == {
            tuple(Symbol("b" if each.predicate == "a" else each.predicate, each.is_inverse) for each in word) for word in plain
        }
        assert {each for word in plain for each in word} <= set(symbols(expression))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Star(A), Plus(A)),
        (Maybe(A), A),
        (Star(Plus(Maybe(A))), Plus(A)),
        (Alternation((Star(A), Maybe(B), A)), Alternation((Plus(A), B, A))),
        (Alternation((Maybe(A), A)), A),
        (Plus(Alternation((Star(A), B))), Plus(Alternation((Plus(A), B)))),
        (Concatenation((Star(A), Star(B))), Concatenation((Star(A), Star(B)))),
    ],
)
def test_outer_stars_lose_the_empty_word(expression: PathExpression, expected: PathExpression) -> None:
    assert without_empty(expression) == expected


def test_parts_of_parts_are_parts() -> None:
    assert make_concatenation([A]) == A
    assert make_concatenation([Concatenation((A, B)), C]) == Concatenation((A, B, C))
    assert make_alternation([Alternation((A, B)), C, A]) == Alternation((A, B, C))
    assert make_alternation([A, A]) == A


def test_nesting_is_counted_without_recursion() -> None:
    expression: PathExpression = A
    for _ in range(MAX_NESTING - 1):
        expression = Star(Concatenation((expression, B))) if isinstance(expression, Symbol) else Star(expression)
    assert is_nested_too_deep(expression)
    deep: PathExpression = A
    for _ in range(MAX_NESTING - 1):
        deep = Star(deep)
    assert not is_nested_too_deep(deep)
    for _ in range(100_000):
        deep = Plus(deep)
    assert is_nested_too_deep(deep)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Symbol("a", is_inverse=True), "^:a"),
        (Concatenation((A, Star(B))), ":a :b*"),
        (Alternation((A, Concatenation((B, C)))), ":a | :b :c"),
        (Concatenation((Alternation((A, B)), C)), "(:a | :b) :c"),
        (Plus(Concatenation((A, B))), "(:a :b)+"),
        (Maybe(Alternation((A, B))), "(:a | :b)?"),
    ],
)
def test_expressions_are_spelled_as_they_are_written(expression: PathExpression, text: str) -> None:
    assert write_expression(expression) == text
