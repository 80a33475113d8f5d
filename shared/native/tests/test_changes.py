"""Changes of the patterns' counts, returned in parts, add up to the counts."""

from __future__ import annotations

from dataclasses import asdict
from random import Random
from typing import TYPE_CHECKING

from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_native.spec import Limits
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.strategies import edge_streams, patterns
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_native.reports import PatternReport

ANY_LIMITS = st.sampled_from([Limits(), Limits(partial_matches=2, policy="shed"), Limits(work=3, policy="pause")])
ALL = 1_000


@given(asked=st.lists(patterns(), min_size=1, max_size=5), edges=edge_streams(), seed=st.integers(0, 2**32), limits=ANY_LIMITS)
def test_changes_returned_in_rotation_add_up_to_the_counts(
    asked: list[SubgraphPattern], edges: tuple[Edge, ...], seed: int, limits: Limits
) -> None:
    rng = Random(seed)
    plans = [plan(pattern, rng.choice(FAMILIES["isomorphism"].names)) for pattern in asked]
    feed = Feed(*plans, adaptive=True, limits=limits)
    emitted: dict[int, PatternReport] = {}
    for edge in edges:
        feed.push(edge)
        if rng.random() < 0.2:
            number = rng.randrange(len(asked))
            feed.matcher.replan(number, plan(asked[number], rng.choice(FAMILIES["isomorphism"].names)))
        if rng.random() < 0.5:
            most = rng.randrange(3)
            changed = feed.matcher.changed(most)
            assert len(changed) <= most
            emitted |= changed
        if rng.random() < 0.3:
            emitted |= feed.matcher.changed(ALL)
            assert feed.matcher.changed(ALL) == {}
            for number, report in enumerate(feed.matcher.patterns()):
                assert emitted.get(number, report) == report
                assert number in emitted or not any(
                    asdict(report)[each] for each in ("candidates", "partial_matches", "state_bytes")
                )


def edge(number: int, label: str) -> Edge:
    return Edge(EdgeId(f"{label}.{number}"), EventTime(number), VertexId(f"s{number}"), VertexId("hub"), label)


def two_edges(name: str, label: str) -> SubgraphPattern:
    (pattern,) = parse_subgraphs(f"PATTERN {name} MATCH (a)-[x:{label}]->(b)-[y:{label}]->(c) ORDER x < y ON s WINDOW 10")
    return pattern


def test_a_pattern_without_records_is_never_returned() -> None:
    feed = Feed(plan(two_edges("quiet", "q"), "timing"), plan(two_edges("busy", "k"), "timing"))
    assert feed.matcher.changed(ALL) == {}
    feed.push(edge(0, "k"))
    assert list(feed.matcher.changed(ALL)) == [1]
    feed.push(edge(1, "other"))
    assert feed.matcher.changed(ALL) == {}


def test_expiry_is_returned_without_records() -> None:
    feed = Feed(plan(two_edges("p", "k"), "timing"))
    feed.push(edge(0, "k"))
    assert feed.matcher.changed(ALL)[0].partial_matches == 1
    feed.push(edge(100, "other"))
    assert feed.matcher.changed(ALL)[0].partial_matches == 0
    assert feed.matcher.changed(ALL) == {}


def test_where_all_change_all_the_time_each_has_its_turn_and_one_at_its_limit_comes_first() -> None:
    feed = Feed(
        *(plan(two_edges(f"p{number}", f"k{number}"), "timing") for number in range(10)),
        limits=Limits(partial_matches=5, policy="pause"),
    )
    rounds: list[list[int]] = []
    for round_ in range(5):
        feed.push(*(edge(round_, f"k{number}") for number in range(10)))
        rounds.append(sorted(feed.matcher.changed(4)))
    assert rounds[:3] == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 8, 9]]
    feed.push(edge(6, "k9"))
    assert list(feed.matcher.changed(1)) == [9]
