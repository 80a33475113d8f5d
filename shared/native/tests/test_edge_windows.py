"""Windows that count edges: every engine reports what the oracle reports after every record, beside windows of time, too."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, PatternName, VertexId
from graphtide_core.pattern import OF_SIMULATION
from graphtide_core.time import EventTime, TimeUnit
from graphtide_core.window import longest
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_native.spec import Concurrency, Limits
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.simulation import SimulationOracle
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.planner_options import every_plan
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns, random_pattern, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import Report, SubgraphPattern
    from graphtide_core.plans import Plan
    from graphtide_testing.found import Found
    from graphtide_testing.oracles.simulation import Component

TINY, WIDE = PatternShape(max_counted=3), PatternShape(max_counted=16)
COUNTED = st.one_of(patterns(TINY), patterns(WIDE))
"""Windows of 1 to 3 edges, and of up to 16."""
TIES = StreamShape(gaps=(0,), duplicates=False)
"""All records at one time."""
SEEDS = st.integers(0, 2**32)


def describe(found: Found) -> tuple[object, ...]:
    return found.kind, found.detected_at, sorted(set(found.edges)), found.component, found.former


def component(emitted: Component) -> tuple[object, ...]:
    return emitted.kind.value, emitted.detected_at, sorted(emitted.pairs), emitted.component or "", emitted.former


def list_expected(oracle: SubgraphOracle | SimulationOracle, edge: Edge) -> list[tuple[object, ...]]:
    """Return what an oracle reports for a record, sorted, so that it compares with `list_emitted`."""
    if isinstance(oracle, SubgraphOracle):
        return [repr(found) for found in sorted(oracle.push(edge))]  # type: ignore[misc]
    return sorted(component(each) for each in oracle.push(edge))


def list_emitted(feed: Feed, edge: Edge, *, mapping: bool) -> list[tuple[object, ...]]:
    found = feed.push(edge)
    return [repr(each) for each in found] if mapping else sorted(map(describe, found))  # type: ignore[misc]


def oracle_of(pattern: SubgraphPattern) -> SubgraphOracle | SimulationOracle:
    return SubgraphOracle(pattern) if pattern.morphism.is_mapping else SimulationOracle(pattern)


def check(pattern: SubgraphPattern, edges: Sequence[Edge]) -> int:
    """Compare every engine with the oracle after each record; return the number of reports."""
    oracle = oracle_of(pattern)
    stories = [list_expected(oracle, edge) for edge in edges]
    for planned in every_plan(pattern):
        feed = Feed(planned)
        for edge, story in zip(edges, stories, strict=True):
            assert list_emitted(feed, edge, mapping=pattern.morphism.is_mapping) == story, planned.physical
        assert feed.finish() == [], "no edge comes any more, so none leaves"
    return sum(map(len, stories))


@given(pattern=COUNTED, edges=edge_streams())
def test_every_engine_reports_what_the_oracle_reports_after_every_record(
    pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    check(pattern, edges)


@given(
    pattern=st.sampled_from(OF_SIMULATION).flatmap(lambda report: patterns(PatternShape(max_counted=6, report=report))),
    edges=edge_streams(),
)
def test_every_engine_of_dual_simulation_does_too(pattern: SubgraphPattern, edges: tuple[Edge, ...]) -> None:
    check(pattern, edges)


@pytest.mark.parametrize("stream", [StreamShape(), TIES], ids=["times", "ties"])
@pytest.mark.parametrize("shape", [TINY, WIDE], ids=["tiny", "wide"])
def test_many_random_streams(shape: PatternShape, stream: StreamShape) -> None:
    found = 0
    for seed in seeds(60):
        rng = Random(seed)
        found += check(random_pattern(rng, replace(shape, max_edges=4)), random_stream(rng, stream))
    assert found > 40, "the cases must have matches"


@pytest.mark.parametrize("report", OF_SIMULATION)
def test_many_random_streams_under_dual_simulation(report: Report) -> None:
    found = 0
    for seed in seeds(120):
        rng = Random(seed)
        shape = PatternShape(max_edges=3, max_counted=rng.choice([2, 3, 8]), report=report)
        found += check(random_pattern(rng, shape), random_stream(rng, StreamShape()))
    assert found > 100, "the cases must have matches"


@pytest.mark.parametrize("concurrency", [Concurrency(2), Concurrency(4, "all")], ids=str)
def test_several_threads_report_what_the_oracle_reports(concurrency: Concurrency) -> None:
    for seed in seeds(40):
        rng = Random(seed)
        pattern, edges = random_pattern(rng, WIDE), random_stream(rng, StreamShape())
        feed = Feed(plan(pattern, "timing"), concurrency=concurrency)
        assert feed.push(*edges) == sorted(SubgraphOracle(pattern).run(edges)), seed


@given(pattern=COUNTED, edges=edge_streams(), size=st.integers(1, 9))
def test_a_batch_of_any_size_gives_the_same_matches(pattern: SubgraphPattern, edges: tuple[Edge, ...], size: int) -> None:
    single, several = Feed(plan(pattern, "filtering")), Feed(plan(pattern, "filtering"))
    batches = [edges[start : start + size] for start in range(0, len(edges), size)]
    assert [each for batch in batches for each in several.push(*batch)] == [
        each for batch in batches for each in sorted(found for edge in batch for found in single.push(edge))
    ]


@given(
    shapes=st.lists(st.sampled_from([TINY, WIDE, PatternShape()]), min_size=2, max_size=4),
    edges=edge_streams(StreamShape(duplicates=False)),
    seed=SEEDS,
)
def test_windows_of_edges_and_of_time_in_one_pass_do_not_disturb_each_other(
    shapes: list[PatternShape], edges: tuple[Edge, ...], seed: int
) -> None:
    together(shapes, edges, Random(seed), adaptive=False)


@pytest.mark.parametrize("adaptive", [False, True], ids=["fixed", "replanned"])
def test_many_mixed_passes(adaptive: bool) -> None:
    found = 0
    for seed in seeds(150):
        rng = Random(seed)
        shapes = [replace(rng.choice([TINY, WIDE, PatternShape()]), max_edges=3) for _ in range(rng.randint(2, 5))]
        found += together(shapes, random_stream(rng, StreamShape(duplicates=False)), rng, adaptive=adaptive)
    assert found > 100, "the cases must have matches"


def together(shapes: Sequence[PatternShape], edges: Sequence[Edge], rng: Random, *, adaptive: bool) -> int:
    """Compare a pass over patterns of these shapes with their oracles; change plans on the way if it is adaptive."""
    mixed = [replace(random_pattern(rng, shape), name=PatternName(f"p{n}")) for n, shape in enumerate(shapes)]
    oracles = [SubgraphOracle(pattern) for pattern in mixed]
    feed = Feed(*(rng.choice(every_plan(pattern)) for pattern in mixed), adaptive=adaptive)
    found = 0
    for edge in edges:
        if adaptive and rng.random() < 0.4:
            number = rng.randrange(len(mixed))
            assert feed.matcher.replan(number, rng.choice(every_plan(mixed[number])))
        reported = sorted(found for oracle in oracles for found in oracle.push(edge))
        assert feed.push(edge) == reported
        found += len(reported)
    return found


@given(pattern=COUNTED, edges=edge_streams(), seed=SEEDS)
def test_changing_the_plan_between_any_two_records_changes_no_match(
    pattern: SubgraphPattern, edges: tuple[Edge, ...], seed: int
) -> None:
    rng = Random(seed)
    oracle, feed = SubgraphOracle(pattern), Feed(rng.choice(every_plan(pattern)), adaptive=True)
    for edge in edges:
        if rng.random() < 0.3:
            assert feed.matcher.replan(0, rng.choice(every_plan(pattern)))
        assert feed.push(edge) == sorted(oracle.push(edge))


@pytest.mark.parametrize("report", OF_SIMULATION)
def test_changing_the_engine_of_dual_simulation_changes_nothing(report: Report) -> None:
    found = 0
    for seed in seeds(100):
        rng = Random(seed)
        pattern = random_pattern(rng, PatternShape(max_edges=3, max_counted=6, report=report))
        oracle, feed = SimulationOracle(pattern), Feed(rng.choice(every_plan(pattern)), adaptive=True)
        for edge in random_stream(rng, StreamShape()):
            if rng.random() < 0.3:
                assert feed.matcher.replan(0, rng.choice(every_plan(pattern)))
            story = list_expected(oracle, edge)
            assert list_emitted(feed, edge, mapping=False) == story, seed
            found += len(story)
    assert found > 50, "the cases must have matches"


def edge(number: int, source: object, target: object, *, label: str = "k", ts: int | None = None) -> Edge:
    at = EventTime(number if ts is None else ts)
    return Edge(EdgeId(f"e{number}"), at, VertexId(str(source)), VertexId(str(target)), label)


CHAIN = "PATTERN {name} MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW {window}"


def chain(window: str, name: str = "p") -> SubgraphPattern:
    (pattern,) = parse_subgraphs(CHAIN.format(name=name, window=window))
    return pattern


@pytest.mark.parametrize("planned", every_plan(chain("100 EDGES")), ids=lambda planned: repr(planned.physical)[:40])
def test_a_stream_whose_time_stands_still_leaves_the_window_nonetheless(planned: Plan) -> None:
    """Memory follows the window, or the records between two looks at what left it."""
    feed = Feed(planned, deletions=False)
    sizes = []
    for start in range(0, 60_000, 10_000):
        feed.push(*(edge(number, f"v{number}", f"v{number + 1}", ts=7) for number in range(start, start + 10_000)))
        sizes.append(feed.matcher.totals().peak_state_bytes)
    assert sizes[-1] == sizes[1], "nothing grows"


def test_edges_that_no_pattern_wants_push_others_out() -> None:
    feed = Feed(*(plan(chain("3 EDGES", name=f"p{n}"), engine) for n, engine in enumerate(FAMILIES["isomorphism"].names)))
    near = [edge(1, "a", "b"), edge(2, "p", "q", label="other"), edge(3, "b", "c")]
    assert len(feed.push(*near)) == len(FAMILIES["isomorphism"].names)
    far = [edge(4, "d", "e"), edge(5, "p", "q", label="other"), edge(6, "p", "q", label="other"), edge(7, "e", "f")]
    assert feed.push(*far) == []


def test_changes_are_reported_with_the_record_that_pushes_an_edge_out_even_if_no_pattern_reads_it() -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x:k]->(b) UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 2 EDGES")
    beside = chain("5")
    feed = Feed(plan(pattern, "ddst-coloring"), plan(replace(beside, name=PatternName("q")), "timing"))
    assert [found.kind for found in feed.push(edge(1, "a", "b"))] == ["match"]
    assert feed.push(edge(2, "p", "q", label="other")) == []
    assert [(found.kind, found.detected_at) for found in feed.push(edge(90, "p", "q", label="other"))] == [("retract", 90)]
    assert feed.finish() == []


def test_an_id_is_a_duplicate_s_while_it_is_in_the_window_of_time_or_of_edges() -> None:
    windows = [chain("10"), chain("3 EDGES")]
    duplicates = Duplicates(*longest(pattern.extent(TimeUnit.MILLISECOND) for pattern in windows))
    decoder = JsonLinesDecoder(Symbols(), [], {})
    records = [edge(1, "a", "b"), edge(1, "a", "b", ts=5), edge(1, "a", "b", ts=100), edge(2, "a", "b", ts=101)]
    records += [edge(3, "a", "b", ts=111), edge(1, "a", "b", ts=200)]
    kept = duplicates.filter(decoder.decode(to_json_lines(records)))
    # The second is 4 ticks after the first, the third the edge after it; the last is the third edge after its first.
    assert kept.ts == [1, 101, 111, 200]


def test_a_pattern_that_comes_later_counts_from_then_on() -> None:
    feed = Feed(plan(chain("1000", name="first"), "timing"), adaptive=True)
    feed.push(edge(1, "a", "b"))
    number = feed.matcher.add(plan(chain("2 EDGES"), "timing"), Limits(), unreported=[], reported=[])
    found = feed.push(edge(2, "b", "c"), edge(3, "c", "d"))
    pairs = [tuple(identity for _, identity in each.edges) for each in found]
    assert (number, pairs) == (1, [("e1", "e2"), ("e2", "e3"), ("e2", "e3")]), "it has only the pair that came after it"


def test_a_pattern_that_comes_later_counts_the_edges_before_it_by_their_numbers() -> None:
    feed = Feed(plan(chain("1000", name="first"), "timing"), adaptive=True)
    past = [edge(1, "a", "b"), edge(2, "p", "q", label="other"), edge(3, "x", "b")]
    feed.push(*past)
    feed.matcher.count_from(1_003)
    before = JsonLinesDecoder(Symbols(), [], {}).decode(to_json_lines(past)).numbered(1_000)
    for window in (2, 3, 4):
        feed.matcher.add(
            plan(chain(f"{window} EDGES", name=f"p{window}"), "timing"), Limits(), unreported=[], reported=[before]
        )
    found = [(each.edges[0][1], each.edges[1][1]) for each in feed.push(edge(4, "b", "c"))]
    assert sorted(found) == [("e1", "e4")] * 2 + [("e3", "e4")] * 4, "the first is in the window of four alone, and of time"
