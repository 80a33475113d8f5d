"""The steps of dual simulation for EXPLAIN: edges are kept and held, those that may matter pass, and the fixpoint is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.nodes import Node, draw

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern


def steps(pattern: SubgraphPattern, held: float | None, of: str, passed: str = "") -> tuple[Node, ...]:
    """Return the steps of an engine.

    Args:
        pattern: the pattern.
        held: the estimated number of held edges, if known.
        of: what the fixpoint is found of.
        passed: which edges pass to it; all where nothing is said.
    """
    kept = [Node(f"{edge.name}.kept", f"keep {draw(pattern, edge)}") for edge in pattern.edges]
    holding = Node("held", "hold them while they are in the window", tuple(node.name for node in kept), held)
    filters = [Node("filter", f"pass {passed}", ("held",))] if passed else []
    verified = Node("verify", f"find the fixpoint of {of}", ("filter" if passed else "held",))
    return (*kept, holding, *filters, verified, Node("match", f"report {pattern.report.value}", ("verify",)))
