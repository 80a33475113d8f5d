"""Graph queries that get other plans while the stream runs: no result is lost, none comes twice, whatever the moment."""

from __future__ import annotations

import dataclasses
import random
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, PatternName, VertexId
from graphtide_core.match import IntervalMatch, MatchKind
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits, columns
from graphtide_query import parse
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.rewriting import fixed_parts, normalize, rewritings
from graphtide_query.families.algebra.translation import canonical
from graphtide_testing.graph_results import check_path, find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, edge_streams, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, graph_queries, random_graph_query
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.match import Match
    from graphtide_native.records import EdgeBatch

STREAM = StreamShape(labels=("a", "b", "c"), vertices=4)
UNREPEATED = dataclasses.replace(STREAM, duplicates=False)
"""What a repeated id means depends on the longest lookback of all queries."""

KINDS = (WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW)
SHAPE = GraphQueryShape(kinds=KINDS)
SHAPE_WITHOUT_CONDITIONS = GraphQueryShape(kinds=KINDS, conditions=False)


def some_plan(query: GraphQuery, rng: random.Random) -> GraphPlan:
    """Return a plan of a query by a few rewritings, for one of the engines."""
    plan = canonical(query)
    if rng.random() < 0.8:
        fixed = fixed_parts(query, plan)
        plan = normalize(plan, fixed)
        for _ in range(rng.randrange(3)):
            found = [new for _, new in islice(rewritings(plan, fixed), 20)]
            plan = rng.choice(found) if found else plan
    return GraphPlan(query, compile_plan(query, plan, rng.choice(list(PathEngine))))


class Pass:
    """A matcher of queries, with the oracles of these and the records that they read."""

    def __init__(self, plans: Sequence[GraphPlan], *, limits: Limits | None = None) -> None:
        symbols, projected = Symbols(), columns([plan.query for plan in plans])
        self.queries = [plan.query for plan in plans]
        self.matcher = Matcher(plans, symbols, projected, deletions=True, adaptive=True, limits=limits)
        self._decoder = JsonLinesDecoder(symbols, projected, {})
        self.lookback = max(query.lookback(TimeUnit.MILLISECOND) for query in self.queries)
        self._duplicates = Duplicates(self.lookback)
        self._past: list[EdgeBatch] = []
        self.taken: list[EdgeBatch] = []

    def push(self, edge: Edge) -> list[Match]:
        batch = self._duplicates.filter(self._decoder.decode(to_json_lines([edge])))
        found = [each for part in self.matcher.push(batch) for each in part]
        if len(batch):
            self.taken.append(batch)
            self._past.append(self.matcher.selected_by_queries(batch))
        return found

    def replan(self, plans: dict[int, GraphPlan], now: int) -> set[int]:
        past = [batch for batch in self._past if batch.last_ts is not None and batch.last_ts > now - self.lookback]
        return self.matcher.exchange(plans, past)


def check(queries: Sequence[GraphQuery], edges: Sequence[Edge], rng: random.Random) -> int:
    """Compare with the oracles after each record, with other plans now and then; return how many plans changed."""
    own, oracles = Pass([some_plan(query, rng) for query in queries]), [GraphQueryOracle(query) for query in queries]
    known, changed = {str(edge.id): edge for edge in edges if edge.source}, 0
    for place, edge in enumerate(edges):
        if place and rng.random() < 0.3:
            numbers = [number for number in range(len(queries)) if rng.random() < 0.7]
            plans = {number: some_plan(queries[number], rng) for number in numbers}
            assert own.replan(plans, int(edges[place - 1].ts)) == plans.keys()
            changed += len(plans)
        found = own.push(edge)
        for query, oracle in zip(queries, oracles, strict=True):
            its = [each for each in found if each.query == query.name]
            assert sort_matches(its) == find_expected(query, oracle.push(edge))
            if query.outputs[0].path is not None and len(known) == len(edges):
                for each in its:
                    if isinstance(each, IntervalMatch) and each.kind is not MatchKind.RETRACT:
                        check_path(query, each, oracle, known)
        # Results of one query stand together, and queries keep their order, whatever their plans.
        order = [each.query for each in found]
        assert len(list(dict.fromkeys(order))) == sum(a != b for a, b in zip([None, *order], order, strict=False))
    return changed


@given(query=graph_queries(SHAPE), edges=edge_streams(STREAM), seed=st.integers(0, 2**32))
def test_changing_the_plan_between_any_two_records_changes_no_result(
    query: GraphQuery, edges: tuple[Edge, ...], seed: int
) -> None:
    check([query], edges, random.Random(seed))


def test_many_queries_some_of_which_share_operators() -> None:
    changed = 0
    for seed in seeds(75):
        rng = random.Random(seed)
        base = random_graph_query(rng, SHAPE)
        texts = [base, base, random_graph_query(rng, SHAPE)][: 1 + seed % 3]
        queries = [dataclasses.replace(each, name=PatternName(f"q{number}")) for number, each in enumerate(texts)]
        plain = seed % 2 == 0
        shape = dataclasses.replace(UNREPEATED, deletions=not plain, nameless=not plain)
        changed += check(queries, random_stream(rng, shape), rng)
    assert changed > 250


