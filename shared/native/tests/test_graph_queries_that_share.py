"""Graph queries that share operators: each is answered as if it were alone, and what is equal is done and kept once."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import LimitExceededError
from graphtide_core.graph_query import GraphQuery, Output
from graphtide_core.ids import EdgeId, PatternName, VertexId
from graphtide_core.match import Completeness, DerivedEdge, IntervalMatch, MatchKind
from graphtide_core.path_expression import symbols
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits, columns
from graphtide_query import parse
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.translation import canonical
from graphtide_testing.feeding import Feed
from graphtide_testing.graph_results import check_path, find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.match import Match

ENGINES = tuple(PathEngine)
KINDS = (WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW)
SHAPE = GraphQueryShape(kinds=KINDS, unlabelled=False, conditions=False)


def plan(text: str, engine: PathEngine = PathEngine.S_PATH) -> GraphPlan:
    """Return the canonical plan of a query, in which what is called by a name is an operator."""
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return GraphPlan(query, compile_plan(query, canonical(query), engine))


def beside(*rules: str, engine: PathEngine = PathEngine.S_PATH) -> list[GraphPlan]:
    """Return queries that read the closure of `a`, each by rules of its own."""
    near = "near(x, y) <- a+(x, y)."
    return [plan(f"QUERY q{number} {near} {own} ON s WINDOW(1000)", engine) for number, own in enumerate(rules)]


def circle(size: int, label: str = "a", since: int = 0) -> list[Edge]:
    """Return edges around a circle: at its end every vertex reaches all."""
    return [
        Edge(EdgeId(f"{label}{n}"), EventTime(since + n), VertexId(f"v{n}"), VertexId(f"v{(n + 1) % size}"), label)
        for n in range(size)
    ]


def relatives(rng: random.Random, size: int) -> list[GraphQuery]:
    """Return queries over the same inputs, of which many have heads in common and some are equal."""
    base = random_graph_query(rng, SHAPE)
    heads = tuple(rule for rule in base.rules if rule.head != "Answer")
    names = sorted({rule.head for rule in heads})
    readable = {*names, *(each.name for each in base.inputs)}
    found = [base]
    while len(found) < size:
        other = dataclasses.replace(random_graph_query(rng, SHAPE), inputs=base.inputs)
        answer = tuple(rule for rule in other.rules if rule.head == "Answer")
        read = {each.predicate for rule in answer for atom in rule.body for each in symbols(atom.expression)}
        match rng.randrange(4):
            case 0:
                found.append(base)
            case 1 if names:
                head = rng.choice(names)
                found.append(dataclasses.replace(base, rules=heads, outputs=(Output(head, "Answer", ("one", "other")),)))
            case 2:
                found.append(other)
            case _ if read <= readable:
                found.append(dataclasses.replace(other, rules=(*heads, *answer)))
            case _:
                found.append(base)
    return [dataclasses.replace(query, name=PatternName(f"q{number}")) for number, query in enumerate(found)]


def of(name: str, found: Iterable[Match]) -> list[Match]:
    return [each for each in found if each.query == name]


class Pass:
    """A matcher that may change, with an oracle for each of its queries."""

    def __init__(self, plans: Sequence[GraphPlan], engine: PathEngine, edges: Sequence[Edge], deletions: bool) -> None:
        self._symbols = Symbols()
        self._decoder = JsonLinesDecoder(self._symbols, (), {})
        self._deletions, self.engine, self.edges = deletions, engine, edges
        self.batches = [self._decoder.decode(to_json_lines([edge])) for edge in edges]
        self.matcher = Matcher(plans, self._symbols, unit=TimeUnit.MILLISECOND, deletions=deletions, adaptive=True)
        self.oracles = {plan.query.name: GraphQueryOracle(plan.query) for plan in plans}
        self.queries = {plan.query.name: plan.query for plan in plans}
        self.emitted = self.paths = 0

    def take(self, first: int, last: int) -> None:
        """Take records, and compare after each."""
        known = {str(edge.id): edge for edge in self.edges if edge.source}
        for edge, batch in zip(self.edges[first:last], self.batches[first:last], strict=True):
            found = [each for matches in self.matcher.push(batch) for each in matches]
            assert {each.query for each in found} <= self.oracles.keys()
            for name, oracle in self.oracles.items():
                query, own = self.queries[name], of(name, found)
                assert sort_matches(own) == find_expected(query, oracle.push(edge))
                self.emitted += len(own)
                if query.outputs[0].path is not None and not self._deletions:
                    self._check_paths(query, own, oracle, known)

    def _check_paths(self, query: GraphQuery, own: Iterable[Match], oracle: GraphQueryOracle, known: dict[str, Edge]) -> None:
        for each in own:
            if isinstance(each, IntervalMatch) and each.kind is not MatchKind.RETRACT:
                check_path(query, each, oracle, known)
                self.paths += 1

    def add(self, plan: GraphPlan, before: int) -> None:
        """Add a query that has the records before as its past."""
        self.matcher.add_graph_query(plan, Limits(), past=self.batches[:before])
        self.queries[plan.query.name], oracle = plan.query, GraphQueryOracle(plan.query)
        self.oracles[plan.query.name] = oracle
        for edge in self.edges[:before]:
            oracle.push(edge)

    def remove(self, number: int, name: PatternName) -> None:
        self.matcher.remove(number)
        del self.oracles[name]


@pytest.mark.parametrize("engine", ENGINES)
def test_each_of_many_queries_is_answered_as_its_oracle_does_while_others_come_and_go(engine: PathEngine) -> None:
    emitted = paths = 0
    for seed in seeds(75):
        rng = random.Random(seed)
        queries = relatives(rng, rng.randint(2, 6))
        plans = [GraphPlan(query, compile_plan(query, canonical(query), engine)) for query in queries]
        deletions = seed % 2 == 0
        shape = StreamShape(labels=("a", "b", "c"), vertices=4, deletions=deletions, duplicates=False, nameless=False)
        edges = random_stream(rng, shape)
        assert not columns([plan.pattern for plan in plans])
        run = Pass(plans[:-1] if seed % 3 == 0 else plans, engine, edges, deletions)
        one, two = sorted(rng.randrange(len(edges) + 1) for _ in range(2))
        run.take(0, one)
        if seed % 3 == 0:
            run.add(plans[-1], one)
        gone = rng.randrange(len(plans) - 1)
        run.remove(gone, queries[gone].name)
        run.take(one, two)
        if len(plans) > 3:
            left = next(number for number in range(len(plans) - 1) if number != gone)
            run.remove(left, queries[left].name)
        run.take(two, len(edges))
        emitted, paths = emitted + run.emitted, paths + run.paths
    assert emitted > 1_000, "the cases must have results"
    assert paths > 25, "and paths"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_equal_is_done_and_kept_once(engine: PathEngine) -> None:
    rules = [f"Answer(x, z) <- near(x, y), l{number}(y, z)." for number in range(10)]
    plans = beside(*rules, engine=engine)
    one, ten = Feed(plans[0]), Feed(*plans)
    one.matches(*circle(40))
    ten.matches(*circle(40))
    alone, together = one.matcher.patterns()[0], ten.matcher.patterns()
    assert alone.work > 100
    assert sum(each.work for each in together) < 2 * alone.work
    assert sum(each.state_bytes for each in together) < 2 * alone.state_bytes
    assert ten.matcher.totals().peak_partial_matches == one.matcher.totals().peak_partial_matches
    # What a query holds, it holds together with others.
    assert {each.partial_matches for each in together} == {alone.partial_matches}


def test_queries_that_share_scans_alone_or_have_other_limits_are_not_bound_together() -> None:
    texts = ("Answer(x, y) <- a(x, z), b(z, y).", "Answer(x, y) <- a(x, z), c(z, y).")
    apart = [plan(f"QUERY q{number} {text} ON s WINDOW(1000)") for number, text in enumerate(texts)]
    feed = Feed(*apart, limits=Limits(partial_matches=20, policy="pause"))
    feed.matches(*circle(30, "b"))
    assert [each.paused for each in feed.matcher.patterns()] == [True, False]
    few, many = Limits(partial_matches=20, policy="pause"), Limits(policy="pause")
    same = beside("Answer(x, y) <- near(x, y).", "Answer(x, y) <- near(x, y).")
    symbols = Symbols()
    matcher = Matcher(same, symbols, unit=TimeUnit.MILLISECOND, limits=[few, many])
    list(matcher.push(JsonLinesDecoder(symbols, (), {}).decode(to_json_lines(circle(30)))))
    assert [each.paused for each in matcher.patterns()] == [True, False]


def test_equal_operators_with_different_names_are_reported_by_each_query_s_name() -> None:
    texts = [
        f"QUERY q{number} {name}(x, y) <- a(x, z), b(z, y). Answer(x, y) <- {name}+(x, y) as P. ON s WINDOW(1000)"
        for number, name in enumerate(("one", "other"))
    ]
    queries = [query for text in texts for query in parse(text)]
    paths = [
        dataclasses.replace(query, outputs=(dataclasses.replace(query.outputs[0], path="P"),))
        for query in queries
        if isinstance(query, GraphQuery)
    ]
    plans = [GraphPlan(query, compile_plan(query, canonical(query))) for query in paths]
    edges = [
        Edge(EdgeId("e"), EventTime(1), VertexId("u"), VertexId("v"), "a"),
        Edge(EdgeId("f"), EventTime(2), VertexId("v"), VertexId("w"), "b"),
    ]
    found = Feed(*plans, deletions=False).matches(*edges)
    emitted = {each.query: each.path for each in found if isinstance(each, IntervalMatch)}
    assert emitted == {
        f"q{number}": (DerivedEdge(name, VertexId("u"), VertexId("w")),) for number, name in enumerate(("one", "other"))
    }


def test_a_unit_may_hold_as_much_as_its_queries_together_and_says_what_it_reached_of_each() -> None:
    rules = ("Answer(x, z) <- near(x, y), b(y, z).", "Answer(x, z) <- near(x, y), c(y, z).", "Answer(x, y) <- near(x, y).")
    feed = Feed(*beside(*rules), limits=Limits(partial_matches=20, policy="shed"))
    before, after = feed.matches(*circle(4)), feed.matches(*circle(40)[4:], *circle(3, "b", 90))
    assert {each.completeness for each in before} == {Completeness.EXACT}
    assert {each.completeness for each in after} == {Completeness.EXACT}
    reports = feed.matcher.patterns()
    assert {(each.limited > 0, each.limit) for each in reports} == {
        (True, "20 partial matches a pattern, for the 3 of its unit together")
    }
    assert 20 < reports[2].peak_partial_matches < 100
    assert feed.matcher.shed() == [0, 1, 2]
    later = feed.matches(*circle(2, since=5_000))
    assert {each.completeness for each in later} == {Completeness.SHED}


def test_a_unit_pauses_or_ends_the_run_as_its_policy_says() -> None:
    rules = ("Answer(x, z) <- near(x, y), b(y, z).", "Answer(x, z) <- near(x, y), c(y, z).")
    paused = Feed(*beside(*rules), limits=Limits(partial_matches=20, policy="pause"))
    paused.matches(*circle(60))
    assert [each.paused for each in paused.matcher.patterns()] == [True, True]
    with pytest.raises(LimitExceededError, match="'q0' reached its limit of 20 partial matches a pattern, for the 2 of its"):
        Feed(*beside(*rules), limits=Limits(partial_matches=20)).matches(*circle(60))
    with pytest.raises(LimitExceededError, match="bytes of state a pattern"):
        Feed(*beside(*rules), limits=Limits(state_bytes=100)).matches(*circle(60))
    limited = Feed(*beside(*rules), limits=Limits(work=1, policy="shed"))
    limited.matches(*circle(1_000))
    assert all(each.limited > 0 and each.limit.endswith("steps of work a record") for each in limited.matcher.patterns())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_that_goes_takes_along_what_no_other_needs(engine: PathEngine) -> None:
    rules = ("Answer(x, y) <- near(x, y).", "Answer(x, z) <- near(x, y), b(y, z).")
    both = beside(*rules, engine=engine)
    alone, left = Feed(both[0], adaptive=True), Feed(*both, adaptive=True)
    edges = [*circle(30, "b"), *circle(30, since=30)]
    alone.matches(*edges)
    left.matches(*edges)
    assert left.matcher.totals().state_bytes > 2 * alone.matcher.totals().state_bytes
    left.matcher.remove(1)
    # As if it had never been: in what is held, and in what a record costs.
    reports = [feed.matcher.patterns()[0] for feed in (alone, left)]
    assert reports[1].partial_matches == reports[0].partial_matches
    again = (dataclasses.replace(edge, id=EdgeId(f"again {edge.id}")) for edge in circle(30, since=120))
    more = [*circle(30, "b", 60), *again]
    steps = []
    for feed, members in ((alone, 1), (left, 2)):
        before = feed.matcher.patterns()[0].work * members
        emitted = sort_matches(feed.matches(*more))
        steps.append((feed.matcher.patterns()[0].work * members - before, emitted))
    assert steps[0][1] == steps[1][1]
    assert abs(steps[0][0] - steps[1][0]) <= 2, "a share is rounded up"
    passing = [Edge(EdgeId("late"), EventTime(5_000), VertexId("u"), VertexId("v"), "a")]
    for feed in (alone, left):
        feed.matches(*passing)
    assert left.matcher.patterns()[0].partial_matches == alone.matcher.patterns()[0].partial_matches
