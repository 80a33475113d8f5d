"""Streaming graph queries are answered as the oracle answers them, after every record, by every engine and plan."""

from __future__ import annotations

import random

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import DerivedEdge, IntervalMatch, MatchKind
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime, TimeUnit
from graphtide_query import parse
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.translation import canonical
from graphtide_testing.feeding import Feed
from graphtide_testing.graph_results import as_one_path, check_path, find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, edge_streams, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, graph_queries, random_graph_query
from hypothesis import given
from hypothesis import strategies as st

ENGINES = tuple(PathEngine)
STREAM = StreamShape(labels=("a", "b", "c"), vertices=4)
WINDOWS = ("WINDOW(1)", "WINDOW(7)", "WINDOW(6) SLIDE(3)", "WINDOW(7) SLIDE(5)")
KINDS = (WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW)

TABLE_1 = {
    "Q1": "Answer(x, y) <- /:a*/(x, y).",
    "Q2": "Answer(x, y) <- /:a :b*/(x, y).",
    "Q3": "Answer(x, y) <- /:a :b* :c*/(x, y).",
    "Q4": "Answer(x, y) <- /(:a :b :c)+/(x, y).",
    "Q5": "RR(m1, m2) <- a(x, y), b(m1, x), b(m2, y), c(m2, m1).",
    "Q6": "RL(x, y) <- a+(x, y), b(x, m), c(m, y).",
    "Q7": "RL(x, y) <- a+(x, y), b(x, m), c(m, y). Answer(x, m) <- RL+(x, y) as P, c(m, y).",
}


def ask(name: str, window: str) -> GraphQuery:
    """Return a query of Table 1 over a window."""
    (query,) = parse(f"QUERY {name} {TABLE_1[name]} ON s {window}")
    return query  # type: ignore[return-value]  # the text is of a graph query


def check(plan: GraphPlan, edges: tuple[Edge, ...]) -> int:
    """Compare after each record; return the number of reports."""
    oracle, feed, count = GraphQueryOracle(plan.query), Feed(plan), 0
    known = {str(edge.id): edge for edge in edges if edge.source}
    for edge in edges:
        emitted, found = oracle.push(edge), feed.matches(edge)
        assert sort_matches(found) == find_expected(plan.query, emitted)
        if plan.query.outputs[0].path is not None and len(known) == len(edges):
            for each in found:
                if isinstance(each, IntervalMatch) and each.kind is not MatchKind.RETRACT:
                    check_path(plan.query, each, oracle, known)
        count += len(emitted)
    return count


def plans(query: GraphQuery, engine: PathEngine) -> list[GraphPlan]:
    """Return the canonical plan of a query, the one with binary joins, and that of one PATH, if it is one."""
    logical = canonical(query)
    found = [GraphPlan(query, compile_plan(query, logical, engine))]
    one = as_one_path(query, engine)
    return found if one is None else [*found, one]


@pytest.mark.parametrize("engine", ENGINES)
@given(query=graph_queries(GraphQueryShape(kinds=KINDS)), edges=edge_streams(STREAM))
def test_any_query_is_answered_as_the_oracle_does(engine: PathEngine, query: GraphQuery, edges: tuple[Edge, ...]) -> None:
    for plan in plans(query, engine):
        check(plan, edges)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TABLE_1)
@given(
    edges=edge_streams(STREAM), window=st.sampled_from(("WINDOW(1)", "WINDOW(7)", "WINDOW(6) SLIDE(3)", "WINDOW(7) SLIDE(5)"))
)
def test_the_queries_of_table_1(name: str, engine: PathEngine, edges: tuple[Edge, ...], window: str) -> None:
    for plan in plans(ask(name, window), engine):
        check(plan, edges)


@pytest.mark.parametrize("engine", ENGINES)
@given(
    query=graph_queries(GraphQueryShape(kinds=KINDS)), edges=edge_streams(STREAM), place=st.integers(min_value=1, max_value=60)
)
def test_reports_follow_from_the_records_of_one_lookback(
    engine: PathEngine, query: GraphQuery, edges: tuple[Edge, ...], place: int
) -> None:
    """A matcher that begins with the records of the longest window reports the same as one that took all."""
    known = drop_repeated(edges)
    place = min(place, len(known))
    since = int(known[place - 1].ts) - query.lookback(TimeUnit.MILLISECOND) if known else 0
    past = [edge for edge in known[:place] if edge.ts > since]
    for plan in plans(query, engine):
        whole, late = Feed(plan), Feed(plan)
        whole.matches(*known[:place])
        late.matches(*past)
        for edge in known[place:]:
            assert sort_matches(late.matches(edge)) == sort_matches(whole.matches(edge))


