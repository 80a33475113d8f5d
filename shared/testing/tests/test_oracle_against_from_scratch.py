"""The oracle and its second opinion agree; networkx agrees with both where it has an opinion."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import networkx
import pytest
from graphtide_testing.oracles.from_scratch import from_scratch
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns, random_pattern, random_stream
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import MultiDiGraphMatcher

if TYPE_CHECKING:
    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern

TINY = StreamShape(max_records=8, vertices=3)
SMALL = PatternShape(max_edges=3, stream=TINY, deduplication=False)
COUNTED = PatternShape(max_edges=3, max_counted=5, stream=TINY, deduplication=False)
"""Windows of 1 to 5 edges."""


@given(st.one_of(patterns(SMALL), patterns(COUNTED)), edge_streams(TINY))
@settings(deadline=None)
def test_the_oracle_reports_what_all_permutations_of_the_stream_give(
    pattern: SubgraphPattern, stream: tuple[Edge, ...]
) -> None:
    assert SubgraphOracle(pattern).run(stream) == from_scratch(pattern, stream)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [SMALL, COUNTED], ids=["time", "edges"])
def test_the_oracle_agrees_over_long_loops_and_finds_plenty(seed: int, shape: PatternShape) -> None:
    rng = Random(seed)
    kinds = {"match": 0, "retract": 0}
    for _ in range(400):
        pattern, stream = random_pattern(rng, shape), random_stream(rng, TINY)
        found = SubgraphOracle(pattern).run(stream)
        assert found == from_scratch(pattern, stream)
        for one in found:
            kinds[one.kind] += 1
    assert kinds["match"] > 100
    assert kinds["retract"] > 0


def test_networkx_finds_the_same_vertex_mappings_in_a_plain_graph() -> None:
    stream_shape = StreamShape(
        max_records=10, labels=("x",), gaps=(0,), multi_edges=False, duplicates=False, deletions=False, attributes=False
    )
    pattern_shape = PatternShape(
        max_edges=4, stream=stream_shape, parallel_edges=False, order=False, edge_isomorphism=False, vertex_labels=False,
        keys=False, predicates=False, max_window=1, deduplication=False,
    )  # fmt: skip
    rng = Random(7)
    matched = 0
    for _ in range(300):
        pattern = random_pattern(rng, pattern_shape)
        stream = random_stream(rng, stream_shape)
        data = networkx.MultiDiGraph((edge.source, edge.target) for edge in stream)
        query = networkx.MultiDiGraph((edge.source, edge.target) for edge in pattern.edges)
        matcher = MultiDiGraphMatcher(data, query)
        expected = {
            tuple(sorted((name, vertex) for vertex, name in mapping.items()))
            for mapping in matcher.subgraph_monomorphisms_iter()
        }
        found = SubgraphOracle(pattern).run(stream)
        assert {one.vertices for one in found} == expected
        matched += len(found)
    assert matched > 100
