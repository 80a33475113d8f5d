"""Plans of streaming graph queries as steps from the query to the plan: what is sent of a plan, and made one again.

Whoever plans a query says which rules led to the plan, in which places, and how PATTERNs are joined (`Derivation`). Whoever is
to run it goes the same steps. So a plan that comes from elsewhere answers its query, whatever it says, or cannot be made.
Cost: the rules are applied again along one way, of all those that the search went.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_core.plans import MOST_REWRITINGS, ConsideredPlan, Derivation, GraphPlan, JoinSteps

from graphtide_query.estimates.budget import PlanningBudget, Work
from graphtide_query.families.algebra.cost import AlgebraCost
from graphtide_query.families.algebra.physical import compiled
from graphtide_query.families.algebra.rewriting import fixed_parts, in_normal_form, numbered, patterns_of
from graphtide_query.families.algebra.search import estimated_cost, units_of_rewriting
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
    """Return how a plan is made: by these rewritings, and with PATTERNs joined in these steps."""
    found = ((number, steps.get(each)) for number, each in enumerate(patterns_of(plan)))
    joins = tuple(JoinSteps(number, groups) for number, groups in found if groups is not None)
    return Derivation(engine, rewritings, joins)


def derived(query: GraphQuery, derivation: Derivation) -> AlgebraPlan:
    """Return the plan of a query that a derivation leads to.

    Raises:
        InvalidQueryError: it leads nowhere: a rule does not apply, or parts are joined that are not there.
    Complexity: that of planning the query, at most.
    """
    plan, steps = _followed(query, derivation)
    found = compiled(query, plan, derivation.engine, steps, derivation.rules)
    if derivation.estimates and len(derivation.estimates) != len(found.operators):
        message = f"the plan has {len(found.operators)} operators, and estimates of {len(derivation.estimates)}"
        raise InvalidQueryError(message)
    return replace(found, estimates=derivation.estimates)


def laid_open(plan: DerivedPlan) -> GraphPlan:
    """Return the plan of a query with all that it was chosen from, cheapest first.

    Raises:
        InvalidQueryError: as `derived`.
    """
    considered = sorted(plan.considered, key=lambda each: each.nanoseconds)
    reported = (_considered(plan.pattern, each, each.physical) for each in considered if isinstance(each.physical, Derivation))
    return GraphPlan(plan.pattern, derived(plan.pattern, plan.physical), tuple(reported), plan.engines, plan.physical)


def cost_of(query: GraphQuery, derivation: Derivation, unit: TimeUnit, statistics: StatisticsSnapshot | None) -> float:
    """Return what the plan of a derivation is estimated to cost on a stream, in nanoseconds an edge.

    Raises:
        InvalidQueryError: as `derived`.
    """
    plan, steps = _followed(query, derivation)
    return estimated_cost(plan, steps, AlgebraCost(statistics, unit, derivation.engine))[0]


def is_cheaper(
    query: GraphQuery, new: Derivation, old: Derivation, *, unit: TimeUnit, known: StatisticsSnapshot, margin: float
) -> bool:
    """Whether a plan of a query is estimated cheaper than another by a margin, on the stream as it is known now.

    Args:
        query: the query of both.
        new: the plan that would run.
        old: the plan that runs.
        unit: what a tick of the stream's time is.
        known: statistics of the stream now.
        margin: share of the old cost that the new one must stay below.

    Raises:
        InvalidQueryError: as `derived`.
    """
    return new != old and cost_of(query, new, unit, known) < margin * cost_of(query, old, unit, known)


def _considered(query: GraphQuery, candidate: Candidate, derivation: Derivation) -> ConsideredPlan:
    return ConsideredPlan(_followed(query, derivation)[0], candidate.nanoseconds, candidate.partial_matches, derivation.rules)


def _followed(query: GraphQuery, derivation: Derivation) -> tuple[Plan, dict[Pattern, Steps]]:
    """Return the plan that a derivation leads to, and how its PATTERNs are joined."""
    plan: Plan = canonical(query)
    if derivation.rewritings is not None:
        fixed = fixed_parts(query, plan)
        plan = _rewritten(query, in_normal_form(plan, fixed), fixed, derivation.rewritings)
    patterns = patterns_of(plan)
    steps: dict[Pattern, Steps] = {}
    for join in derivation.joins:
        if not 0 <= join.pattern < len(patterns):
            message = f"the plan joins a PATTERN {join.pattern}, and has {len(patterns)}"
            raise InvalidQueryError(message)
        pattern = patterns[join.pattern]
        if sorted(chain.from_iterable(join.groups)) != list(range(len(pattern.parts))) or not all(join.groups):
            message = f"the plan does not join each of the {len(pattern.parts)} parts of PATTERN {join.pattern} once"
            raise InvalidQueryError(message)
        steps[pattern] = join.groups
    return plan, steps


def _rewritten(query: GraphQuery, start: Plan, fixed: Set[Algebra], rewritings: Sequence[Rewriting]) -> Plan:
    if len(rewritings) > MOST_REWRITINGS:
        message = f"a plan has {MOST_REWRITINGS} rewritings at most, this one has {len(rewritings)}"
        raise InvalidQueryError(message)
    work_budget = Work(query.name, PlanningBudget()).search()
    for rewriting in rewritings:
        start = _step(start, fixed, rewriting, work_budget)
    return start


def _step(plan: Plan, fixed: Set[Algebra], rewriting: Rewriting, work_budget: WorkBudget) -> Plan:
    """Return the plan that a step leads to; whoever searched for it has looked at all that is looked at here."""
    for each, new in numbered(plan, fixed):
        if not work_budget.left:
            message = "the plan takes more rewritings than planning may look at"
            raise InvalidQueryError(message)
        work_budget.work.do(units_of_rewriting(new))
        if each == rewriting:
            return new
    message = f"the rule {rewriting.rule!r} does not apply in place {rewriting.number} of the plan before it"
    raise InvalidQueryError(message)
