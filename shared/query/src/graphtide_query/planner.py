"""From a pattern to a plan: the engine's search, with what is known of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.plan import Plan, Storage
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.search.choice import cheapest
from graphtide_query.search.cost_model import CostModel
from graphtide_query.search.filtering import plan_filtering
from graphtide_query.search.search_order import plan_search
from graphtide_query.search.tc_decomposition import plan_timing

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

ENGINES = ("timing", "re-search", "filtering")
"""Engines of the isomorphism family."""

AUTO = "auto"
"""In place of an engine's name: the one that is estimated cheapest."""


def plan(
    pattern: SubgraphPattern,
    engine: str,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
    storage: Storage = Storage.MS_DAG,
    patterns: int = 1,
) -> Plan:
    """Plan a pattern for an engine, or for the cheapest.

    `statistics` is what is known of the stream, `patterns` how many are matched in the same pass.

    Raises:
        ValueError: there is no engine of that name.
    """
    model = CostModel(pattern, statistics or StatisticsSnapshot(), pattern.window.ticks_at_least(unit))
    match engine:
        case "auto":
            return Plan(
                pattern, cheapest(model, (plan_timing(model, storage), plan_filtering(model), plan_search(model)), patterns)
            )
        case "timing":
            return Plan(pattern, plan_timing(model, storage))
        case "re-search":
            return Plan(pattern, plan_search(model))
        case "filtering":
            return Plan(pattern, plan_filtering(model))
        case _:
            message = f"there is no engine {engine!r}; one of {', '.join((AUTO, *ENGINES))}"
            raise ValueError(message)
