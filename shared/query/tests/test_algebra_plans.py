"""Plans of streaming graph queries: translated, compiled, searched, estimated and laid open."""

from __future__ import annotations

import doctest
import json
import random
from dataclasses import replace

import pytest
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans.algebra import JoinOperator, PathOperator, ScanOperator, UnionOperator
from graphtide_core.statistics import DegreeMoments, EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime, TimeUnit
from graphtide_query import explain, parse
from graphtide_query.estimates.budget import PlanningBudget, PlanningBudgetError, Work
from graphtide_query.families import PlannerOptions
from graphtide_query.families.algebra import nodes
from graphtide_query.families.algebra.cost import AlgebraCost
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.planning import plan_graph_query
from graphtide_query.families.algebra.rewriting import fixed_parts, normalize, rewritings
from graphtide_query.families.algebra.search import best_steps, search_plans
from graphtide_query.families.algebra.translation import canonical
from graphtide_query.planner import plan_all
from graphtide_testing.algebra_text import read, write_text
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query

BUSY = StatisticsSnapshot(
    window=TimeRange(EventTime(0), EventTime(1_000)),
    first_ts=EventTime(0),
    last_ts=EventTime(1_000),
    edges=4_000,
    vertices=300,
    types={EdgeType(None, label, None): count for label, count in (("a", 1_600), ("b", 1_200), ("c", 1_199), ("r", 1))},
    out_degrees=DegreeMoments(250, 4_000, 240_000, 90),
    in_degrees=DegreeMoments(260, 4_000, 220_000, 80),
)
"""A stream in which closures reach far."""


def ask(text: str, window: str = "WINDOW(10)") -> GraphQuery:
    (query,) = parse(f"QUERY q {text} ON s {window}")
    return query  # type: ignore[return-value]  # the text is of a graph query


def plan(text: str, known: StatisticsSnapshot | None = BUSY, window: str = "WINDOW(500) SLIDE(50)") -> str:
    plan = plan_graph_query(ask(text, window), PlannerOptions(), statistics=known)
    return write_text(plan.physical.logical[0]).replace("@500", "")


# ---- translation


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("Answer(x, y) <- a(x, y).", "a"),
        ("Answer(x, y) <- a(y, x).", "PATTERN[x, y](a as (y, x))"),
        ("Answer(x, y) <- /:a*/(x, y).", 'PATH[:":a"+](a = ":a")'),
        ("Answer(x, y) <- /:a | :b/(x, y).", "UNION(a, b)"),
        ("Answer(x, y) <- a(x, y). Answer(x, y) <- b(x, y).", "UNION(a, b)"),
        ("Answer(x, y) <- /:a :b*/(x, y).", 'UNION(PATTERN[x0, x2](a as (x0, x1), PATH[:":b"+](b = ":b") as (x1, x2)), a)'),
        ("Answer(x, y) <- /:a? :b?/(x, y).", "UNION(PATTERN[x0, x2](a as (x0, x1), b as (x1, x2)), a, b)"),
        (
            "RL(x, y) <- a(x, m), b(m, y). Answer(x, y) <- RL+(x, y).",
            'PATH[:":RL"+](PATTERN[x, y](a as (x, m), b as (m, y)) = ":RL")',
        ),
    ],
)
def test_the_canonical_plan(text: str, expression: str) -> None:
    (found,) = canonical(ask(text))
    assert write_text(found) == expression


# ---- operators


def test_equal_expressions_are_one_operator() -> None:
    query = ask("h(x, y) <- a+(x, y). Answer(x, z) <- h(x, y), h(y, z).")
    plan = compile_plan(query, canonical(query))
    assert [type(each) for each in plan.operators] == [ScanOperator, PathOperator, JoinOperator]
    join = plan.operators[-1]
    assert isinstance(join, JoinOperator)
    assert [part.operand for part in join.parts] == [1, 1]


