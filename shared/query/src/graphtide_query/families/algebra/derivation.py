"""Send a plan of a streaming graph query as the steps that derive it from the query, and derive it again.

A `Derivation` has the rules that led to the plan, their places, and the join orders of PATTERNs. The host applies the same
steps. So a received plan either answers its query or cannot be derived. Cost: that of applying the rules along one path of the
search.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_core.plans import MOST_REWRITINGS, ConsideredPlan, Derivation, GraphPlan, JoinSteps

from graphtide_query.estimates.budget import PlanningBudget, Work
from graphtide_query.families.algebra.cost import AlgebraCost
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.rewriting import fixed_parts, normalize, number_rewritings, patterns_of
from graphtide_query.families.algebra.search import estimate_cost, units_of_rewriting
from graphtide_query.families.algebra.translation import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from graphtide_core.algebra import Algebra, Pattern
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.plans import AlgebraPlan, Candidate, DerivedPlan, PathEngine, Rewriting
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

    from graphtide_query.estimates.budget import WorkBudget
    from graphtide_query.families.algebra.physical import Steps
    from graphtide_query.families.algebra.rewriting import Plan


def derivation_of(
    plan: Plan, engine: PathEngine, rewritings: tuple[Rewriting, ...] | None, steps: Mapping[Pattern, Steps]
) -> Derivation:
    """Return the derivation of a plan by these rewritings and these steps of joins."""
    found = ((number, steps.get(each)) for number, each in enumerate(patterns_of(plan)))
    joins = tuple(JoinSteps(number, groups) for number, groups in found if groups is not None)
    return Derivation(engine, rewritings, joins)


def derive_plan(query: GraphQuery, derivation: Derivation) -> AlgebraPlan:
    """Return the plan that a derivation gives for a query.

    Raises:
        InvalidQueryError: a rule does not apply, or a join names parts that do not exist.
    Complexity: at most that of planning the query.
    """
    plan, steps = _follow(query, derivation)
    found = compile_plan(query, plan, derivation.engine, steps, derivation.rules)
    if derivation.estimates and len(derivation.estimates) != len(found.operators):
        message = f"the plan has {len(found.operators)} operators and {len(derivation.estimates)} estimates"
        raise InvalidQueryError(message)
    return replace(found, estimates=derivation.estimates)


def derive_with_alternatives(plan: DerivedPlan) -> GraphPlan:
    """Return the plan of a query with the plans it was compared with, cheapest first.

    Raises:
        InvalidQueryError: as `derive_plan`.
    """
    considered = sorted(plan.considered, key=lambda each: each.nanoseconds)
    reported = (
        _describe_candidate(plan.pattern, each, each.physical) for each in considered if isinstance(each.physical, Derivation)
    )
    return GraphPlan(plan.pattern, derive_plan(plan.pattern, plan.physical), tuple(reported), plan.engines, plan.physical)


def cost_of(query: GraphQuery, derivation: Derivation, unit: TimeUnit, statistics: StatisticsSnapshot | None) -> float:
    """Return the estimated cost of the plan of a derivation on a stream, in nanoseconds for an edge.

    Raises:
        InvalidQueryError: as `derive_plan`.
    """
    plan, steps = _follow(query, derivation)
    return estimate_cost(plan, steps, AlgebraCost(statistics, unit, derivation.engine))[0]


def is_cheaper(
    query: GraphQuery, new: Derivation, old: Derivation, *, unit: TimeUnit, known: StatisticsSnapshot, margin: float
) -> bool:
    """Return whether a plan of a query is estimated cheaper than another by a margin, on the stream's current statistics.

    Args:
        query: the query of both.
        new: the plan that would run.
        old: the plan that runs.
        unit: of the stream's time.
        known: statistics of the stream now.
        margin: share of the old cost that the new one must stay below.

    Raises:
        InvalidQueryError: as `derive_plan`.
    """
    return new != old and cost_of(query, new, unit, known) < margin * cost_of(query, old, unit, known)


def _describe_candidate(query: GraphQuery, candidate: Candidate, derivation: Derivation) -> ConsideredPlan:
    return ConsideredPlan(_follow(query, derivation)[0], candidate.nanoseconds, candidate.partial_matches, derivation.rules)


def _follow(query: GraphQuery, derivation: Derivation) -> tuple[Plan, dict[Pattern, Steps]]:
    """Return the plan that a derivation leads to, and how its PATTERNs are joined."""
    plan: Plan = canonical(query)
    if derivation.rewritings is not None:
        fixed = fixed_parts(query, plan)
        plan = _rewrite(query, normalize(plan, fixed), fixed, derivation.rewritings)
    patterns = patterns_of(plan)
    steps: dict[Pattern, Steps] = {}
    for join in derivation.joins:
        if not 0 <= join.pattern < len(patterns):
            message = f"the plan joins PATTERN {join.pattern} and has only {len(patterns)}"
            raise InvalidQueryError(message)
        pattern = patterns[join.pattern]
        if sorted(chain.from_iterable(join.groups)) != list(range(len(pattern.parts))) or not all(join.groups):
            message = f"the plan does not join each of the {len(pattern.parts)} parts of PATTERN {join.pattern} once"
            raise InvalidQueryError(message)
        steps[pattern] = join.groups
    return plan, steps


def _rewrite(query: GraphQuery, start: Plan, fixed: Set[Algebra], rewritings: Sequence[Rewriting]) -> Plan:
    if len(rewritings) > MOST_REWRITINGS:
        message = f"a plan may have at most {MOST_REWRITINGS} rewritings; this one has {len(rewritings)}"
        raise InvalidQueryError(message)
    work_budget = Work(query.name, PlanningBudget()).search()
    for rewriting in rewritings:
        start = _step(start, fixed, rewriting, work_budget)
    return start


def _step(plan: Plan, fixed: Set[Algebra], rewriting: Rewriting, work_budget: WorkBudget) -> Plan:
    """Return the plan that a step leads to; the search examined everything that this examines."""
    for each, new in number_rewritings(plan, fixed):
        if not work_budget.left:
            message = "the plan needs more rewritings than the planner may examine"
            raise InvalidQueryError(message)
        work_budget.work.do(units_of_rewriting(new))
        if each == rewriting:
            return new
    message = f"the rule {rewriting.rule!r} does not apply in place {rewriting.number} of the plan before it"
    raise InvalidQueryError(message)
