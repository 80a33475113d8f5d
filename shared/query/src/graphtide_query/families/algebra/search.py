"""Search for a plan: apply rules to the cheapest plan not yet examined, until a budget is spent.

A plan is examined once. Work is counted, not timed, so a query has the same plan on every machine. How the parts of a PATTERN
are joined is chosen for each by itself. They are joined all at once, or one after the other in the order that is estimated
cheapest.

Cost: at most the budget, a unit of which is about what an estimate of one query edge takes in other searches.
Reference: paper 001, sections 5.4 and 7.4; Selinger and others, "Access path selection" (1979), for orders of joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

from graphtide_core.algebra import Filter, Pattern, distinct, operands, paths
from graphtide_core.path_expression import symbols
from graphtide_core.plans import MOST_REWRITINGS
from graphtide_core.predicate import attributes

from graphtide_query.families.algebra.rewriting import normalize, number_rewritings, patterns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from graphtide_core.algebra import Algebra
    from graphtide_core.plans import Rewriting

    from graphtide_query.estimates.budget import WorkBudget
    from graphtide_query.families.algebra.cost import AlgebraCost
    from graphtide_query.families.algebra.path_reach import Estimate
    from graphtide_query.families.algebra.physical import Steps
    from graphtide_query.families.algebra.rewriting import Plan

SMALL: Final = 6
"""Parts of a PATTERN up to which all orders of joins are weighed; of more, the next is the cheapest to join."""

UNITS_OF_A_NODE: Final = 40
"""Units of work that an operator of a plan takes to be rewritten and estimated."""

_REWRITTEN_AT_ONCE: Final = 8
"""Operators and symbols of a plan that are rewritten for one such charge."""

_COMPARED_AT_ONCE: Final = 16
"""Operators below another one that are compared with it for one such charge."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plan that was found, with what it is estimated to cost.

    Attributes:
        plan: an expression for each output.
        nanoseconds: for an edge of the stream.
        held: tuples and nodes that its operators keep.
        rewritings: that led to it, in their order; `MOST_REWRITINGS` at most.
        steps: how its PATTERNs are joined, where not all parts at once.
    """

    plan: Plan
    nanoseconds: float
    held: float
    rewritings: tuple[Rewriting, ...]
    steps: Mapping[Pattern, Steps]

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that led to it, in their order."""
        return tuple(each.rule for each in self.rewritings)


def search_plans(canonical: Plan, fixed: Set[Algebra], cost: AlgebraCost, work_budget: WorkBudget) -> tuple[Found, ...]:
    """Return plans that rules lead to from the canonical one, which is among them, the cheapest first; of equals the nearest.

    Args:
        canonical: the plan as the query is written.
        fixed: what stays as it is.
        cost: estimates over the stream.
        work_budget: what may be spent; the canonical plan is estimated in any case.
    """
    estimated = partial(_find, cost=cost, fixed=fixed)
    order = count()
    work_budget.work.do(UNITS_OF_A_NODE * _compare(canonical))
    start = normalize(canonical, fixed)
    first = estimated(start, ())
    known = {start: first}
    waiting = [(first.nanoseconds, next(order), start)]
    while waiting and work_budget.left:
        _, _, plan = heappop(waiting)
        if len(known[plan].rewritings) == MOST_REWRITINGS:
            continue
        for rewriting, new in number_rewritings(plan, fixed):
            work_budget.work.do(units_of_rewriting(new))
            if new in known:
                continue
            work_budget.work.do(UNITS_OF_A_NODE * _compare(new))
            known[new] = estimated(new, (*known[plan].rewritings, rewriting))
            heappush(waiting, (known[new].nanoseconds, next(order), new))
            if not work_budget.left:
                break
    return tuple(sorted(known.values(), key=lambda each: (each.nanoseconds, len(each.rewritings))))


