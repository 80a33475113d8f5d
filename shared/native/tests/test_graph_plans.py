"""All plans of a streaming graph query report the same as the oracle after every record: by one rule, and by several."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.algebra import Path, Pattern, distinct
from graphtide_core.match import IntervalMatch, MatchKind
from graphtide_core.plans.algebra import GraphPlan
from graphtide_core.stream_window import WindowKind
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.planning import plan_graph_query
from graphtide_query.families.algebra.rewriting import fixed_parts, normalize, rewritings
from graphtide_query.families.algebra.rules import RULES, name_of
from graphtide_query.families.algebra.search import orders
from graphtide_query.families.algebra.translation import canonical
from graphtide_testing.algebra_text import write_text
from graphtide_testing.feeding import Feed
from graphtide_testing.graph_results import check_path, find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, edge_streams, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
from hypothesis import given

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.edge import Edge
    from graphtide_core.graph_query import GraphQuery
    from graphtide_query.families.algebra.rewriting import Plan

STREAM = StreamShape(labels=("a", "b", "c"), vertices=4)
KINDS = (WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW)

Q2 = "Answer(x, y) <- /:a :b*/(x, y)."
Q3 = "Answer(x, y) <- /:a :b* :c*/(x, y)."
Q4 = "Answer(x, y) <- /(:a :b :c)+/(x, y)."
TABLE_1 = {
    "Q1": "Answer(x, y) <- /:a*/(x, y).",
    "Q2": Q2,
    "Q3": Q3,
    "Q4": Q4,
    "Q5": "RR(m1, m2) <- a(x, y), b(m1, x), b(m2, y), c(m2, m1).",
    "Q6": "RL(x, y) <- a+(x, y), b(x, m), c(m, y).",
    "Q7": "RL(x, y) <- a+(x, y), b(x, m), c(m, y). Answer(x, m) <- RL+(x, y), c(m, y).",
}
PLANS_OF_Q4 = {
    "SGA": 'PATH[:":a :b :c"+](PATTERN[x0, x3](a as (x0, x1), b as (x1, x2), c as (x2, x3)) = ":a :b :c")',
    "P1": "PATH[(:a :b :c)+](a, b, c)",
    "P2": 'PATH[(:a :":b :c")+](a, PATTERN[x0, x2](b as (x0, x1), c as (x1, x2)) = ":b :c")',
    "P3": 'PATH[(:":a :b" :c)+](PATTERN[x0, x2](a as (x0, x1), b as (x1, x2)) = ":a :b", c)',
}


def ask(text: str, window: str = "WINDOW(10)") -> GraphQuery:
    (query,) = parse(f"QUERY q {text} ON s {window}")
    return query  # type: ignore[return-value]  # the text is of a graph query


def list_plans(query: GraphQuery, most: int) -> dict[Plan, tuple[str, ...]]:
    """Return the plans that rules lead to, up to so many, and how; the nearest first, the canonical before all."""
    logical = canonical(query)
    fixed = fixed_parts(query, logical)
    start = normalize(logical, fixed)
    found: dict[Plan, tuple[str, ...]] = {start: ()}
    waiting = [start]
    for plan in waiting:
        for name, new in rewritings(plan, fixed):
            if len(found) >= most:
                return found
            if new not in found:
                found[new] = (*found[plan], name)
                waiting.append(new)
    return found


def walk(query: GraphQuery, rng: random.Random, steps: int) -> Iterator[tuple[tuple[str, ...], Plan]]:
    """Yield plans on a random way over rules."""
    logical = canonical(query)
    fixed = fixed_parts(query, logical)
    plan, way = normalize(logical, fixed), tuple[str, ...]()
    yield way, plan
    for _ in range(steps):
        after = list(rewritings(plan, fixed))
        if not after:
            return
        name, plan = rng.choice(after)
        way = (*way, name)
        yield way, plan


def compare(query: GraphQuery, plans: Iterable[tuple[tuple[str, ...], Plan]], edges: tuple[Edge, ...], *, paths: bool) -> int:
    """Compare plans with the oracle after each record; return the number of reports."""
    oracle = GraphQueryOracle(query)
    feeds = [(way, plan, Feed(GraphPlan(query, compile_plan(query, plan)))) for way, plan in plans]
    known, count = {str(edge.id): edge for edge in edges}, 0
    for edge in edges:
        emitted = oracle.push(edge)
        right = find_expected(query, emitted)
        for way, plan, feed in feeds:
            found = feed.matches(edge)
            assert sort_matches(found) == right, (way, [write_text(each) for each in plan])
            for each in found if paths else ():
                if isinstance(each, IntervalMatch) and each.path and each.kind is not MatchKind.RETRACT:
                    check_path(query, each, oracle, known)
        count += len(emitted)
    return count


def test_random_ways_over_rules_keep_the_reports() -> None:
    emitted = 0
    used: set[str] = set()
    for seed in seeds(200):
        rng = random.Random(seed)
        query = random_graph_query(rng, GraphQueryShape(kinds=KINDS, conditions=seed % 2 == 0, paths=seed % 5 == 0))
        plain = seed % 5 == 0
        shape = StreamShape(
            labels=("a", "b", "c"), vertices=4, max_records=30, deletions=not plain, duplicates=not plain, nameless=not plain
        )
        edges = random_stream(rng, shape)
        plans = dict(plan_and_way[::-1] for plan_and_way in walk(query, rng, 6))
        used |= {name for way in plans.values() for name in way}
        emitted += compare(query, [(way, plan) for plan, way in plans.items()], edges, paths=plain)
    assert emitted > 750, "the cases must have results"
    assert len(used) >= len(RULES) - 2, f"rules that no way took: {set(map(name_of, RULES)) - used}"


def test_each_step_from_random_canonical_plans_keeps_the_reports() -> None:
    emitted = 0
    for seed in seeds(60, 1_000):
        rng = random.Random(seed)
        query = random_graph_query(rng, GraphQueryShape(kinds=KINDS))
        edges = random_stream(rng, StreamShape(labels=("a", "b", "c"), vertices=3, max_records=24))
        plans = list_plans(query, 12)
        emitted += compare(query, [(way, plan) for plan, way in plans.items()], edges, paths=False)
    assert emitted > 100, "the cases must have results"


def test_the_path_of_a_predicate_that_is_a_join_and_only_renamed() -> None:
    """Its ends were once looked up among the variables of that join, of which one may be called the same."""
    query = ask("h(z, x) <- a(x, y), a+(x, z). Answer(x, y) <- h(x, y) as P.", "WINDOW(6)")
    query = replace(query, outputs=(replace(query.outputs[0], path="P"),))
    edges = random_stream(
        random.Random(1), StreamShape(labels=("a",), vertices=4, deletions=False, duplicates=False, nameless=False)
    )
    assert compare(query, [((), canonical(query))], edges, paths=True) > 10


def test_searched_plans_and_any_order_of_joins_keep_the_reports() -> None:
    emitted = 0
    for seed in seeds(50, 2_000):
        rng = random.Random(seed)
        query = random_graph_query(rng, GraphQueryShape(kinds=KINDS))
        edges = random_stream(rng, StreamShape(labels=("a", "b", "c"), vertices=3, max_records=24))
        oracle = GraphQueryOracle(query)
        chosen = plan_graph_query(query, PlannerOptions())
        logical = canonical(query)
        patterns = {each for expression in logical for each in distinct(expression) if isinstance(each, Pattern)}
        shuffled = {each: rng.choice(tree) for each in patterns if (tree := orders(each))}
        feeds = [Feed(chosen), Feed(GraphPlan(query, compile_plan(query, logical, steps=shuffled)))]
        for edge in edges:
            right = find_expected(query, oracle.push(edge))
            for feed in feeds:
                assert sort_matches(feed.matches(edge)) == right, (seed, chosen.physical.rules, shuffled)
            emitted += len(right)
    assert emitted > 100, "the cases must have results"


@pytest.mark.parametrize("name", TABLE_1)
@given(edges=edge_streams(STREAM))
def test_the_searched_plans_of_table_1(name: str, edges: tuple[Edge, ...]) -> None:
    query = ask(TABLE_1[name], "WINDOW(7) SLIDE(5)")
    plan = plan_graph_query(query, PlannerOptions())
    oracle, feed = GraphQueryOracle(query), Feed(plan)
    for edge in edges:
        assert sort_matches(feed.matches(edge)) == find_expected(query, oracle.push(edge))


@pytest.mark.parametrize("text", [Q2, Q3, Q4], ids=["Q2", "Q3", "Q4"])
@given(edges=edge_streams(STREAM))
def test_every_plan_of_the_paths_of_table_1(text: str, edges: tuple[Edge, ...]) -> None:
    query = ask(text, "WINDOW(6) SLIDE(3)")
    compare(query, [(way, plan) for plan, way in list_plans(query, 40).items()], edges, paths=False)


def test_the_plans_of_section_7_4_are_reached() -> None:
    found = {write_text(plan[0]): way for plan, way in list_plans(ask(Q4), 1_000).items()}
    assert PLANS_OF_Q4.items() == {name: text for name, text in PLANS_OF_Q4.items() if text in found}.items()
    assert found[PLANS_OF_Q4["P1"]] == ("inline concatenation",)
    assert found[PLANS_OF_Q4["P2"]][-1] in {"cache concatenation", "inline concatenation"}


@pytest.mark.parametrize(("text", "path"), [(Q2, "PATH[:a :b*](a, b)"), (Q3, "PATH[:a :b* :c*](a, b, c)")], ids=["Q2", "Q3"])
def test_one_path_is_reached(text: str, path: str) -> None:
    found = list_plans(ask(text), 3_000)
    one = next(plan for plan in found if write_text(plan[0]) == path)
    assert isinstance(one[0], Path)
    assert "fold alternation" in found[one]