def test_steps_make_a_join_after_the_other() -> None:
    query = ask("Answer(x, w) <- a(x, y), b(y, z), c(z, w).")
    (pattern,) = canonical(query)
    plan = compile_plan(query, (pattern,), steps={pattern: ((0, 1), (2,))})  # type: ignore[dict-item]  # it is a PATTERN
    first, second = (each for each in plan.operators if isinstance(each, JoinOperator))
    assert first.columns == ("x", "z"), "what later joins and columns need, and no more"
    assert second.columns == ("x", "w")


def test_a_known_end_is_where_a_path_is_walked_from() -> None:
    (found,) = [read("PATH[:a :b, to v](a, b)")]
    plan = compile_plan(ask("Answer(x, y) <- a(x, y), b(x, y)."), (found,))
    path = plan.operators[-1]
    assert isinstance(path, PathOperator)
    assert (path.root, path.is_reversed) == ("v", True)
    assert [is_inverse for _, is_inverse in path.symbols] == [True, True]


def test_two_known_ends_are_a_path_from_one_and_a_comparison() -> None:
    plan = compile_plan(ask("Answer(x, y) <- a(x, y)."), (read("PATH[:a+, from v, to w](a)"),))
    join = plan.operators[-1]
    assert isinstance(join, JoinOperator)
    assert join.constants == (("target", "w"),)


def test_a_union_is_an_operator_over_each() -> None:
    plan = compile_plan(ask("Answer(x, y) <- a(x, y). Answer(x, y) <- b(x, y)."), (read("UNION(a, b)"),))
    assert isinstance(plan.operators[-1], UnionOperator)
    assert plan.operators[-1].operands == (0, 1)


# ---- the search


@pytest.mark.parametrize("known", [BUSY, None], ids=["busy", "nothing known"])
def test_paths_of_table_1_are_one_path(known: StatisticsSnapshot | None) -> None:
    assert plan("Answer(x, y) <- /:a :b*/(x, y).", known) == "PATH[:a :b*](a, b)"
    assert plan("Answer(x, y) <- /:a :b* :c*/(x, y).", known) == "PATH[:a :b* :c*](a, b, c)"
    assert plan("Answer(x, y) <- /(:a :b :c)+/(x, y).", known) == "PATH[(:a :b :c)+](a, b, c)"


def test_a_cycle_of_edges_is_joined_at_once() -> None:
    query = ask("Answer(x, y, z) <- a(x, y), b(y, z), c(z, x).", "WINDOW(500)")
    plan = plan_graph_query(query, PlannerOptions(), statistics=BUSY)
    assert [len(each.parts) for each in plan.physical.operators if isinstance(each, JoinOperator)] == [3]


def test_a_rare_part_is_joined_before_what_is_frequent() -> None:
    query = ask("Answer(x, w) <- a(x, y), b(y, z), r(z, w).", "WINDOW(500)")
    (pattern,) = canonical(query)
    groups, _ = best_steps(pattern, AlgebraCost(BUSY, TimeUnit.MILLISECOND))  # type: ignore[arg-type]  # it is a PATTERN
    assert groups in {((0, 1, 2),), ((1, 2), (0,))}


def test_one_root_is_estimated_far_cheaper_than_all() -> None:
    cost = AlgebraCost(BUSY, TimeUnit.MILLISECOND)
    one, every = (cost.of(read(text)) for text in ("PATH[:a+, from v](a@500)", "PATH[:a+](a@500)"))
    assert 20 * one.held < every.held
    assert 2 * one.nanoseconds < every.nanoseconds
    assert ", from v]" in plan('Answer(y) <- /:a+/("v", y).')


def test_more_edges_are_estimated_to_cost_more() -> None:
    cost = AlgebraCost(BUSY, TimeUnit.MILLISECOND)
    for text in ("a@{}", "PATH[:a+](a@{})", "PATTERN[x, z](a@{0} as (x, y), b@{0} as (y, z))", "UNION(a@{0}, b@{0})"):
        short, long = (cost.of(read(text.format(length))) for length in (50, 500))
        assert short.tuples < long.tuples, text
        assert short.held < long.held, text