def units_of_rewriting(plan: Plan) -> int:
    """Return the units of work that a rewriting takes which leads to a plan."""
    read = sum(1 for each in plan for path in paths(each) for _ in symbols(path.expression))
    return UNITS_OF_A_NODE * (1 + (_compare(plan) + read) // _REWRITTEN_AT_ONCE)


def _compare(plan: Plan) -> int:
    """Return how many operators are looked at to find each expression of a plan among others, with all below it."""
    found = 0

    def size(expression: Algebra) -> int:
        nonlocal found
        own = 1 + sum(map(size, operands(expression)))
        if isinstance(expression, Filter | Pattern):
            own += sum(1 for condition in expression.conditions for _ in attributes(condition))
        found += 1 + own // _COMPARED_AT_ONCE
        return own

    for each in plan:
        size(each)
    return found


def _find(plan: Plan, rewritings: tuple[Rewriting, ...], cost: AlgebraCost, fixed: Set[Algebra]) -> Found:
    joined = {each: best_steps(each, cost)[0] for each in patterns_of(plan) if each not in fixed}
    steps = {each: groups for each, groups in joined.items() if len(groups) > 1}
    nanoseconds, held = estimate_cost(plan, steps, cost)
    return Found(plan, nanoseconds, held, rewritings, steps)


def estimate_cost(plan: Plan, steps: Mapping[Pattern, Steps], cost: AlgebraCost) -> tuple[float, float]:
    """Return what a plan is estimated to cost, in nanoseconds for an edge of the stream, and what its operators keep.

    Args:
        plan: an expression for each output.
        steps: how PATTERNs are joined, where not all parts at once.
        cost: estimates over the stream.
    """
    total = held = 0.0
    every = dict.fromkeys(inner for expression in plan for inner in distinct(expression))
    read = {below for each in every for below in operands(each)}
    for each in every:
        groups = steps.get(each) if isinstance(each, Pattern) else None
        estimate = cost.of(each) if not isinstance(each, Pattern) or groups is None else cost.joined(each, groups)
        total += cost.total_of(estimate, is_read=each in read)
        held += estimate.held
    return total, held


def best_steps(pattern: Pattern, cost: AlgebraCost) -> tuple[Steps, Estimate]:
    """Return how the parts of a PATTERN are joined cheapest, and the estimate of that.

    Complexity: `SMALL`! for small PATTERNs; for others cubic in the parts. What was weighed is kept by the estimates.
    """
    known = cost.steps.get(pattern)
    if known is None:
        known = cost.steps[pattern] = _compare_steps(pattern, cost)
    return known


def _compare_steps(pattern: Pattern, cost: AlgebraCost) -> tuple[Steps, Estimate]:
    parts = range(len(pattern.parts))
    all_at_once: Steps = (tuple(parts),)
    best = (all_at_once, cost.of(pattern))
    if len(parts) <= 2:
        return best
    for groups in orders(pattern) if len(parts) <= SMALL else (_one_by_one(_greedy(pattern, cost)),):
        estimate = cost.joined(pattern, groups)
        if cost.total_of(estimate) < cost.total_of(best[1]):
            best = (groups, estimate)
    return best


def orders(pattern: Pattern) -> tuple[Steps, ...]:
    """Return the ways to join parts of a PATTERN one after the other, each with one before it that it meets, if any.

    Complexity: the factorial of the parts.
    """
    found: list[Steps] = []

    def extend(order: tuple[int, ...]) -> None:
        if len(order) == len(pattern.parts):
            found.append(_one_by_one(order))
            return
        for number in _joinable(pattern, order):
            # The first two are joined with each other, whichever comes first.
            if len(order) != 1 or number > order[0]:
                extend((*order, number))

    for number in range(len(pattern.parts)):
        extend((number,))
    return tuple(found)


def _one_by_one(order: tuple[int, ...]) -> Steps:
    return (tuple(sorted(order[:2])), *((number,) for number in order[2:]))


def _greedy(pattern: Pattern, cost: AlgebraCost) -> tuple[int, ...]:
    """Return an order that begins with the smallest part and continues with the smallest that joins."""
    sizes = [cost.of(part.operand).tuples for part in pattern.parts]
    order: tuple[int, ...] = (min(range(len(sizes)), key=sizes.__getitem__),)
    while len(order) < len(sizes):
        order = (*order, min(_joinable(pattern, order), key=sizes.__getitem__))
    return order


def _joinable(pattern: Pattern, order: tuple[int, ...]) -> list[int]:
    """Return the parts that share an end with those of an order; all that are left where none does."""
    bound = {end for number in order for end in (pattern.parts[number].source, pattern.parts[number].target)}
    left = [number for number in range(len(pattern.parts)) if number not in order]
    joined = [number for number in left if {pattern.parts[number].source, pattern.parts[number].target} & bound]
    return joined or left
