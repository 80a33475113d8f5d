"""Plans follow a stream that changes, and the matches stay those of the oracle."""

from __future__ import annotations

from random import Random

import graphtide
from graphtide import MatchOptions, Session
from graphtide.adaptation import AdaptationPolicy
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.statistics import DriftPolicy
from graphtide_core.time import EventTime
from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle

CHAIN = "PATTERN p MATCH (v)-[x:a]->(w)-[y:b]->(s)-[z:c]->(t) ON s WINDOW 60"
EAGER = AdaptationPolicy(every=400, sample=300, drift=DriftPolicy(fewest_edges=100))


def swapping_stream(records: int, seed: int = 3) -> list[Edge]:
    """Labels a, b, c with frequencies 40 : 10 : 1, and 1 : 10 : 40 from the middle on."""
    rng = Random(seed)
    return [
        Edge(
            EdgeId(f"e{number}"),
            EventTime(number),
            VertexId(f"v{rng.randrange(10)}"),
            VertexId(f"v{rng.randrange(10)}"),
            rng.choices("abc", (40, 10, 1) if number < records // 2 else (1, 10, 40))[0],
        )
        for number in range(records)
    ]


def test_plans_follow_a_swap_of_label_frequencies_and_no_match_changes() -> None:
    edges = swapping_stream(4_000)
    (pattern,) = graphtide.parse(CHAIN)
    session = Session(pattern, MatchOptions(adaptation=EAGER))
    found = [match for start in range(0, len(edges), 100) for match in session.push(edges[start : start + 100])]
    found += session.finish()
    expected = sorted(SubgraphOracle(pattern).run(edges))
    assert len(expected) > 20
    assert keys(found) == expected
    assert session.replans, "the stream changed, so must the plan"
    assert all(1_900 < replan.records < 3_500 for replan in session.replans)


def test_plans_stay_where_the_stream_does() -> None:
    edges = swapping_stream(4_000)[:2_000]
    session = Session(CHAIN, MatchOptions(adaptation=EAGER))
    for start in range(0, len(edges), 100):
        session.push(edges[start : start + 100])
    assert session.replans == []


def test_plans_stay_if_told_to() -> None:
    session = Session(CHAIN, MatchOptions(adapt=False, adaptation=EAGER))
    edges = swapping_stream(4_000)
    for start in range(0, len(edges), 100):
        session.push(edges[start : start + 100])
    assert session.replans == []
