"""What is sent of a plan of a streaming graph query leads to that very plan, on any machine, or to none."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from graphtide_core.errors import InvalidQueryError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans import MOST_REWRITINGS, Derivation, JoinSteps, Rewriting
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime, TimeUnit
from graphtide_query import parse
from graphtide_query.estimates.budget import PlanningBudget, Work
from graphtide_query.families.algebra.cost import AlgebraCost
from graphtide_query.families.algebra.derivation import cost_of, derive_plan, derive_with_alternatives
from graphtide_query.families.algebra.planning import choose_plan
from graphtide_query.families.algebra.rewriting import fixed_parts
from graphtide_query.families.algebra.search import search_plans
from graphtide_query.families.algebra.translation import canonical
from graphtide_query.families.planner_options import PlannerOptions
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query

BUSY = StatisticsSnapshot(
    window=TimeRange(EventTime(0), EventTime(1_000)),
    edges=10_000,
    vertices=500,
    types={EdgeType(None, label, None): count for label, count in (("a", 6_000), ("b", 3_000), ("c", 1_000))},
)
JOINED = "QUERY q Answer(x, w) <- a(x, y), b(y, z), c(z, w). ON s WINDOW(500)"


def ask(text: str) -> GraphQuery:
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return query


def test_a_derivation_leads_to_the_plan_that_the_search_found() -> None:
    rewritten = joined = 0
    for seed in range(25):
        query = random_graph_query(random.Random(seed), GraphQueryShape())
        plan, logical = choose_plan(query, PlannerOptions(), statistics=BUSY), canonical(query)
        cost = AlgebraCost(BUSY, TimeUnit.MILLISECOND)
        found = search_plans(logical, fixed_parts(query, logical), cost, Work(query.name, PlanningBudget()).search())
        plans = {each.rewritings: each.plan for each in found}
        for candidate in plan.considered:
            assert isinstance(candidate.physical, Derivation)
            way = candidate.physical.rewritings
            assert derive_plan(query, candidate.physical).logical == (logical if way is None else plans[way])
            assert cost_of(query, candidate.physical, TimeUnit.MILLISECOND, BUSY) == pytest.approx(candidate.nanoseconds)
        best, laid = plan.considered[0], derive_with_alternatives(plan)
        assert laid.physical.logical == (logical if plan.physical.rewritings is None else plans[plan.physical.rewritings])
        assert [each.nanoseconds for each in laid.considered] == sorted(each.nanoseconds for each in plan.considered)
        assert laid.physical.rules == plan.physical.rules
        assert len(laid.physical.estimates) == len(laid.physical.operators)
        assert best.nanoseconds <= 1.05 * laid.considered[0].nanoseconds
        rewritten += bool(plan.physical.rewritings)
        joined += bool(plan.physical.joins)
    assert rewritten > 5
    assert joined > 1


PRINT_CHOICES = """
import random
from graphtide_query.families.algebra.derivation import derive_plan
from graphtide_query.families.algebra.planning import choose_plan
from graphtide_query.families.planner_options import PlannerOptions
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
for seed in range(25):
    query = random_graph_query(random.Random(seed), GraphQueryShape())
    plan = choose_plan(query, PlannerOptions())
    print(plan.physical, [each.physical for each in plan.considered], derive_plan(query, plan.physical))
"""


def test_a_derivation_is_the_same_in_every_process() -> None:
    """Planner and hosts are processes with other hashes of strings: what depends on them would lead elsewhere."""
    emitted = [
        subprocess.run(
            [sys.executable, "-c", PRINT_CHOICES], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert emitted[0] == emitted[1]
    assert len(emitted[0].splitlines()) == 25


DAMAGED = {
    "does not apply in place 70": Derivation(rewritings=(Rewriting("inline concatenation", 70),)),
    "'no such rule' does not apply": Derivation(rewritings=(Rewriting("no such rule", 0),)),
    "at most 256 rewritings; this one has 257": Derivation(rewritings=(Rewriting("a", 0),) * (MOST_REWRITINGS + 1)),
    "joins PATTERN 4 and has only 1": Derivation(joins=(JoinSteps(4, ((0, 1, 2),)),)),
    "joins PATTERN -1": Derivation(joins=(JoinSteps(-1, ((0, 1, 2),)),)),
    "each of the 3 parts of PATTERN 0 once": Derivation(joins=(JoinSteps(0, ((0, 1), (1, 2))),)),
    "the 3 parts of PATTERN 0": Derivation(joins=(JoinSteps(0, ((0, 1),)),)),
    "3 parts of PATTERN 0": Derivation(joins=(JoinSteps(0, ((0, 1, 2), ())),)),
    "has 4 operators and 1 estimates": Derivation(estimates=(1.0,)),
}


@pytest.mark.parametrize("reason", DAMAGED)
def test_a_derivation_that_leads_nowhere_is_refused(reason: str) -> None:
    assert len(derive_plan(ask(JOINED), Derivation(joins=(JoinSteps(0, ((0, 1), (2,))),))).operators) == 5
    with pytest.raises(InvalidQueryError, match=reason):
        derive_plan(ask(JOINED), DAMAGED[reason])


def test_a_derivation_that_goes_round_in_circles_ends() -> None:
    query = ask("QUERY q Answer(x, y) <- /(:a :b)+ | (:b :c)+/(x, y). ON s WINDOW(500)")
    way = [Rewriting("inline concatenation", 0)] * MOST_REWRITINGS
    with pytest.raises(InvalidQueryError):
        derive_plan(query, Derivation(rewritings=tuple(way)))


def test_of_equal_plans_the_one_for_another_stream_is_estimated_anew() -> None:
    query = ask("QUERY q Answer(x, y, z) <- a(x, m), b(y, m), c(m, z). ON s WINDOW(500)")
    plan = choose_plan(query, PlannerOptions(), statistics=BUSY)
    counts = {EdgeType(None, label, None): count for label, count in (("a", 1_000), ("b", 3_000), ("c", 6_000))}
    other = replace(BUSY, types=counts)
    again = choose_plan(query, PlannerOptions(), statistics=other)
    assert plan.physical.joins != again.physical.joins
    then, now = (cost_of(query, each.physical, TimeUnit.MILLISECOND, other) for each in (plan, again))
    assert now < then
