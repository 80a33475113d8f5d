"""Patterns that are equal but for their names share an engine, and each finds what it would find alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import PatternName
from graphtide_core.pattern import renamed_pattern
from graphtide_native.spec import Limits
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.dense_streams import dense_edges, dense_patterns
from graphtide_testing.members import Alone, Members, make_chain
from graphtide_testing.planner_options import some_plan
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Plan

CHAIN = "PATTERN chain MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 1000"


def like(pattern: SubgraphPattern, number: int) -> SubgraphPattern:
    """Return the same pattern under other names, which come in another order."""
    parts = [vertex.name for vertex in pattern.vertices] + [edge.name for edge in pattern.edges]
    names = {name: f"{'zyx'[place % 3]}{number}{name}" for place, name in enumerate(parts)}
    return replace(renamed_pattern(pattern, names), name=PatternName(f"{pattern.name}{number}"), version=number + 1)


def chain(number: int = 0, engine: str = "timing") -> Plan:
    (pattern,) = parse_subgraphs(CHAIN)
    return plan(like(pattern, number), engine)


@pytest.mark.parametrize("deletions", [True, False])
@given(seed=st.integers(0, 2**32))
def test_patterns_that_come_and_go_find_what_each_would_find_alone(deletions: bool, seed: int) -> None:
    rng = Random(seed)
    edges = dense_edges(rng, 50, deletions=deletions)
    some = rng.sample(dense_patterns(), 2)
    plans = {pattern.name: [some_plan(pattern, rng), some_plan(pattern, rng)] for pattern in some}
    waiting = [(pattern.name, like(pattern, number)) for pattern in some for number in range(4)]
    rng.shuffle(waiting)

    def planned(of: PatternName, pattern: SubgraphPattern) -> Plan:
        return replace(rng.choice(plans[of]), pattern=pattern)

    begun = [waiting.pop() for _ in range(rng.randint(1, 5))]
    running = {number: (of, pattern, Alone(pattern, (), ())) for number, (of, pattern) in enumerate(begun)}
    members = Members(edges, *(planned(of, pattern) for of, pattern in begun), deletions=deletions)
    for taken, edge in enumerate(edges):
        if waiting and rng.random() < 0.4:
            of, pattern = waiting.pop(rng.randrange(len(waiting)))
            start = rng.randint(max(0, taken - 10), taken)
            number = members.add(planned(of, pattern), start)
            assert number not in running
            running[number] = (of, pattern, Alone(pattern, edges[:start], edges[start:taken]))
        if running and rng.random() < 0.2:
            number = rng.choice(list(running))
            members.matcher.remove(number)
            waiting.append(running.pop(number)[:2])
        if running and rng.random() < 0.3:
            number = rng.choice(list(running))
            assert members.matcher.replan(number, planned(*running[number][:2]))
        assert members.push() == sorted(found for _, _, alone in running.values() for found in alone.push(edge))
        names = [running[number][1].name for number in sorted(running)]
        assert [report.name for report in members.matcher.patterns()] == names


@pytest.mark.parametrize("pattern", dense_patterns("simulation"), ids=lambda pattern: pattern.name)
def test_what_a_pattern_consumed_or_emitted_is_its_own(pattern: SubgraphPattern) -> None:
    edges = dense_edges(Random(7), 60, deletions=False)
    found = []
    for count in (1, 3):
        members = Members(edges, *(plan(like(pattern, number), "auto") for number in range(count)))
        found.append(Counter(each.detected_at for _ in edges for each in members.push()))
    assert found[0]
    assert found[1] == Counter({at: 3 * matches for at, matches in found[0].items()})


@pytest.mark.parametrize("engine", FAMILIES["isomorphism"].names)
def test_many_hold_what_one_holds(engine: str) -> None:
    edges = make_chain(12)
    one, many = Members(edges, chain(0, engine)), Members(edges, *(chain(number, engine) for number in range(50)))
    found = one.push(10), many.push(10)
    assert [len(each) for each in found] == [9, 450]
    alone = one.matcher.totals()
    together = many.matcher.totals()
    assert (together.matches, together.peak_partial_matches) == (450, alone.peak_partial_matches)
    (report,) = one.matcher.patterns()
    assert {replace(each, name="chain0") for each in many.matcher.patterns()} == {report}
    assert many.add(chain(50, engine), 10) == 50
    assert many.matcher.totals().peak_partial_matches == alone.peak_partial_matches
    assert len(many.push()) == 51


def test_one_that_joins_counts_from_then_on() -> None:
    members = Members(make_chain(9), chain(0))
    members.push(4)
    members.add(chain(1), 4)
    members.push(2)
    first, second = members.matcher.patterns()
    assert (first.matches, first.hits, first.candidates) == (5, (6, 6), 12)
    assert (second.matches, second.hits, second.candidates) == (2, (2, 2), 4)
    assert set(members.matcher.changed(9)) == {0, 1}


@pytest.mark.parametrize("leaves", [0, 1, 2])
def test_one_that_goes_leaves_the_others(leaves: int) -> None:
    members = Members(make_chain(12), *(chain(number) for number in range(3)))
    members.push(5)
    members.matcher.remove(leaves)
    assert len(members.push(2)) == 4
    assert members.add(chain(7), 7) == leaves
    assert len(members.push()) == 3
    for number in range(3):
        members.matcher.remove(number)
    assert members.push(2) == []


def test_others_follow_the_first_to_another_plan() -> None:
    members = Members(make_chain(12), *(chain(number) for number in range(3)))
    members.push(5)
    for number in range(3):
        assert members.matcher.replan(number, chain(number, "sj-tree"))
    assert len(members.push()) == 3
    reports = members.matcher.patterns()
    assert {report.matches for report in reports} == {5}
    assert {item.name for report in reports for item in report.items} == {"P1"}, "all are matched along the tree"
    members.matcher.remove(0)
    assert len(members.push()) == 2


def test_other_limits_need_another_unit_and_so_does_a_unit_that_has_shed_state() -> None:
    shed = Limits(partial_matches=3, policy="shed")
    members = Members(make_chain(12), chain(0), limits=shed)
    members.push(2)
    members.add(chain(1), 2)
    members.push(6)
    assert members.matcher.shed() == [0]
    again = members.add(chain(2), 8, shed)
    # It gave up as it came: what it says of itself is its own.
    assert members.matcher.shed() == [0, again]
    members.push()
    first, whole, last = (report.matches for report in members.matcher.patterns())
    assert (whole, last) == (7, 0)
    assert first < 7


def test_what_came_incomplete_says_so_beside_one_that_is_whole() -> None:
    members = Members(make_chain(9), chain(0), chain(1))
    members.matcher.mark_shed(1)
    assert members.matcher.shed() == [1]
    members.push(3)
    members.matcher.replan(1, chain(1, "filtering"))
    members.matcher.replan(0, chain(0, "filtering"))
    assert members.matcher.shed() == [1]
