"""Automata and laws of path expressions, against all words of up to five symbols."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

from graphtide_core.path_expression import (
    Alternation,
    Concatenation,
    Maybe,
    PathExpression,
    Plus,
    Star,
    Symbol,
    is_nullable,
    reversed_expression,
)
from graphtide_query.families.algebra import automaton
from graphtide_query.families.algebra.automaton import automaton_of
from graphtide_query.families.algebra.regular_laws import never_empty, simplify

if TYPE_CHECKING:
    import pytest
    from graphtide_core.plans.algebra import Automaton

SYMBOLS = (Symbol("a"), Symbol("b"), Symbol("a", is_inverse=True))
NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS)}
WORDS = [word for length in range(6) for word in product(SYMBOLS, repeat=length)]
Words = frozenset[tuple[Symbol, ...]]


def words_of(expression: PathExpression) -> Words:
    """Return the words of up to five symbols, from the definition."""
    match expression:
        case Symbol():
            return frozenset({(expression,)})
        case Alternation(options):
            return frozenset().union(*map(words_of, options))
        case Concatenation(parts):
            found: Words = frozenset({()})
            for part in parts:
                found = join(found, words_of(part))
            return found
        case Maybe(operand):
            return words_of(operand) | {()}
        case Star(operand) | Plus(operand):
            once = words_of(operand)
            found = once
            for _ in range(5):
                found |= join(found, once)
            return found | {()} if isinstance(expression, Star) else found


def join(left: Words, right: Words) -> Words:
    return frozenset(one + other for one in left for other in right if len(one) + len(other) <= 5)


def grow(rng: random.Random, size: int) -> PathExpression:
    if size == 1:
        found: PathExpression = rng.choice(SYMBOLS)
    else:
        left = rng.randint(1, size - 1)
        parts = (grow(rng, left), grow(rng, size - left))
        found = rng.choice((Concatenation, Alternation))(parts)
    wrap = rng.choice((None, None, None, Star, Plus, Maybe))
    return found if wrap is None else wrap(found)


def expressions(count: int = 400) -> list[PathExpression]:
    rng = random.Random(15)
    return [grow(rng, rng.randint(1, 6)) for _ in range(count)]


def accept(expression: PathExpression) -> Words:
    made = automaton_of(expression, NUMBERS)
    found = set()
    for word in WORDS:
        states = {0}
        for symbol in word:
            states = {to for at, by, to in made.transitions if at in states and by == NUMBERS[symbol]}
        if states & set(made.accepting):
            found.add(word)
    return frozenset(found)


def test_an_automaton_accepts_the_words_but_the_empty_one() -> None:
    for expression in expressions():
        assert accept(expression) == words_of(expression) - {()}, expression


def test_no_transition_leads_to_the_start_and_it_does_not_accept() -> None:
    for expression in expressions():
        made = automaton_of(expression, NUMBERS)
        assert all(to != 0 for _, _, to in made.transitions)
        assert 0 not in made.accepting
        assert {state for state, _, _ in made.transitions} | set(made.accepting) == set(range(made.states))


def test_automata_of_equal_words_are_equal() -> None:
    made: dict[Automaton, Words] = {}
    for expression in expressions():
        key = automaton_of(expression, NUMBERS)
        # Longer words could differ, but where the automata are equal they do not.
        assert made.setdefault(key, words_of(expression) - {()}) == words_of(expression) - {()}
    a, b = SYMBOLS[:2]
    one = Alternation((a, Concatenation((a, Plus(b)))))
    assert automaton_of(one, NUMBERS) == automaton_of(Concatenation((a, Star(b))), NUMBERS)


def test_an_automaton_that_would_have_too_many_states_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton, "MOST_STATES", 3)
    for expression in expressions(100):
        assert accept(expression) == words_of(expression) - {()}, expression


def test_laws_keep_the_words() -> None:
    for expression in expressions(2_000):
        found = simplify(expression)
        assert words_of(found) == words_of(expression), (expression, found)
        assert automaton_of(found, NUMBERS) == automaton_of(expression, NUMBERS), (expression, found)
        assert is_nullable(found) == is_nullable(expression)
        assert simplify(found) == found, (expression, found)


def test_what_is_never_empty_has_the_other_words() -> None:
    for expression in expressions():
        found = never_empty(expression)
        assert words_of(found) == words_of(expression) - {()}, (expression, found)


def test_a_reversed_expression_spells_words_backwards() -> None:
    for expression in expressions(100):
        found = words_of(reversed_expression(expression))
        turned = {
            tuple(Symbol(each.predicate, not each.is_inverse) for each in reversed(word)) for word in words_of(expression)
        }
        assert found == turned
