"""Searches that many patterns share find for each pattern what it finds alone, after every record."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, PatternName, VertexId
from graphtide_core.time import EventTime
from graphtide_native.spec import Limits
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.members import Alone, Members
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.planner_options import some_plan
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, random_pattern, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Plan

SHARING: Final = ("filtering", "re-search")
"""Engines whose searches are shared where enough query edges are alike."""


NO_DUPLICATES: Final = StreamShape(duplicates=False)
"""How long an id is remembered depends on all patterns of a pass."""


def make_patterns(rng: random.Random, count: int, shape: PatternShape | None = None) -> list[SubgraphPattern]:
    """Return patterns over few labels, so that their query edges are alike."""
    return [replace(random_pattern(rng, shape or PatternShape()), name=PatternName(f"p{number}")) for number in range(count)]


def make_plans(patterns: Iterable[SubgraphPattern], rng: random.Random) -> list[Plan]:
    return [plan(pattern, rng.choice(SHARING)) for pattern in patterns]


@pytest.mark.parametrize("limits", [Limits(), Limits(work=1 << 40)], ids=["unbounded", "bounded"])
@given(seed=st.integers(0, 2**32))
def test_each_pattern_of_many_finds_what_the_oracle_finds(limits: Limits, seed: int) -> None:
    rng = random.Random(seed)
    patterns = make_patterns(rng, rng.randint(8, 24))
    edges = random_stream(rng, NO_DUPLICATES)
    feed = Feed(*make_plans(patterns, rng), limits=limits)
    oracles = [SubgraphOracle(pattern) for pattern in patterns]
    for edge in edges:
        assert feed.push(edge) == sorted(found for oracle in oracles for found in oracle.push(edge))


@pytest.mark.parametrize("engine", SHARING)
@pytest.mark.parametrize("first", ["k", "m", "n"])
def test_a_pattern_that_was_there_before_the_others_finds_what_its_own_edges_complete(engine: str, first: str) -> None:
    """Its lists are attached anew, but its engine knows them by their numbers."""
    path = "PATTERN path MATCH (a)-[x:k]->(b)-[y:m]->(c)-[z:n]->(d) ON s WINDOW 10"
    others = "\n".join(f"PATTERN p{number} MATCH (a)-[x:k]->(b) ON s WINDOW {20 + number}" for number in range(8))
    feed = Feed(*(plan(pattern, engine) for pattern in parse_subgraphs(f"{path}\n{others}")))
    a, b, c, d = (VertexId(name) for name in "abcd")
    ends = {"k": (a, b), "m": (b, c), "n": (c, d)}
    labels = [label for label in ends if label != first] + [first]
    edges = [Edge(EdgeId(label), EventTime(place), *ends[label], label) for place, label in enumerate(labels)]
    assert [each.edges for each in feed.push(*edges) if len(each.edges) > 1] == [(("x", "k"), ("y", "m"), ("z", "n"))]


@given(seed=st.integers(0, 2**32))
def test_patterns_of_all_engines_and_clocks_find_beside_them_what_the_oracle_finds(seed: int) -> None:
    rng = random.Random(seed)
    patterns = make_patterns(rng, rng.randint(8, 16), PatternShape(max_counted=12))
    edges = random_stream(rng, NO_DUPLICATES)
    feed, oracles = Feed(*(some_plan(each, rng) for each in patterns)), [SubgraphOracle(each) for each in patterns]
    for edge in edges:
        assert feed.push(edge) == sorted(found for oracle in oracles for found in oracle.push(edge))


def test_dense_streams() -> None:
    """Many matches: few vertices, few labels, long streams, so that trees are made anew as their lists grow."""
    total = 0
    for seed in seeds(12):
        rng = random.Random(seed)
        patterns = make_patterns(rng, 16, PatternShape(max_edges=4))
        edges = random_stream(rng, StreamShape(deletions=False, duplicates=False))
        feed, oracles = Feed(*make_plans(patterns, rng), deletions=False), [SubgraphOracle(each) for each in patterns]
        for edge in edges:
            expected = sorted(found for oracle in oracles for found in oracle.push(edge))
            total += len(expected)
            assert feed.push(edge) == expected, f"seed {seed}"
    assert total > 200, "the cases must have matches"


@pytest.mark.parametrize("deletions", [True, False])
@given(seed=st.integers(0, 2**32))
def test_patterns_come_and_go_and_change_their_plans(deletions: bool, seed: int) -> None:
    rng = random.Random(seed)
    drawn = random_stream(rng, StreamShape(deletions=deletions, duplicates=False))
    # `Members` decodes these attributes.
    edges = tuple(
        replace(edge, attributes={name: edge.attributes[name] for name in edge.attributes if name in "nm"}) for edge in drawn
    )
    waiting = make_patterns(rng, 30)
    begun, running = waiting[:12], {}
    members = Members(edges, *make_plans(begun, rng), deletions=deletions)
    running = {number: (pattern, Alone(pattern, (), ())) for number, pattern in enumerate(begun)}
    waiting = waiting[12:]
    for taken, edge in enumerate(edges):
        if waiting and rng.random() < 0.3:
            pattern = waiting.pop()
            start = rng.randint(max(0, taken - 10), taken)
            number = members.add(plan(pattern, rng.choice(SHARING)), start)
            running[number] = (pattern, Alone(pattern, edges[:start], edges[start:taken]))
        if running and rng.random() < 0.2:
            number = rng.choice(list(running))
            members.matcher.remove(number)
            waiting.insert(0, running.pop(number)[0])
        if running and rng.random() < 0.2:
            number = rng.choice(list(running))
            assert members.matcher.replan(number, some_plan(running[number][0], rng))
        assert members.push() == sorted(found for _, alone in running.values() for found in alone.push(edge))


def make_stars(count: int, where: str = "") -> list[SubgraphPattern]:
    """Return stars of three edges, alike but for their windows."""
    star = f"MATCH (h)-[x]->(a), (h)-[y]->(b), (h)-[z]->(c) {where} ON s"
    return list(parse_subgraphs("\n".join(f"PATTERN p{number} {star} WINDOW {1000 + number}" for number in range(count))))


def make_hub(count: int) -> list[Edge]:
    """Return edges out of one vertex."""
    hub = VertexId("h")
    return [Edge(EdgeId(f"e{place}"), EventTime(place), hub, VertexId(f"v{place}"), "k") for place in range(count)]


def count_one_by_one(members: Members) -> list[int]:
    """Return how many matches each edge completes; they are too many to look at."""
    batches = (members.decoded(place, place + 1) for place in range(len(members.edges)))
    return [sum(len(matches) for matches in members.matcher.push(batch)) for batch in batches]


def test_a_search_that_takes_too_long_is_each_patterns_own() -> None:
    """Nine stars at a hub of 40: 27 x 39 x 38 matches of an edge are more steps than a shared search may take."""
    members = Members(make_hub(40), *(plan(pattern, "filtering") for pattern in make_stars(9)), deletions=False)
    # Three query edges could be the last one.
    assert count_one_by_one(members) == [9 * 3 * place * (place - 1) for place in range(40)]


@pytest.mark.parametrize("policy", ["shed", "pause"])
def test_a_pattern_whose_condition_never_holds_takes_nothing_from_the_others(policy: str) -> None:
    """It leaves the tree, and what it takes is on its own account."""
    costly = (
        "PATTERN costly MATCH (h)-[x]->(a), (h)-[y]->(b), (h)-[z]->(c), (h)-[w]->(d) WHERE a.id = d.id + 'no' ON s WINDOW 900"
    )
    plans = [plan(pattern, "filtering") for pattern in (*make_stars(8), *parse_subgraphs(costly))]
    members = Members(make_hub(24), *plans, limits=Limits(work=100, policy=policy), deletions=False)
    assert count_one_by_one(members) == [8 * 3 * place * (place - 1) for place in range(24)]
    *others, report = members.matcher.patterns()
    assert report.limited > 0
    assert not any(other.limited for other in others)


def test_a_pattern_pays_for_its_work_though_it_shares_searches() -> None:
    """Its account has 4,096 times 20 steps at first, and 20 for each record; a shared search pays for nobody."""
    limits = Limits(work=20, policy="shed")
    chains = "\n".join(
        f"PATTERN p{number} MATCH (h)-[x]->(a), (h)-[y]->(b) WHERE a.id = b.id ON s WINDOW {900 + number}"
        for number in range(8)
    )
    costly = "PATTERN costly MATCH (h)-[x]->(a), (h)-[y]->(b), (h)-[z]->(c) WHERE a.id = c.id + 'no' ON s WINDOW 1000"
    feed = Feed(*(plan(each, "filtering") for each in parse_subgraphs(f"{chains}\n{costly}")), limits=limits, deletions=False)
    for edge in make_hub(300):
        assert not feed.push(edge)
    *others, report = feed.matcher.patterns()
    assert report.limited > 0
    assert report.work >= 4096 * 20
    assert not any(other.limited for other in others)


ALIKE: Final = """
PATTERN chain MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 10
PATTERN longer MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:l]->(d) ON s WINDOW 12
PATTERN fork MATCH (a)-[x:k]->(b), (a)-[y:k]->(c) ON s WINDOW 14
PATTERN forks MATCH (a)-[x:k]->(b), (a)-[y:l]->(c), (a)-[z:k]->(d) ON s WINDOW 16
PATTERN other MATCH (a)-[x:m]->(b)-[y:m]->(c) ON s WINDOW 18
"""
"""Eight query edges are alike."""


def test_a_matcher_says_what_patterns_share() -> None:
    patterns = parse_subgraphs(ALIKE)
    matcher = Feed(*(plan(pattern, "filtering") for pattern in patterns), adaptive=True).matcher
    found = {pattern.name: str(matcher.sharing(number)) for number, pattern in enumerate(patterns)}
    assert found == {
        "chain": "2 of 2 look-ups, with 1 other pattern",
        "longer": "2 of 4 look-ups, with 1 other pattern",
        "fork": "2 of 2 look-ups, with 1 other pattern",
        "forks": "2 of 4 look-ups, with 1 other pattern",
        "other": "None",
    }
    matcher.remove(0)
    assert str(matcher.sharing(1)) == "None", "nobody is left to share with"
    assert str(matcher.sharing(2)) == "2 of 2 look-ups, with 1 other pattern"


def test_patterns_that_are_few_or_store_matches_share_no_search() -> None:
    patterns = parse_subgraphs(ALIKE)
    for plans in ([plan(pattern, "filtering") for pattern in patterns[1:]], [plan(pattern, "timing") for pattern in patterns]):
        matcher = Feed(*plans).matcher
        assert [matcher.sharing(number) for number in range(len(plans))] == [None] * len(plans)
