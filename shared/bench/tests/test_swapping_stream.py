"""A stream whose label frequencies swap makes plans change, and the matches stay those of the oracle."""

from __future__ import annotations

from graphtide import MatchOptions, Session
from graphtide.adaptation import AdaptationPolicy
from graphtide_bench.workloads.stream import StreamRecipe, generate
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.statistics import DriftPolicy
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle

EAGER = AdaptationPolicy(every=400, glance=150, sample=300, drift=DriftPolicy(fewest_edges=100))


def test_plans_follow_the_swap_and_no_match_changes() -> None:
    recipe = StreamRecipe(
        seed=5,
        edges=4_000,
        vertices=40,
        vertex_labels=1,
        edge_labels=4,
        alpha=0.5,
        closing=0.1,
        label_skew=2.0,
        swap_after=2_000,
    )
    edges = [
        Edge(EdgeId(f"e{number}"), EventTime(edge.ts), VertexId(str(edge.source)), VertexId(str(edge.target)), f"E{edge.label}")
        for number, edge in enumerate(generate(recipe))
    ]
    (pattern,) = parse_subgraphs("PATTERN p MATCH (u)-[x:E0]->(v)-[y:E0]->(w)-[z:E3]->(t) ON s WINDOW 60")
    session = Session(pattern, MatchOptions(adaptation=EAGER))
    found = [match for start in range(0, len(edges), 100) for match in session.push(edges[start : start + 100])]
    found += session.finish()
    expected = sorted(SubgraphOracle(pattern).run(edges))
    assert len(expected) > 20
    assert keys(found) == expected
    assert session.replans
