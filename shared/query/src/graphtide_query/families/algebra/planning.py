"""Plan streaming graph queries: for the requested engine and variant, or for the cheapest engine.

Without a requested engine, the search compares plans as `s-path` runs them; the best plan then runs on the engine with the
lowest estimate. If both cost the same, as without PATHs, that is `s-path`.

Variants: `searched`, the cheapest plan that the transformation rules lead to; `canonical`, the translation of the query as it
is written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.durations import refuse_shorter_than_a_tick
from graphtide_core.plans import Candidate, ConsideredEngine, Derivation, DerivedPlan, PathEngine
from graphtide_core.time import TimeUnit

from graphtide_query.estimates.budget import PlanningBudget, Work
from graphtide_query.families.algebra.cost import AlgebraCost
from graphtide_query.families.algebra.derivation import derivation_of, derive_with_alternatives
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.rewriting import fixed_parts
from graphtide_query.families.algebra.search import estimate_cost, search_plans
from graphtide_query.families.algebra.translation import canonical
from graphtide_query.families.planner_options import AUTO
from graphtide_query.families.variants import CANONICAL, PLANS_OF_QUERIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.algebra import Algebra, Pattern
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.plans import GraphPlan
    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide_query.families.algebra.physical import Steps
    from graphtide_query.families.algebra.rewriting import Plan
    from graphtide_query.families.algebra.search import Found
    from graphtide_query.families.planner_options import PlannerOptions

_ALIKE: Final = 1.05
"""A plan derived by fewer rules is preferred if it costs at most this many times as much as the cheapest."""

_MOST_CONSIDERED: Final = 4
"""The plans that are reported beside the canonical one, cheapest first."""


def plan_graph_query(
    query: GraphQuery,
    planner_options: PlannerOptions,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - frozen, so one instance serves all
) -> GraphPlan:
    """Return the plan of a query that `choose_plan` chooses; arguments and errors are as there."""
    return derive_with_alternatives(choose_plan(query, planner_options, unit=unit, statistics=statistics, budget=budget))


def choose_plan(
    query: GraphQuery,
    planner_options: PlannerOptions,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - frozen, so one instance serves all
) -> DerivedPlan:
    """Choose a plan for a query; if there was a choice, `considered` begins with the plan itself.

    Args:
        query: the query.
        planner_options: the requested engine and variant.
        unit: of the stream's time.
        statistics: statistics of the stream; without them, only structure decides.
        budget: how much work the search may do.

    Raises:
        InvalidQueryError: the engine has no such variant, or a window or slide is shorter than a tick.
        PlanningBudgetError: the query cannot be planned within the budget.
    """
    engine = PathEngine.S_PATH if planner_options.engine == AUTO else PathEngine(planner_options.engine)
    variant = planner_options.variant_among(engine.value, PLANS_OF_QUERIES)
    refuse_shorter_than_a_tick(query, unit)
    work = Work(query.name, budget)
    logical, cost = canonical(query), AlgebraCost(statistics, unit, engine, work)
    if variant == CANONICAL:
        return DerivedPlan(query, _estimate(query, Derivation(engine), logical, {}, cost))
    found = search_plans(logical, fixed_parts(query, logical), cost, work.search())
    # Of plans that are about as cheap, take the one nearest to the query, which may be the canonical one.
    near = [each for each in found if each.nanoseconds <= _ALIKE * found[0].nanoseconds]
    best = min(near, key=lambda each: len(each.rewritings))
    first = next(each for each in found if not each.rewritings)
    shown = [best, *(each for each in _select_considered(found, best, first) if each is not best)]
    # The search has priced the normal form of the query; the query as it is written may cost more.
    written = estimate_cost(logical, {}, cost)
    is_written = best is first and not best.steps and written[0] <= _ALIKE * found[0].nanoseconds
    engines: tuple[ConsideredEngine, ...] = ()
    if planner_options.engine == AUTO:
        costs = ((each, AlgebraCost(statistics, unit, each, work)) for each in PathEngine)
        priced = (ConsideredEngine(each, estimate_cost(best.plan, best.steps, own)[0]) for each, own in costs)
        engines = tuple(sorted(priced, key=lambda each: each.nanoseconds))
        engine = engines[0].engine
    derivations = [derivation_of(each.plan, engine, each.rewritings, each.steps) for each in shown]
    derivations[0] = Derivation(engine) if is_written else derivations[0]
    considered = [Candidate(way, each.nanoseconds, each.held) for way, each in zip(derivations, shown, strict=True)]
    if is_written:
        considered[0] = Candidate(derivations[0], *written)
    plan = logical if is_written else best.plan
    return DerivedPlan(query, _estimate(query, derivations[0], plan, best.steps, cost), tuple(considered), engines)


def _estimate(
    query: GraphQuery, derivation: Derivation, plan: Plan, steps: Mapping[Pattern, Steps], cost: AlgebraCost
) -> Derivation:
    """Return a derivation with the estimated state of each operator of its plan."""

    def held(expression: Algebra) -> float:
        return cost.of(expression).held

    return replace(derivation, estimates=compile_plan(query, plan, derivation.engine, steps, estimated=held).estimates)


def _select_considered(found: tuple[Found, ...], best: Found, first: Found) -> list[Found]:
    """Return the plans to report, cheapest first: the chosen one, the canonical one, and others that differ in cost."""
    by_cost = {f"{each.nanoseconds:.3g}": each for each in reversed(found)}
    cheapest = [each for each in found if by_cost[f"{each.nanoseconds:.3g}"] is each][:_MOST_CONSIDERED]
    return [each for each in found if each is best or each is first or any(each is other for other in cheapest)]