def test_queries_come_and_go_between_changes_of_plans() -> None:
    """One that came late, and one whose companion has gone, continue by other plans as the others do."""
    emitted = 0
    for seed in seeds(50):
        rng = random.Random(seed)
        base = random_graph_query(rng, SHAPE_WITHOUT_CONDITIONS)
        first, second = (dataclasses.replace(base, name=PatternName(name)) for name in ("first", "second"))
        late = dataclasses.replace(random_graph_query(rng, SHAPE_WITHOUT_CONDITIONS), name=PatternName("late"))
        own, edges = Pass([some_plan(first, rng), some_plan(second, rng)]), random_stream(rng, UNREPEATED)
        oracles = {0: GraphQueryOracle(first), 1: GraphQueryOracle(second), 2: GraphQueryOracle(late)}
        numbers, comes, goes = {0, 1}, rng.randrange(10, 20), rng.randrange(20, 30)
        own.lookback = max(each.lookback(TimeUnit.MILLISECOND) for each in (base, late))
        for place, edge in enumerate(edges):
            if place == comes:
                assert own.matcher.add_graph_query(some_plan(late, rng), Limits(), past=own.taken) == 2
                numbers |= {2}
            if place == goes:
                own.matcher.remove(0)
                numbers -= {0}
            plans = {number: some_plan((first, second, late)[number], rng) for number in numbers if rng.random() < 0.3}
            if place:
                assert own.matcher.replan_graph_queries(plans, own.taken) == plans.keys()
            found = own.push(edge)
            for number, oracle in oracles.items():
                query, wanted = (first, second, late)[number], oracle.push(edge)
                if number in numbers:
                    its = [each for each in found if each.query == query.name]
                    assert sort_matches(its) == find_expected(query, wanted)
                    emitted += len(its)
    assert emitted > 500


def plan(text: str, engine: PathEngine = PathEngine.S_PATH) -> GraphPlan:
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return GraphPlan(query, compile_plan(query, canonical(query), engine))


def line(size: int, since: int = 0) -> list[Edge]:
    return [
        Edge(EdgeId(f"e{since + n}"), EventTime(since + n), VertexId(f"v{n}"), VertexId(f"v{n + 1}"), "a") for n in range(size)
    ]


NEAR = "QUERY near Answer(x, y) <- a+(x, y). ON s WINDOW(1000)"


def test_a_plan_that_would_hold_more_than_it_may_is_refused_and_the_old_one_goes_on() -> None:
    """What the new operators hold counts: those of the old plan have room, those of delta trees would not."""
    limits = Limits(partial_matches=150)
    own, alone = Pass([plan(NEAR)], limits=limits), Pass([plan(NEAR)])
    edges = line(20)
    for each in edges[:-1]:
        assert sort_matches(own.push(each)) == sort_matches(alone.push(each))
    before = own.matcher.patterns()[0]
    assert own.replan({0: plan(NEAR, PathEngine.DELTA_TREE)}, 18) == set()
    after = own.matcher.patterns()[0]
    assert (before.partial_matches, before.limited) == (after.partial_matches, after.limited) == (before.partial_matches, 0)
    assert own.matcher.plan(0).engine == "s-path"
    assert sort_matches(own.push(edges[-1])) == sort_matches(alone.push(edges[-1]))


def test_a_query_whose_results_may_be_missing_keeps_its_plan() -> None:
    own = Pass([plan(NEAR)], limits=Limits(partial_matches=10, policy="shed"))
    for each in line(20):
        own.push(each)
    assert own.matcher.patterns()[0].limited > 0
    assert own.replan({0: plan(NEAR, PathEngine.DELTA_TREE)}, 19) == set()


def test_counts_continue_and_a_deletion_after_the_change_retracts_earlier_reports() -> None:
    own = Pass([plan(NEAR)])
    edges = line(3)
    emitted = [each for edge in edges for each in own.push(edge)]
    assert own.replan({0: plan(NEAR, PathEngine.DELTA_TREE)}, 2) == {0}
    gone = own.push(Edge(EdgeId("e1"), EventTime(5), VertexId(""), VertexId(""), "", operation=Operation.DELETE))
    assert len(emitted) == 6
    assert [each.kind for each in gone] == [MatchKind.RETRACT] * 4
    (report,) = own.matcher.patterns()
    assert (report.matches, report.retractions) == (6, 4)


def test_a_query_keeps_its_plan_where_its_records_were_not_kept() -> None:
    own, other = Pass([plan(NEAR)]), plan(NEAR, PathEngine.DELTA_TREE)
    assert own.matcher.exchange({0: other}) == set()
    assert own.matcher.plan(0).engine == "s-path"
    assert own.matcher.exchange({0: other}, past=[]) == {0}
    assert own.matcher.plan(0).engine == "delta-tree"


def test_there_is_no_query_of_a_number() -> None:
    own = Pass([plan(NEAR)])
    own.matcher.remove(0)
    with pytest.raises(ValueError, match="no graph query of its number"):
        own.replan({0: plan(NEAR)}, 0)