def test_estimates_are_finite_and_never_negative() -> None:
    for seed in seeds(60):
        query = random_graph_query(random.Random(seed), GraphQueryShape())
        for known in (BUSY, None):
            cost = AlgebraCost(known, TimeUnit.MILLISECOND)
            start = normalize(canonical(query))
            for plan in (start, *(new for _, new in rewritings(start))):
                for each in plan:
                    estimate = cost.of(each)
                    assert 0 <= estimate.tuples < float("inf")
                    assert 0 <= estimate.nanoseconds < float("inf")
                    most = max(1.0, estimate.sources) * max(1.0, estimate.targets)
                    assert estimate.tuples <= most * (1 + 1e-9) or len(query.outputs[0].columns) > 2


def test_the_search_is_bounded_and_the_same_each_time() -> None:
    query = ask("Answer(x, y) <- /:a :b* :c* :a* :b* :c*/(x, y).", "WINDOW(500)")
    logical = canonical(query)
    fixed, budget = fixed_parts(query, logical), PlanningBudget(search=30_000)
    work = Work("q", budget)
    found = search_plans(logical, fixed, AlgebraCost(BUSY, TimeUnit.MILLISECOND), work.search())
    again = search_plans(logical, fixed, AlgebraCost(BUSY, TimeUnit.MILLISECOND), Work("q", budget).search())
    assert found == again
    assert work.done < 60_000, "a step past the end at most"
    assert [each.nanoseconds for each in found] == sorted(each.nanoseconds for each in found)
    assert any(not each.rules for each in found)


def test_a_query_past_all_budgets_is_refused() -> None:
    with pytest.raises(PlanningBudgetError, match="'q' cannot be planned within its budget"):
        plan_graph_query(ask("Answer(x, y) <- /:a :b*/(x, y)."), PlannerOptions(), budget=PlanningBudget(most=10))


def test_a_part_that_returns_a_path_stays_as_it_is_written() -> None:
    query = ask("h(x, y) <- /:a :b/(x, y). Answer(x, y) <- h+(x, y) as P.")
    unreported, emitted = (replace(query, outputs=(replace(query.outputs[0], path=path),)) for path in (None, "P"))
    assert list(rewritings(canonical(unreported), fixed_parts(unreported, canonical(unreported))))
    assert not list(rewritings(canonical(emitted), fixed_parts(emitted, canonical(emitted))))
    assert plan_graph_query(emitted, PlannerOptions(), statistics=BUSY).physical.logical == canonical(emitted)


# ---- EXPLAIN


def test_variants_are_distinguished() -> None:
    query = ask("Answer(x, y) <- /(:a :b :c)+/(x, y).", "WINDOW(500)")
    written_plan = plan_graph_query(query, PlannerOptions.of("s-path", "canonical"), statistics=BUSY)
    assert written_plan.physical.rules == ()
    assert written_plan.physical.logical == canonical(query)
    assert plan_graph_query(query, PlannerOptions.of("s-path", "searched"), statistics=BUSY).physical.rules == (
        "inline concatenation",
    )


def test_explain_shows_expressions_rules_estimates_and_plans() -> None:
    query = ask("Answer(x, y) <- /(:a :b :c)+/(x, y).", "WINDOW(500)")
    (plan,) = plan_all([query], PlannerOptions(), statistics=BUSY)
    explanation = explain.explain(plan)
    text = explain.to_text([explanation])
    assert "rules: inline concatenation" in text
    assert "    PATH[(:a :b :c)+]\n      a = WSCAN[a, 500]\n" in text
    assert "as the query is written: PATH[:`:a :b :c`+]" in text
    (emitted,) = json.loads(explain.to_json([explanation]))
    assert [each["is_chosen"] for each in emitted["plans"]].count(True) == 1
    assert all(node["estimate"] is not None for node in emitted["nodes"])
    assert emitted["plans"] == sorted(emitted["plans"], key=lambda each: each["nanoseconds"])
    for picture in (explain.to_dot, explain.to_mermaid, explain.to_svg, explain.to_html):
        assert "4 states over 3 symbols" in picture([explanation])


def test_a_path_of_one_label_is_written_as_in_the_query() -> None:
    query = ask("Answer(x, y) <- follows+(x, y).", "WINDOW(500)")
    (path,) = canonical(query)
    assert nodes.tree(path) == ("PATH[:follows+]", "  follows = WSCAN[follows, 500]")


