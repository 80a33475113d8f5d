"""Timing orders: closure, cycles, reduction and chains."""

from __future__ import annotations

import itertools

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.order import TimingOrder
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = "abcdefg"
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=14)
ACYCLIC = st.permutations(NAMES).flatmap(
    lambda ranked: st.lists(st.sampled_from(list(itertools.combinations(ranked, 2))), max_size=14)
)
bounded = settings(max_examples=max(100, settings().max_examples))


def lookbacks(pairs: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Close the pairs by joining until nothing is new."""
    closed = set(pairs)
    while True:
        joined = closed | {(a, d) for a, b in closed for c, d in closed if b == c}
        if joined == closed:
            return closed
        closed = joined


@bounded
@given(PAIRS)
def test_pairs_are_closed_or_refused_for_a_cycle_that_is_there(pairs: list[tuple[str, str]]) -> None:
    closed = lookbacks(pairs)
    if not any(a == b for a, b in closed):
        assert TimingOrder.of(pairs).before == closed
        return
    with pytest.raises(InvalidPatternError, match="the order has a cycle") as caught:
        TimingOrder.of(pairs)
    cycle = caught.value.reason.partition(": ")[2].split(" < ")
    assert cycle[0] == cycle[-1]
    assert set(itertools.pairwise(cycle)) <= set(pairs)


@bounded
@given(ACYCLIC)
def test_the_reduction_is_the_least_with_that_closure(pairs: list[tuple[str, str]]) -> None:
    order = TimingOrder.of(pairs)
    reduction = list(order.reduction())
    assert reduction == sorted(reduction)
    assert lookbacks(reduction) == order.before
    for pair in reduction:
        assert lookbacks([each for each in reduction if each != pair]) != order.before


@bounded
@given(ACYCLIC)
def test_chains_state_the_reduction_once(pairs: list[tuple[str, str]]) -> None:
    order = TimingOrder.of(pairs)
    stated = [pair for chain in order.chains() for pair in itertools.pairwise(chain)]
    assert sorted(stated) == list(order.reduction())


@bounded
@given(ACYCLIC)
def test_an_order_is_total_where_every_two_are_ordered(pairs: list[tuple[str, str]]) -> None:
    order = TimingOrder.of(pairs)
    ordered = all(order.precedes(a, b) or order.precedes(b, a) for a, b in itertools.combinations(NAMES, 2))
    assert order.is_total(NAMES) is ordered


def test_a_chain_is_total() -> None:
    order = TimingOrder.of([("a", "b"), ("b", "c")])
    assert order.is_total("cab")
    assert not order.is_total("abcd")
    assert order.precedes("a", "c")
    assert not order.precedes("c", "a")
    assert order.chains() == (("a", "b", "c"),)


def test_the_empty_order() -> None:
    assert TimingOrder.of([]) == TimingOrder()
    assert TimingOrder().chains() == ()


def test_a_name_before_itself_is_a_cycle() -> None:
    with pytest.raises(InvalidPatternError, match="cycle: a < a"):
        TimingOrder.of([("a", "a")])


def test_chains_of_a_forked_order() -> None:
    order = TimingOrder.of([("a", "b"), ("b", "c"), ("b", "d"), ("x", "d"), ("a", "d")])
    assert order.chains() == (("a", "b", "c"), ("b", "d"), ("x", "d"))
