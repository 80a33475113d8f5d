"""From a pattern to a plan: the engine's search, with what is known of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.plans import Plan, Storage
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.families import AUTO, refuse_other_family
from graphtide_query.search import simulation
from graphtide_query.search.budget import PlanningBudget
from graphtide_query.search.choice import considered
from graphtide_query.search.cost_model import CostModel
from graphtide_query.search.crowd import ALONE
from graphtide_query.search.filtering import plan_filtering
from graphtide_query.search.search_order import plan_search
from graphtide_query.search.selectivity import frequencies_of
from graphtide_query.search.simulation import plan_simulation
from graphtide_query.search.sj_tree import plan_sj_tree
from graphtide_query.search.tc_decomposition import plan_timing

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import SjTreeStrategy

    from graphtide_query.search.crowd import Crowd
    from graphtide_query.search.selectivity import PrimitiveFrequencies


def plan(
    pattern: SubgraphPattern,
    engine: str,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    storage: Storage = Storage.MS_DAG,
    crowd: Crowd = ALONE,
    strategy: SjTreeStrategy | None = None,
    primitives: PrimitiveFrequencies | None = None,
    budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - frozen, so one instance serves all
) -> Plan:
    """Plan a pattern for an engine, or for the cheapest.

    Args:
        pattern: the pattern.
        engine: one of its family, or `AUTO`.
        unit: what a tick of the stream's time is.
        statistics: what is known of the stream.
        storage: how `timing` stores partial matches.
        crowd: the patterns that are matched in the same pass.
        strategy: how `sj-tree` splits the pattern and searches; None chooses by Relative Selectivity.
        primitives: how often the parts of one and two edges occur, for `sj-tree`; None takes it from `statistics`.
        budget: how much work planning may do.

    Raises:
        InvalidQueryError: there is no engine of that name, or it is of another family.
        PlanningBudgetError: the pattern cannot be planned within the budget.
    Complexity: as the searches say, and never more than the budget.
    """
    refuse_other_family(pattern, engine)
    model = CostModel(pattern, statistics or StatisticsSnapshot(), pattern.extent(unit), budget)
    if pattern.is_simulation:
        if engine != AUTO:
            return Plan(pattern, plan_simulation(engine))
        simulations = simulation.considered(model)
        return Plan(pattern, simulations[0].physical, simulations)
    match engine:
        case "auto":
            tree = plan_sj_tree(model, primitives or frequencies_of(model), strategy)
            search = plan_search(model)
            physicals = (plan_timing(model, storage), search, plan_filtering(model, search), tree)
            candidates = considered(model, physicals, crowd)
            return Plan(pattern, candidates[0].physical, candidates)
        case "timing":
            return Plan(pattern, plan_timing(model, storage))
        case "sj-tree":
            return Plan(pattern, plan_sj_tree(model, primitives or frequencies_of(model), strategy))
        case "re-search":
            return Plan(pattern, plan_search(model))
        case _:
            return Plan(pattern, plan_filtering(model))
