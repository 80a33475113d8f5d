"""Explain the plan of a streaming graph query: its operators, its expressions, and the plans that were compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.explanation import Explanation
from graphtide_query.families.algebra.nodes import nodes, tree, write_node
from graphtide_query.plan_candidate import PlanCandidate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.plans import GraphPlan

    from graphtide_query.nodes import Actual


def explain_query(
    plan: GraphPlan, actuals: Mapping[str, Actual] | None = None, counts: Mapping[str, int] | None = None
) -> Explanation:
    """Explain the plan of a streaming graph query, with a node for each operator and the expressions that they compute.

    Args:
        plan: the plan.
        actuals: of a run, by the names of nodes: `o0` and so on.
        counts: of a run.
    """
    physical = plan.physical
    settings = {"rules": ", ".join(physical.rules) or "none: as the query is written"}
    both = zip(plan.query.outputs, physical.logical, strict=True)
    return Explanation(
        plan.query.name,
        plan.engine,
        settings,
        nodes(physical, actuals or {}),
        counts or {},
        logical={output.label: tree(each) for output, each in both},
        plans=tuple(
            PlanCandidate(
                tuple(map(write_node, each.logical)), each.nanoseconds, each.held, each.rules, each.rules == physical.rules
            )
            for each in plan.considered
        ),
        engines={each.engine.value: each.nanoseconds for each in plan.engines},
    )
