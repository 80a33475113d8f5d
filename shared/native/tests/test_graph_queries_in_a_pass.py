"""Streaming graph queries in one pass with other patterns: limits, work that is cut, queries that come and go."""

from __future__ import annotations

import random

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import CutShortError, LimitExceededError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import Completeness, IntervalMatch
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits
from graphtide_query import parse, parse_subgraphs
from graphtide_query.families.algebra.planning import plan_graph_query
from graphtide_query.families.planner_options import PlannerOptions
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.graph_results import find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, random_stream

ENGINES = tuple(PathEngine)
LOOKBACKS = "QUERY reaches Answer(x, y) <- a+(x, y). ON s WINDOW(1000)"


def make_plan(text: str = LOOKBACKS, engine: PathEngine = PathEngine.S_PATH) -> GraphPlan:
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return plan_graph_query(query, PlannerOptions(engine.value))


def circle(size: int) -> list[Edge]:
    """Return edges around a circle: at its end every vertex reaches all."""
    return [Edge(EdgeId(f"e{n}"), EventTime(n), VertexId(f"v{n}"), VertexId(f"v{(n + 1) % size}"), "a") for n in range(size)]


def test_a_query_and_a_pattern_take_the_same_records_and_report_in_their_order() -> None:
    (pattern,) = parse_subgraphs("PATTERN pair MATCH (x)-[e:a]->(y), (y)-[f:a]->(z) ON s WINDOW 100")
    feed = Feed(plan(pattern, "timing"), make_plan())
    emitted = [(type(each).__name__, str(each.query)) for each in feed.matches(*circle(3))]
    assert emitted.count(("SubgraphMatch", "pair")) == 3
    assert emitted.count(("IntervalMatch", "reaches")) == 9
    # At the second edge one pair is found and two results; at the third two pairs and six results.
    assert {name for _, name in emitted[:4]} == {"pair", "reaches"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_that_holds_too_much_takes_no_more_edges_and_says_so(engine: PathEngine) -> None:
    feed = Feed(make_plan(engine=engine), limits=Limits(partial_matches=20, policy="shed"))
    before, after = feed.matches(*circle(4)), feed.matches(*circle(40)[4:], *circle(3))
    assert {each.completeness for each in before} == {Completeness.EXACT}
    assert {each.completeness for each in after} <= {Completeness.SHED, Completeness.EXACT}
    (report,) = feed.matcher.patterns()
    assert (report.limited > 0, report.limit) == (True, "20 partial matches")
    # A record may take it past the bound by what it brings about itself.
    assert report.peak_partial_matches < 60


def test_a_query_that_holds_too_much_pauses_or_ends_the_run_as_its_policy_says() -> None:
    paused = Feed(make_plan(), limits=Limits(partial_matches=20, policy="pause"))
    emitted = paused.matches(*circle(60))
    (report,) = paused.matcher.patterns()
    assert (report.paused, len(emitted)) == (True, report.matches)
    with pytest.raises(LimitExceededError, match="'reaches' reached its limit of 20 partial matches"):
        Feed(make_plan(), limits=Limits(partial_matches=20)).matches(*circle(60))
    with pytest.raises(LimitExceededError, match="bytes of state"):
        Feed(make_plan(), limits=Limits(state_bytes=100)).matches(*circle(60))


@pytest.mark.parametrize("engine", ENGINES)
def test_work_is_bounded_and_reports_are_true_all_the_same(engine: PathEngine) -> None:
    feed = Feed(make_plan(engine=engine), limits=Limits(work=1, policy="shed"))
    emitted = {(each.source, each.target) for each in feed.matches(*circle(500)) if isinstance(each, IntervalMatch)}
    (report,) = feed.matcher.patterns()
    assert report.limited > 0
    assert 500 < len(emitted) < 500 * 500
    assert report.limit.endswith("steps of work a record")


def test_a_batch_ends_when_its_budget_is_spent() -> None:
    symbols = Symbols()
    matcher = Matcher([make_plan()], symbols, unit=TimeUnit.MILLISECOND)
    batch = JsonLinesDecoder(symbols, (), {}).decode(to_json_lines(circle(2_000)))
    with pytest.raises(CutShortError):
        for _ in matcher.push(batch, budget=50_000):
            pass


@pytest.mark.parametrize("engine", ENGINES)
def test_an_added_query_brings_its_past_and_a_removed_one_reports_no_more(engine: PathEngine) -> None:
    text = "QUERY late Answer(x, y) <- a(x, z), /:b+ | :c/(z, y). ON s WINDOW(9) SLIDE(3)"
    found = 0
    for seed in seeds(60):
        rng = random.Random(seed)
        shape = StreamShape(labels=("a", "b", "c"), vertices=4, duplicates=False, nameless=False)
        edges = random_stream(rng, shape)
        cut, query_plan = rng.randrange(5, 30), make_plan(text, engine)
        symbols = Symbols()
        decoder = JsonLinesDecoder(symbols, (), {})
        batches = [decoder.decode(to_json_lines([edge])) for edge in edges]
        first = make_plan()
        matcher = Matcher([first], symbols, unit=TimeUnit.MILLISECOND, deletions=True, adaptive=True)
        oracle = GraphQueryOracle(query_plan.query)
        for edge, batch in zip(edges[:cut], batches[:cut], strict=True):
            oracle.push(edge)
            list(matcher.push(batch))
        number = matcher.add_graph_query(query_plan, Limits(), past=batches[:cut])
        for edge, batch in zip(edges[cut:-5], batches[cut:-5], strict=True):
            emitted = [each for matches in matcher.push(batch) for each in matches if each.query == "late"]
            assert sort_matches(emitted) == find_expected(query_plan.query, oracle.push(edge))
            found += len(emitted)
        matcher.remove(number)
        rest = [each for batch in batches[-5:] for matches in matcher.push(batch) for each in matches]
        assert all(each.query == "reaches" for each in rest)
    assert found > 100, "the cases must have results"
