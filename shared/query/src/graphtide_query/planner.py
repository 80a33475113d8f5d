"""Plan patterns for the requested engine or the cheapest, by the statistics of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from graphtide_core.time import TimeUnit

from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.colocation import NO_OTHERS
from graphtide_query.families import FAMILIES, PlannerOptions, family_of, refuse_other_family
from graphtide_query.families.family import PlanningContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import AnyPlan, Plan
    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide_query.estimates.colocation import ColocatedLoad


@overload
def plan(
    pattern: SubgraphPattern,
    planner_options: PlannerOptions | str,
    *,
    unit: TimeUnit = ...,
    statistics: StatisticsSnapshot | None = ...,
    colocated: ColocatedLoad = ...,
    budget: PlanningBudget = ...,
) -> Plan: ...
@overload
def plan(
    pattern: AnyPattern,
    planner_options: PlannerOptions | str,
    *,
    unit: TimeUnit = ...,
    statistics: StatisticsSnapshot | None = ...,
    colocated: ColocatedLoad = ...,
    budget: PlanningBudget = ...,
) -> AnyPlan: ...
def plan(
    pattern: AnyPattern,
    planner_options: PlannerOptions | str,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    colocated: ColocatedLoad = NO_OTHERS,
    budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - frozen, so one instance serves all
) -> AnyPlan:
    """Plan a pattern of any family for an engine, or for the cheapest engine.

    Args:
        pattern: the pattern.
        planner_options: an engine of its family, or `AUTO`, with requested variants; or only the engine's name.
        unit: of the stream's time.
        statistics: of the stream.
        colocated: the patterns that are matched in the same pass.
        budget: the work budget.

    Raises:
        InvalidQueryError: no engine has that name, it is of another family, or has no such variant. Or a duration of the
            pattern is shorter than a tick.
        PlanningBudgetError: the pattern cannot be planned within the budget.
        CutShortError: the request was cancelled.
    Complexity: as of the searches, and at most the budget.
    """
    planner_options = PlannerOptions(planner_options) if isinstance(planner_options, str) else planner_options
    refuse_other_family(pattern, planner_options.engine)
    (found,) = family_of(pattern).plan((pattern,), planner_options, PlanningContext(unit, statistics, colocated, budget))
    return found


def plan_all(
    patterns: Sequence[AnyPattern],
    planner_options: PlannerOptions,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    colocated: ColocatedLoad = NO_OTHERS,
    budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - as above
) -> tuple[AnyPlan, ...]:
    """Plan patterns of any family, those of one family together.

    Arguments as of `plan`, for all patterns; the budget is that of each. Returns the plans in the order of the patterns.

    Raises:
        InvalidPatternError: an event pattern has too many branches, or asks for what no engine does.
        InvalidQueryError, PlanningBudgetError, CutShortError: as `plan`.
    """
    places: dict[str, list[int]] = {}
    for place, pattern in enumerate(patterns):
        refuse_other_family(pattern, planner_options.engine)
        places.setdefault(pattern.family, []).append(place)
    context = PlanningContext(unit, statistics, colocated, budget)
    plans: dict[int, AnyPlan] = {}
    for name, own in places.items():
        found = FAMILIES[name].plan([patterns[place] for place in own], planner_options, context)
        plans.update(zip(own, found, strict=True))
    return tuple(plans[place] for place in range(len(patterns)))