def test_the_example_of_a_tree_holds() -> None:
    assert doctest.testmod(nodes) == (0, 2)


# ---- engines


def weigh(text: str, known: StatisticsSnapshot | None = BUSY) -> tuple[str, dict[str, float]]:
    plan = plan_graph_query(ask(text, "WINDOW(500) SLIDE(50)"), PlannerOptions(), statistics=known)
    return plan.engine, {each.engine.value: each.nanoseconds for each in plan.engines}


@pytest.mark.parametrize("known", [BUSY, None])
@pytest.mark.parametrize(
    "text", ['r(y, y) <- a+("v", y).', 'r(x, x) <- /:a :b*/(x, "v").', 'r(y, y) <- a+("v", y), b+("w", y).']
)
def test_paths_from_one_vertex_are_run_by_a_tree(text: str, known: StatisticsSnapshot | None) -> None:
    engine, engines = weigh(text, known)
    assert engine == "delta-tree"
    assert engines["delta-tree"] < engines["s-path"]


@pytest.mark.parametrize("known", [BUSY, None])
@pytest.mark.parametrize("text", ["r(x, y) <- a+(x, y).", "r(x, y) <- /:a :b* :c*/(x, y).", "r(x, y) <- a+(x, y), b(y, x)."])
def test_paths_from_many_vertices_are_run_side_by_side(text: str, known: StatisticsSnapshot | None) -> None:
    engine, engines = weigh(text, known)
    assert engine == "s-path"
    assert engines["s-path"] < engines["delta-tree"]


def test_without_paths_both_engines_cost_the_same() -> None:
    engine, engines = weigh("r(x, z) <- a(x, y), b(y, z).")
    assert engine == "s-path"
    assert engines["s-path"] == engines["delta-tree"]


def test_a_path_from_one_vertex_beside_one_from_many_does_not_decide() -> None:
    assert weigh('r(x, y) <- a+("v", x), b+(x, y).')[0] == "s-path"


@pytest.mark.parametrize(
    ("rule", "root", "is_reversed"),
    [
        ('r(y, y) <- a+("v", y) AS way.', "v", False),
        ('r(x, x) <- a+(x, "v") AS way.', "v", True),
        ('r(x, y) <- a+(x, y) AS way WHERE x.id = "v".', "v", False),
        ('r(x, y) <- a+(x, y) AS way WHERE y.id = "v" AND x.id = "u".', "u", False),
        ("r(x, y) <- a+(x, y) AS way.", None, False),
    ],
)
def test_a_returned_path_is_walked_from_its_known_end(rule: str, root: str | None, *, is_reversed: bool) -> None:
    (query,) = parse(f"QUERY q {rule} ON s WINDOW(500) RETURN way")
    assert isinstance(query, GraphQuery)
    plan = plan_graph_query(query, PlannerOptions(), statistics=BUSY)
    (path,) = (each for each in plan.physical.operators if isinstance(each, PathOperator))
    assert (path.root, path.is_reversed) == (root, is_reversed)
    assert plan.engine == ("s-path" if root is None else "delta-tree")


def test_a_requested_engine_is_compared_with_none() -> None:
    plan = plan_graph_query(ask("r(x, y) <- a+(x, y)."), PlannerOptions("delta-tree"), statistics=BUSY)
    assert (plan.engine, plan.engines) == ("delta-tree", ())


def test_explain_shows_what_each_engine_would_cost() -> None:
    plan = plan_graph_query(ask('r(y, y) <- a+("v", y).'), PlannerOptions(), statistics=BUSY)
    emitted = explain.explain(plan)
    (shown,) = json.loads(explain.to_json([emitted]))
    assert list(shown["engines"]) == ["delta-tree", "s-path"]
    (line,) = [line for line in explain.to_text([emitted]).splitlines() if "engines that were compared" in line]
    assert all(f"{name} {nanoseconds:,.1f}" in line for name, nanoseconds in shown["engines"].items())