def drop_repeated(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """Return the records without those whose id is another's, which were left out before anybody could begin in between."""
    ids: set[str] = set()
    kept: list[Edge] = []
    for edge in edges:
        if edge.operation is Operation.DELETE or str(edge.id) not in ids:
            kept.append(edge)
        ids.add(str(edge.id))
    return tuple(kept)


@pytest.mark.parametrize("engine", ENGINES)
def test_many_random_queries(engine: PathEngine) -> None:
    emitted = with_paths = 0
    for seed in seeds(150):
        rng = random.Random(seed)
        query = random_graph_query(rng, GraphQueryShape(kinds=KINDS, conditions=seed % 3 == 0))
        # Paths are checked where no id comes twice and none is deleted.
        plain = seed % 2 == 0
        shape = StreamShape(labels=("a", "b", "c"), vertices=4, deletions=not plain, duplicates=not plain, nameless=not plain)
        edges = random_stream(rng, shape)
        found = sum(check(plan, edges) for plan in plans(query, engine))
        emitted += found
        with_paths += found if plain and query.outputs[0].path is not None else 0
    assert emitted > 1_000, "the cases must have results"
    assert with_paths > 25, "and paths"


ALIASES = [
    "D(x, y) <- a(x, y).",
    "D(x, y) <- /:a/(x, y).",
    "D(x, y) <- /:a?/(x, y).",
    "D(x, y) <- /:a | :a/(x, y).",
    "D(x, y) <- a(x, y). D(x, y) <- a(x, y).",
    "D(x, y) <- a(x, y), a(x, y).",
    "INPUT i = ()-[:a]->() ON s WINDOW(9) D(x, y) <- i(x, y).",
    "INPUT i = ()-[e:a]->() ON s WINDOW(9) WHERE e.n IS NULL D(x, y) <- i(x, y).",
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize(
    "emitted",
    [
        "Answer(x, y) <- /(~D)/(x, y) AS p.",
        "Answer(x, y) <- D(x, y) AS p.",
        "Answer(x, y) <- /~D+/(x, y) AS p.",
        "Answer(x, z) <- /~D :b*/(x, y) AS p, b(y, z).",
        "E(x, y) <- D(x, y). Answer(x, y) <- /~E :b?/(x, y) AS p.",
    ],
)
def test_a_step_along_a_derived_edge_is_reported_as_one_whatever_the_rule_and_the_plan(
    engine: PathEngine, alias: str, emitted: str
) -> None:
    """Whether a rule is another name of a label or joins atoms does not show in the reported path."""
    (query,) = parse(f"QUERY q {alias} {emitted} ON s WINDOW(9) RETURN p")
    assert isinstance(query, GraphQuery)
    edges = [
        Edge(EdgeId(f"e{n}"), EventTime(n), VertexId(f"v{n}"), VertexId(f"v{n + 1}"), label) for n, label in enumerate("aab")
    ]
    for plan in plans(query, engine):
        steps = {step for each in Feed(plan).matches(*edges) if isinstance(each, IntervalMatch) for step in each.path or ()}
        derived = {step for step in steps if isinstance(step, DerivedEdge)}
        assert DerivedEdge("D", VertexId("v1"), VertexId("v2")) in derived
        assert {step.label for step in derived} == {"D"}
        assert steps - derived <= {"e2"}, "an edge of a is reported as the edge that D derives from it"
        shape = StreamShape(labels=("a", "b"), vertices=4, deletions=True, duplicates=False, nameless=False)
        for seed in seeds(3):
            check(plan, random_stream(random.Random(seed), shape))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text",
    [
        "Answer(x, y) <- h(x, y) AS p.",
        "Answer(x, z) <- h(x, y) AS p, b(y, z).",
        "g(x, y) <- h(x, y). Answer(x, y) <- g(x, y) AS p.",
    ],
)
def test_the_path_that_a_derived_edge_is_by_itself_is_that_edge(engine: PathEngine, text: str) -> None:
    (query,) = parse(f"QUERY q h(x, y) <- a+(x, y). {text} ON s WINDOW(9) RETURN p")
    assert isinstance(query, GraphQuery)
    emitted = 0
    for seed in seeds(20):
        shape = StreamShape(labels=("a", "b"), vertices=4, deletions=False, duplicates=False, nameless=False)
        emitted += sum(check(plan, random_stream(random.Random(seed), shape)) for plan in plans(query, engine))
    assert emitted > 100, "there must be results"
    feed = Feed(plans(query, engine)[0])
    edges = (
        Edge(EdgeId(f"e{n}"), EventTime(n), VertexId(f"v{n}"), VertexId(f"v{n + 1}"), "a" if n < 2 else "b") for n in range(3)
    )
    paths = {each.path for each in feed.matches(*edges) if isinstance(each, IntervalMatch)}
    assert (DerivedEdge("h", VertexId("v0"), VertexId("v2")),) in paths


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text",
    [
        'Answer(x, y) <- a+(x, y) AS p WHERE x.id = "v0".',
        'Answer(x, y) <- /(:a | :b)+/(x, y) AS p WHERE y.id = "v1".',
        'Answer(x, y) <- /:a :b*/(x, y) AS p WHERE "v2" = y.id AND x.id = "v0".',
        'Answer(x, x) <- /:a+ :b^?/("v0", x) AS p.',
        'Answer(x, z) <- /(:a :b?)+/(x, "v1") AS p, c(x, z).',
        'h(x, y) <- a(x, z), b(z, y). Answer(x, y) <- /(:h | :a)+/(x, y) AS p WHERE x.id = "v3".',
    ],
)
def test_paths_that_are_reported_from_a_known_vertex(engine: PathEngine, text: str) -> None:
    (query,) = parse(f"QUERY q {text} ON s WINDOW(9) SLIDE(2) RETURN p")
    assert isinstance(query, GraphQuery)
    plain = StreamShape(labels=("a", "b", "c"), vertices=4, deletions=False, duplicates=False, nameless=False)
    emitted = 0
    for shape in (plain, STREAM):
        for seed in seeds(20):
            for plan in plans(query, engine):
                emitted += check(plan, random_stream(random.Random(seed), shape))
    assert emitted > 15, "there must be results"
