"""Every engine of dual simulation reports what the oracle reports, after every record."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import match_id
from graphtide_core.pattern import OF_SIMULATION, Report
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.components import by_text, make_expected, read_report
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.simulation import SimulationOracle
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns, random_pattern, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_testing.components import Emitted

ENGINES = FAMILIES["simulation"].names


def check(pattern: SubgraphPattern, edges: tuple[Edge, ...], engine: str) -> int:
    """Compare after each record; return the number of reports."""
    oracle, feed = SimulationOracle(pattern), Feed(plan(pattern, engine))
    count = 0
    for edge in edges:
        emitted = [make_expected(each) for each in oracle.push(edge)]
        assert by_text([read_report(each) for each in feed.push(edge)]) == by_text(emitted), engine
        count += len(emitted)
    assert by_text([read_report(each) for each in feed.finish()]) == by_text([make_expected(each) for each in oracle.finish()])
    return count


@pytest.mark.parametrize("engine", ENGINES)
@given(
    pattern=st.sampled_from(OF_SIMULATION).flatmap(lambda report: patterns(PatternShape(report=report))), edges=edge_streams()
)
def test_reports_what_the_oracle_reports_after_every_record(
    engine: str, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    check(pattern, edges, engine)


@pytest.mark.parametrize("report", OF_SIMULATION)
def test_many_random_streams(report: Report) -> None:
    emitted = dict.fromkeys(ENGINES, 0)
    for seed in seeds(50):
        rng = random.Random(seed)
        pattern, edges = random_pattern(rng, PatternShape(max_edges=4, report=report)), random_stream(rng, StreamShape())
        for engine in ENGINES:
            emitted[engine] += check(pattern, edges, engine)
    assert min(emitted.values()) > 50, "the cases must have matches"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_edge_of_the_query_from_a_vertex_to_itself_has_two_ends_in_the_data(engine: str) -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (q)-[e]->(q) WHERE e.src <= e.dst UNDER DUAL SIMULATION ON s WINDOW 12")
    there, back, loop = (
        Edge(EdgeId(name), EventTime(ts), VertexId(name[0]), VertexId(name[1]), "k")
        for ts, name in enumerate(("ab", "ba", "aa"))
    )
    assert check(pattern, (there, back, loop), engine) == 1


@given(
    pattern=st.sampled_from(OF_SIMULATION).flatmap(lambda report: patterns(PatternShape(report=report))),
    edges=edge_streams(),
    seed=st.integers(0, 2**32),
)
def test_changing_the_engine_between_any_two_records_changes_nothing(
    pattern: SubgraphPattern, edges: tuple[Edge, ...], seed: int
) -> None:
    compare_replanned(pattern, edges, random.Random(seed))


@pytest.mark.parametrize("report", OF_SIMULATION)
def test_many_changes_of_the_engine(report: Report) -> None:
    emitted = 0
    for seed in seeds(50):
        rng = random.Random(seed)
        pattern = random_pattern(rng, PatternShape(max_edges=3, report=report))
        emitted += compare_replanned(pattern, random_stream(rng, StreamShape()), rng)
    assert emitted > 50, "the cases must have matches"


def compare_replanned(pattern: SubgraphPattern, edges: tuple[Edge, ...], rng: random.Random) -> int:
    """Compare after each record, between changes of the plan; return the number of reports."""
    oracle, feed = SimulationOracle(pattern), Feed(plan(pattern, rng.choice(ENGINES)), adaptive=True)
    count = 0
    for edge in edges:
        if rng.random() < 0.3:
            assert feed.matcher.replan(0, plan(pattern, rng.choice(ENGINES)))
        emitted = [make_expected(each) for each in oracle.push(edge)]
        assert by_text([read_report(each) for each in feed.push(edge)]) == by_text(emitted)
        count += len(emitted)
    return count


@pytest.mark.parametrize("report", OF_SIMULATION)
def test_changes_by_time_are_reported_once_it_has_passed_and_are_the_same(report: Report) -> None:
    early = 0
    for seed in seeds(50):
        rng = random.Random(seed)
        pattern, edges = random_pattern(rng, PatternShape(max_edges=3, report=report)), random_stream(rng, StreamShape())
        oracle, live = SimulationOracle(pattern), Feed(plan(pattern, rng.choice(ENGINES)), adaptive=True)
        emitted: list[Emitted] = []
        for edge, following in zip(edges, [*edges[1:], edges[-1]], strict=True):
            emitted += map(read_report, live.push(edge))
            passed = [] if rng.random() < 0.3 else live.pass_time(rng.randint(edge.ts, following.ts))
            early += len(passed)
            emitted += map(read_report, passed)
            if rng.random() < 0.2:
                assert live.matcher.replan(0, plan(pattern, rng.choice(ENGINES)))
        emitted += map(read_report, live.finish())
        known = [found for edge in edges for found in oracle.push(edge)] + oracle.finish()
        assert by_text(emitted) == by_text([make_expected(each) for each in known])
    assert (early > 0) == (report is Report.CHANGES)


def test_a_component_of_very_many_edges_is_reported_in_part_and_its_identity_covers_all() -> None:
    (pattern,) = parse_subgraphs("PATTERN fan MATCH (a)-[e:x]->(b), (a)-[f:y]->(c) UNDER DUAL SIMULATION ON s WINDOW 1000000")
    many = [
        Edge(EdgeId(f"e{number}"), EventTime(number), VertexId("hub"), VertexId(f"v{number}"), "x") for number in range(12_000)
    ]
    last = Edge(EdgeId("last"), EventTime(12_000), VertexId("hub"), VertexId("end"), "y")
    feed = Feed(plan(pattern, "ddst-coloring"))
    assert feed.push(*many) == []
    (record,) = (msgspec.json.decode(line) for line in feed.lines(last).splitlines())
    assert record["truncated"]
    assert record["edges"] == {"e": [f"e{number}" for number in range(10_000)], "f": []}
    assert record["vertices"] == {"a": ["hub"], "b": [f"v{number}" for number in range(10_000)], "c": []}
    assert record["counts"] == {"edges": {"e": 12_000, "f": 1}, "vertices": {"a": 1, "b": 12_000, "c": 1}}
    pairs = [*(("e", str(edge.id)) for edge in many), ("f", "last")]
    assert record["match_id"] == match_id("fan", 1, pairs)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 11_000, 1_000))
@pytest.mark.parametrize("report", OF_SIMULATION)
def test_long_random_run(first: int, report: Report) -> None:
    for seed in range(first, first + 1_000):
        rng = random.Random(seed)
        pattern, edges = random_pattern(rng, PatternShape(report=report)), random_stream(rng)
        check(pattern, edges, ENGINES[seed % len(ENGINES)])
