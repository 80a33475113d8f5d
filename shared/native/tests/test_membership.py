"""Patterns that come and go while the stream runs: each finds what it would find alone, and nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.time import EventTime
from graphtide_native.matcher import Matcher
from graphtide_native.spec import Limits, columns
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.dense_streams import dense_edges, dense_patterns
from graphtide_testing.members import Alone, Members, make_chain
from graphtide_testing.planner_options import some_plan
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.plans import Plan


@pytest.mark.parametrize("deletions", [True, False])
@given(seed=st.integers(0, 2**32))
def test_each_pattern_finds_what_it_would_find_alone(deletions: bool, seed: int) -> None:
    rng = Random(seed)
    edges = dense_edges(rng, 60, deletions=deletions)
    waiting = dense_patterns()
    rng.shuffle(waiting)
    running = {}
    members = Members(edges, some_plan(waiting[0], rng), deletions=deletions)
    running[0] = (waiting[0], Alone(waiting.pop(0), (), ()))
    for taken, edge in enumerate(edges):
        if waiting and rng.random() < 0.3:
            pattern = waiting.pop(rng.randrange(len(waiting)))
            start = rng.randint(max(0, taken - 10), taken)
            known = rng.choice(("nm", columns([pattern])))
            number = members.add(some_plan(pattern, rng), start, known=known)
            assert number not in running
            running[number] = (pattern, Alone(pattern, edges[:start], edges[start:taken]))
        if running and rng.random() < 0.2:
            number = rng.choice(list(running))
            members.matcher.remove(number)
            waiting.append(running.pop(number)[0])
        if running and rng.random() < 0.1:
            number = rng.choice(list(running))
            assert members.matcher.replan(number, some_plan(running[number][0], rng))
        assert members.push() == sorted(found for _, alone in running.values() for found in alone.push(edge))


CHAIN = "PATTERN chain MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 1000"
OTHER = "PATTERN other MATCH (a)-[x:l]->(b)-[y:l]->(c) ORDER x < y ON s WINDOW 1000"


def make_plan(text: str, engine: str = "timing") -> Plan:
    (pattern,) = parse_subgraphs(text)
    return plan(pattern, engine)


def test_a_number_is_given_again_and_counts_begin_anew() -> None:
    members = Members(make_chain(6), make_plan(CHAIN), make_plan(OTHER))
    members.push(3)
    members.matcher.remove(0)
    assert [report.name for report in members.matcher.patterns()] == ["other"]
    assert members.add(make_plan(CHAIN, "filtering"), 3) == 0
    members.push(1)
    chain, _ = members.matcher.patterns()
    assert (chain.name, chain.hits, chain.matches) == ("chain", (1, 1), 1)


def test_an_added_pattern_is_reported_and_no_other() -> None:
    members = Members(make_chain(6), make_plan(OTHER))
    members.matcher.changed(10)
    members.push(3)
    assert not members.matcher.changed(10)
    number = members.add(make_plan(CHAIN), 3)
    (emitted,) = members.matcher.changed(10).items()
    assert (emitted[0], emitted[1].partial_matches) == (number, 3)
    assert not members.matcher.changed(10)
    members.matcher.remove(number)
    assert not members.matcher.changed(10)


@pytest.mark.parametrize("engine", FAMILIES["isomorphism"].names)
def test_what_a_pattern_brought_goes_with_it_and_the_window(engine: str) -> None:
    members = Members(
        (*make_chain(9), *(replace(each, ts=EventTime(5000 + each.ts)) for each in make_chain(9))), make_plan(OTHER)
    )
    members.push(8)
    before = members.matcher.totals().state_bytes
    number = members.add(make_plan(CHAIN, engine), 8)
    assert members.matcher.totals().state_bytes > before
    members.matcher.remove(number)
    members.push(3)
    assert members.matcher.totals().state_bytes == before


@pytest.mark.parametrize("policy", ["pause", "fail"])
def test_a_pattern_that_reaches_its_limit_as_it_comes_is_paused(policy: str) -> None:
    members = Members(make_chain(9), make_plan(OTHER))
    members.push(8)
    number = members.add(make_plan(CHAIN), 8, Limits(partial_matches=3, policy=policy))
    assert members.push() == []
    report = members.matcher.patterns()[number]
    assert (report.paused, report.limit) == (True, "3 partial matches")


def test_a_pattern_that_gives_up_matches_as_it_comes_says_so() -> None:
    members = Members(make_chain(9), make_plan(OTHER))
    members.push(8)
    number = members.add(make_plan(CHAIN), 8, Limits(partial_matches=3, policy="shed"))
    assert members.matcher.shed() == [number]


def test_what_cannot_come_or_go_is_refused() -> None:
    members = Members(make_chain(1), make_plan(OTHER))
    with pytest.raises(ValueError, match="no such pattern"):
        members.matcher.remove(1)
    members.matcher.remove(0)
    with pytest.raises(ValueError, match="no such pattern"):
        members.matcher.remove(0)
    fixed = Matcher([make_plan(OTHER)], members.symbols)
    with pytest.raises(ValueError, match="keeps no edges"):
        fixed.remove(0)
    with pytest.raises(ValueError, match="keeps no edges"):
        fixed.add(make_plan(CHAIN), Limits(), unreported=(), reported=())
