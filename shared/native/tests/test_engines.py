"""Every engine, storage and number of threads reports what the oracle reports, after every record."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import PatternName
from graphtide_native.spec import Concurrency
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.planner_options import describe, planner_options_of
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns, random_pattern, random_stream
from hypothesis import given

if TYPE_CHECKING:
    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_query.families import PlannerOptions

PLANNER_OPTIONS = [
    planner_options for planner_options in planner_options_of("isomorphism") if planner_options.engine != "sj-tree"
]
"""Those of `sj-tree` are compared in a file of their own, over decompositions that are drawn as well."""
CONCURRENT = [Concurrency(2), Concurrency(3), Concurrency(4, "all")]


@pytest.mark.parametrize("planner_options", PLANNER_OPTIONS, ids=describe)
@given(pattern=patterns(), edges=edge_streams())
def test_reports_what_the_oracle_reports_after_every_record(
    planner_options: PlannerOptions, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    oracle, feed = SubgraphOracle(pattern), Feed(plan(pattern, planner_options))
    for edge in edges:
        assert feed.push(edge) == sorted(oracle.push(edge))


@pytest.mark.parametrize("concurrency", CONCURRENT, ids=str)
@given(pattern=patterns(), edges=edge_streams())
def test_several_threads_report_what_the_oracle_reports(
    concurrency: Concurrency, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    feed = Feed(plan(pattern, "timing"), concurrency=concurrency)
    assert feed.push(*edges) == sorted(SubgraphOracle(pattern).run(edges))


@pytest.mark.parametrize("planner_options", PLANNER_OPTIONS, ids=describe)
def test_dense_streams_without_deletions(planner_options: PlannerOptions) -> None:
    """Many matches: few vertices, few labels, long streams."""
    shape = PatternShape(max_edges=4)
    total = 0
    for seed in seeds(60):
        rng = random.Random(seed)
        pattern = random_pattern(rng, shape)
        edges = random_stream(rng, StreamShape(deletions=False, duplicates=False))
        oracle, feed = SubgraphOracle(pattern), Feed(plan(pattern, planner_options), deletions=False)
        for edge in edges:
            expected = sorted(oracle.push(edge))
            total += len(expected)
            assert feed.push(edge) == expected, f"seed {seed}"
    assert total > 100, "the cases must have matches"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 40_000, 2_000))
def test_long_random_run(first: int) -> None:
    for seed in range(first, first + 2_000):
        rng = random.Random(seed)
        pattern, edges = random_pattern(rng), random_stream(rng)
        oracle = SubgraphOracle(pattern)
        expected = [sorted(oracle.push(edge)) for edge in edges]
        for planner_options in PLANNER_OPTIONS:
            assert Feed(plan(pattern, planner_options)).one_by_one(edges) == expected, (
                f"seed {seed}, {describe(planner_options)}"
            )


@given(pattern=patterns(), edges=edge_streams())
def test_a_batch_of_any_size_gives_the_same_matches(pattern: SubgraphPattern, edges: tuple[Edge, ...]) -> None:
    whole, single = Feed(plan(pattern, "timing")), Feed(plan(pattern, "timing"))
    assert whole.push(*edges) == sorted(found for part in single.one_by_one(edges) for found in part)


@given(first=patterns(), second=patterns(), edges=edge_streams(StreamShape(duplicates=False)))
def test_patterns_in_one_pass_do_not_disturb_each_other(
    first: SubgraphPattern, second: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    named = [replace(pattern, name=PatternName(name)) for pattern, name in ((first, "p"), (second, "q"), (first, "r"))]
    together = Feed(plan(named[0], "timing"), plan(named[1], "re-search"), plan(named[2], "re-search"))
    oracles = [SubgraphOracle(pattern) for pattern in named]
    for edge in edges:
        assert together.push(edge) == sorted(found for oracle in oracles for found in oracle.push(edge))
