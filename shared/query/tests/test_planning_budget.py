"""Any pattern is planned in bounded work: the best plan that was found, or a cheap one, and what exceeds it is refused."""

from __future__ import annotations

import random
from itertools import combinations, islice, pairwise, product
from math import exp, isfinite
from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import MAX_EDGES, QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.plans import FilteringPlan, Plan, SearchPlan, SjTreePlan, Storage, TimingPlan
from graphtide_core.statistics import Direction, EdgeEnd, EdgeType, PathType, StatisticsSnapshot
from graphtide_core.time import Duration, EventTime
from graphtide_query.estimates.budget import PlanningBudget, PlanningBudgetError
from graphtide_query.estimates.colocation import EngineLoad
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.families import AUTO, FAMILIES, PlannerOptions, engine_of
from graphtide_query.planner import plan
from graphtide_testing.planner_options import planner_options_of
from graphtide_testing.seeds import sample
from graphtide_testing.strategies import PatternShape, patterns
from hypothesis import given

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHAPES = {
    "chain": [(place, place + 1) for place in range(MAX_EDGES)],
    "cycle": [(place, (place + 1) % MAX_EDGES) for place in range(MAX_EDGES)],
    "star": [(0, place + 1) for place in range(MAX_EDGES)],
    "tree": [(place // 2, place + 1) for place in range(MAX_EDGES)],
    "clique": sorted(islice(combinations(range(12), 2), MAX_EDGES), key=lambda ends: (max(ends), ends)),
    "parallel": [(0, 1)] * MAX_EDGES,
    "loops": [(0, 0)] * MAX_EDGES,
}
ORDERS: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "unordered": lambda _: [],
    "total": lambda edges: list(pairwise(range(edges))),
    "two chains": lambda edges: [(place, place + 2) for place in range(edges - 2)],
    "layers": lambda edges: [(one, two) for one in range(edges) for two in range(edges) if one % 4 + 1 == two % 4],
    "one before all": lambda edges: [(0, place) for place in range(1, edges)],
}
PLANNER_OPTIONS = [PlannerOptions(AUTO), PlannerOptions("sj-tree"), *planner_options_of("isomorphism")]
DIFFERENT_PLANS = [each for each in PLANNER_OPTIONS if each.engine != "timing" or each.variants == {"timing": "ms-tree"}]
"""Each way to plan once: what stores partial matches does not change the plan of the timing engine."""
FAR_BELOW_THE_BOUND = PlanningBudget(most=PlanningBudget().most // 10)


def count() -> StatisticsSnapshot:
    """A stream of five labels of which every two meet more or less often."""
    kinds = [EdgeType(None, f"l{number}", None) for number in range(5)]
    ends = [EdgeEnd(kind, direction) for kind in kinds for direction in Direction]
    paths = {PathType.of(one, two): 50 * place % 4_000 for place, (one, two) in enumerate(combinations(ends, 2), 1)}
    return StatisticsSnapshot(
        first_ts=EventTime(0),
        last_ts=EventTime(10_000),
        edges=20_000,
        vertices=3_000,
        types={kind: 4_000 * (place + 1) // 3 for place, kind in enumerate(kinds)},
        paths=paths,
    )


def hubs(seed: int) -> StatisticsSnapshot:
    """A dense stream whose labels are more and less rare, and meet at hubs, some often and some hardly ever."""
    drawn = random.Random(seed)
    kinds = [EdgeType(None, f"l{number}", None) for number in range(5)]
    types = {kind: int(200_000 * exp(-4 * drawn.random())) for kind in kinds}
    paths = {
        PathType.of(one, two): int(types[one.kind] * types[two.kind] / 50 * 10 ** drawn.uniform(-2, 1))
        for one, two in combinations([EdgeEnd(kind, direction) for kind in kinds for direction in Direction], 2)
    }
    return StatisticsSnapshot(
        first_ts=EventTime(0), last_ts=EventTime(10_000), edges=sum(types.values()), vertices=500, types=types, paths=paths
    )


KNOWN = {"nothing": StatisticsSnapshot(), "paths": count()}
CHOSEN = [(shape, list(ORDERS)[place % len(ORDERS)]) for place, shape in enumerate(SHAPES)]
"""Each shape and each order; every run adds some of the others, and the long runs all."""
OTHERS = [(*each, known) for each in product(SHAPES, ORDERS) for known in KNOWN if known == "nothing" or each not in CHOSEN]


def build_pattern(shape: str, order: str, edges: int = MAX_EDGES) -> SubgraphPattern:
    ends = SHAPES[shape][:edges] if shape != "cycle" else [(place, (place + 1) % edges) for place in range(edges)]
    names = dict.fromkeys(f"v{end}" for pair in ends for end in pair)
    parts = tuple(
        QueryEdge(f"e{place}", f"v{source}", f"v{target}", f"l{place * place % 7}")
        for place, (source, target) in enumerate(ends)
    )
    timing = TimingOrder.of((f"e{one}", f"e{two}") for one, two in ORDERS[order](edges))
    return SubgraphPattern(
        PatternName(f"{shape}, {order}"), tuple(map(QueryVertex, names)), parts, Duration(1_000), StreamName("s"), timing
    )


def check(made: Plan) -> None:
    """Every search reaches each edge over those before it, and every part of a decomposition touches those before it."""
    edges, physical = made.pattern.edges, made.physical

    def ends(places: Sequence[int]) -> set[str]:
        return {end for place in places for end in (edges[place].source, edges[place].target)}

    match physical:
        case TimingPlan(subqueries=parts) | SjTreePlan(leaves=parts):
            orders = [parts]
        case SearchPlan(orders=searches) | FilteringPlan(orders=searches):
            orders = [tuple((place,) for place in search) for search in searches]
            assert [search[0] for search in searches] == list(range(len(edges)))
    for parts in orders:
        assert sorted(place for part in parts for place in part) == list(range(len(edges)))
        for number, part in enumerate(parts[1:], start=1):
            assert ends([place for before in parts[:number] for place in before]) & ends(part)
    if isinstance(physical, TimingPlan):
        for sequence in physical.subqueries:
            assert all(made.pattern.order.precedes(edges[one].name, edges[two].name) for one, two in pairwise(sequence))
            assert all(ends(sequence[:depth]) & ends(sequence[depth : depth + 1]) for depth in range(1, len(sequence)))


@pytest.mark.parametrize(("shape", "order"), CHOSEN)
def test_a_pattern_of_the_most_edges_is_planned_at_once_whatever_its_shape(shape: str, order: str) -> None:
    check_plans_of_the_most_edges(shape, order, "paths")


def test_other_shapes_and_orders_of_the_most_edges_are_planned_at_once(subtests: pytest.Subtests) -> None:
    for shape, order, known in sample(OTHERS, 2):
        with subtests.test(f"{shape}, {order}, {known}"):
            check_plans_of_the_most_edges(shape, order, known)


def check_plans_of_the_most_edges(shape: str, order: str, known: str) -> None:
    """A tenth of the bound on a pattern's planning is enough for any shape."""
    pattern = build_pattern(shape, order)
    for planner_options in DIFFERENT_PLANS:
        made = plan(pattern, planner_options, statistics=KNOWN[known], budget=FAR_BELOW_THE_BOUND)
        check(made)
        assert all(isfinite(each.nanoseconds) and isfinite(each.partial_matches) for each in made.considered)


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_plan_made_within_a_small_budget_costs_about_as_much_as_the_best(shape: str, order: str, known: str) -> None:
    pattern, statistics = build_pattern(shape, order, 12), KNOWN[known]
    model = CostModel(pattern, statistics, 1_000)
    for engine in (*FAMILIES["isomorphism"].names, AUTO):
        unbounded = plan(pattern, engine, statistics=statistics, budget=PlanningBudget(search=10_000_000, most=100_000_000))

        bounded = plan(pattern, engine, statistics=statistics, budget=PlanningBudget(search=10_000))

        costs = [engine_of(made.physical).cost(model, made.physical, EngineLoad()).nanoseconds for made in (bounded, unbounded)]
        assert costs[0] <= 1.2 * costs[1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("order", ["unordered", "two chains", "layers"])
@pytest.mark.parametrize("shape", ["clique", "star", "tree"])
def test_search_orders_are_as_good_if_the_budget_is_spent_at_once(shape: str, order: str, seed: int) -> None:
    """On a stream with hubs the wrong edge next costs many times as much, and what promised little may do much by now."""
    pattern, statistics = build_pattern(shape, order, 16), hubs(seed)
    model = CostModel(pattern, statistics, 1_000)
    for engine in ("re-search", "filtering"):
        unbounded = plan(pattern, engine, statistics=statistics, budget=PlanningBudget(search=10_000_000, most=100_000_000))

        grown = plan(pattern, engine, statistics=statistics, budget=PlanningBudget(search=0))

        costs = [engine_of(made.physical).cost(model, made.physical, EngineLoad()).nanoseconds for made in (grown, unbounded)]
        assert costs[0] <= 1.2 * costs[1]


@pytest.mark.parametrize(("shape", "seed"), [*(("clique", seed) for seed in range(5)), ("star", 0), ("star", 4)])
def test_a_decomposition_is_as_good_if_the_budget_is_spent(shape: str, seed: int) -> None:
    pattern, statistics = build_pattern(shape, "total", 18), hubs(seed)
    model = CostModel(pattern, statistics, 1_000)
    unbounded = plan(pattern, "timing", statistics=statistics, budget=PlanningBudget(search=10_000_000, most=100_000_000))

    bounded = plan(pattern, "timing", statistics=statistics, budget=PlanningBudget(search=20_000))

    costs = [engine_of(made.physical).cost(model, made.physical, EngineLoad()).nanoseconds for made in (bounded, unbounded)]
    assert costs[0] <= 1.2 * costs[1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_stores_of_the_timing_engine_have_one_plan(shape: str, order: str) -> None:
    subqueries = set()
    for storage in Storage:
        made = plan(build_pattern(shape, order, 8), PlannerOptions.of("timing", storage.value), statistics=KNOWN["paths"])
        assert isinstance(made.physical, TimingPlan)
        subqueries.add(made.physical.subqueries)
    assert len(subqueries) == 1


@given(patterns(PatternShape()))
def test_a_plan_that_spends_its_budget_at_once_is_a_plan(pattern: SubgraphPattern) -> None:
    for planner_options in PLANNER_OPTIONS:
        check(plan(pattern, planner_options, budget=PlanningBudget(search=0)))


def test_a_pattern_that_needs_more_work_than_it_may_have_is_refused_with_the_reason() -> None:
    with pytest.raises(PlanningBudgetError) as caught:
        plan(build_pattern("star", "total"), AUTO, budget=PlanningBudget(most=5_000))

    reason = "pattern 'star, total' cannot be planned within its budget of 5,000 units of work"
    assert str(caught.value) == f"{reason}; split it into patterns with fewer edges, rules or alternatives"
