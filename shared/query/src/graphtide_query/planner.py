"""From patterns to plans: by the engine that is wished, or the cheapest, with what is known of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.durations import refuse_shorter_than_a_tick
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans import Plan, assigned
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.estimates.crowd import ALONE
from graphtide_query.families import AUTO, ENGINES, Wish, family_of, refuse_other_family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import AnyPlan, EventPlan, GraphPlan

    from graphtide_query.estimates.crowd import Crowd


def plan(
    pattern: SubgraphPattern,
    wish: Wish | str,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    crowd: Crowd = ALONE,
    budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - frozen, so one instance serves all
) -> Plan:
    """Plan a pattern for an engine, or for the cheapest.

    Args:
        pattern: the pattern.
        wish: an engine of its family, or `AUTO`, with the variants that are wished; or the engine's name alone.
        unit: what a tick of the stream's time is.
        statistics: what is known of the stream.
        crowd: the patterns that are matched in the same pass.
        budget: how much work planning may do.

    Raises:
        InvalidQueryError: there is no engine of that name, it is of another family, or has no such variant; or a duration of
            the pattern is shorter than a tick.
        PlanningBudgetError: the pattern cannot be planned within the budget.
        CutShortError: the budget says that nobody waits for the plan any more.
    Complexity: as the searches say, and never more than the budget.
    """
    wish = Wish(wish) if isinstance(wish, str) else wish
    refuse_other_family(pattern, wish.engine)
    refuse_shorter_than_a_tick(pattern, unit)
    model = CostModel(pattern, statistics or StatisticsSnapshot(), pattern.extent(unit), budget)
    if wish.engine == AUTO:
        candidates = family_of(pattern).considered(model, wish, crowd)
        return assigned(pattern, candidates[0].physical, candidates)
    engine = ENGINES[wish.engine]
    return Plan(pattern, engine.plan(model, wish.variant(engine)))


def plan_all(
    patterns: Sequence[AnyPattern],
    wish: Wish,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    crowd: Crowd = ALONE,
    budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - as above
) -> tuple[AnyPlan, ...]:
    """Plan patterns of any family: each pattern of edges and each graph query by itself, event patterns together.

    Arguments as of `plan`, for all patterns; the budget is that of each. Returns the plans in the order of the patterns.

    Raises:
        InvalidPatternError: an event pattern has too many branches, or asks for what no engine does.
        InvalidQueryError, PlanningBudgetError, CutShortError: as `plan`.
    """
    for pattern in patterns:
        refuse_other_family(pattern, wish.engine)
    of_events = [pattern for pattern in patterns if isinstance(pattern, EventPattern)]
    events = iter(_planned_events(of_events, wish, unit, statistics) if of_events else ())
    return tuple(
        next(events)
        if isinstance(pattern, EventPattern)
        else _planned_query(pattern, wish, unit, statistics, budget)
        if isinstance(pattern, GraphQuery)
        else plan(pattern, wish, unit=unit, statistics=statistics, crowd=crowd, budget=budget)
        for pattern in patterns
    )


def _planned_events(
    patterns: Sequence[EventPattern], wish: Wish, unit: TimeUnit, statistics: StatisticsSnapshot | None
) -> tuple[EventPlan, ...]:
    from graphtide_query.families.events.planning import plan_events  # noqa: PLC0415 - who has none does without

    return plan_events(patterns, wish, unit=unit, statistics=statistics)


def _planned_query(
    query: GraphQuery, wish: Wish, unit: TimeUnit, statistics: StatisticsSnapshot | None, budget: PlanningBudget
) -> GraphPlan:
    from graphtide_query.families.algebra.planning import plan_graph_query  # noqa: PLC0415 - as above

    return plan_graph_query(query, wish, unit=unit, statistics=statistics, budget=budget)
