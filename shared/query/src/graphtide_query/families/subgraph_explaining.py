"""Explain the plan of a pattern of edges, by the engine that runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_query.explanation import Explanation, Seen
from graphtide_query.funnel import PatternTrace
from graphtide_query.nodes import draw

if TYPE_CHECKING:
    from graphtide_core.plans import PhysicalPlan, Plan
    from graphtide_core.time import TimeUnit

    from graphtide_query.families.engine import Engine


def explain_edges(plan: Plan, engine: Engine[PhysicalPlan], seen: Seen, unit: TimeUnit) -> Explanation:
    """Explain a plan.

    Args:
        plan: the plan.
        engine: that runs it.
        seen: the counts of a run.
        unit: of the stream's times.
    """
    settings = engine.settings(plan.pattern, plan.physical)
    chosen = next((each.partial_matches for each in plan.considered if each.physical == plan.physical), None)
    steps = engine.nodes(plan.pattern, plan.physical, chosen)
    nodes = tuple(replace(node, actual=seen.actuals.get(node.name)) for node in steps)
    if plan.considered:
        estimates = (f"{c.physical.name} {_nanoseconds(c.nanoseconds)} ns an edge" for c in plan.considered)
        settings["considered"] = ", ".join(estimates)
    trace = None
    if seen.funnel is not None:
        edges = {edge.name: draw(plan.pattern, edge) for edge in plan.pattern.edges}
        trace = PatternTrace(seen.funnel, edges, tuple(node.name for node in nodes), seen.counts["matches"], unit)
    return Explanation(plan.pattern.name, plan.engine, settings, nodes, seen.counts, trace, plan.considered)


def _nanoseconds(estimate: float) -> str:
    """Write an estimate; among many patterns, one may cost far less than a nanosecond."""
    return f"{estimate:,.1f}" if estimate >= 1 else f"{estimate:.2g}"
