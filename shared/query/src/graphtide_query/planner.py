"""From a pattern to a plan: the engine's search, with what is known of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.plan import Plan, Storage
from graphtide_core.statistics import LabelFrequencies
from graphtide_core.time import TimeUnit

from graphtide_query.search.cost_model import CostModel
from graphtide_query.search.search_order import plan_search
from graphtide_query.search.selectivity import EstimatedFrequencies
from graphtide_query.search.sj_tree import plan_sj_tree
from graphtide_query.search.tc_decomposition import plan_timing

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plan import SjTreeStrategy

    from graphtide_query.search.selectivity import PrimitiveFrequencies

ENGINES = ("timing", "sj-tree", "re-search")
"""Engines of the isomorphism family."""


def plan(
    pattern: SubgraphPattern,
    engine: str,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    frequencies: LabelFrequencies | None = None,
    storage: Storage = Storage.MS_DAG,
    strategy: SjTreeStrategy | None = None,
    primitives: PrimitiveFrequencies | None = None,
) -> Plan:
    """Plan a pattern for an engine.

    Args:
        pattern: the pattern.
        engine: one of `ENGINES`.
        unit: what a tick of the stream's time is.
        frequencies: what is known of the stream.
        storage: how `timing` stores partial matches.
        strategy: how `sj-tree` splits the pattern and searches; None chooses by Relative Selectivity.
        primitives: how often the parts of one and two edges occur, for `sj-tree`; None estimates it from `frequencies`.

    Raises:
        ValueError: there is no engine of that name.
    """
    model = CostModel(pattern, frequencies or LabelFrequencies(), pattern.window.ticks_at_least(unit))
    match engine:
        case "timing":
            return Plan(pattern, plan_timing(model, storage))
        case "sj-tree":
            return Plan(pattern, plan_sj_tree(model, primitives or EstimatedFrequencies(model), strategy))
        case "re-search":
            return Plan(pattern, plan_search(model))
        case _:
            message = f"there is no engine {engine!r}; one of {', '.join(ENGINES)}"
            raise ValueError(message)
