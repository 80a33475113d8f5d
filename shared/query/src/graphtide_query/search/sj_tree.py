"""Decomposition of a pattern into the leaves of a left-deep subgraph join tree.

Greedy by ascending selectivity: the rarest primitive comes first; then, again and again, the rarest of the edges left that
touches what is covered already, the frontier. With paths, a primitive has two edges as long as two adjacent ones are left that
touch the frontier, and one edge after that.

Reference: paper 003, Algorithm 4 (its M is given by the strategy, section 5.2). Deviations: where the paper is silent, between
primitives of one selectivity the one with more vertices in the frontier comes first, then the first in the pattern's own order;
a path that was never seen counts as the rarest, where the paper's generator falls back to single edges.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from graphtide_core.plan import SjTreePlan, SjTreeStrategy

from graphtide_query.search.selectivity import choose_strategy, selectivity

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from graphtide_query.search.cost_model import CostModel
    from graphtide_query.search.selectivity import Primitive, PrimitiveFrequencies


def plan_sj_tree(model: CostModel, frequencies: PrimitiveFrequencies, strategy: SjTreeStrategy | None = None) -> SjTreePlan:
    """Return the plan of the `sj-tree` engine, under the given strategy or the one that Relative Selectivity names.

    Complexity: O(n^3) for n edges.
    """
    if strategy is None:
        paths = decompose(model, frequencies, SjTreeStrategy.PATH)
        strategy = choose_strategy(frequencies, paths, decompose(model, frequencies, SjTreeStrategy.SINGLE))
    leaves = decompose(model, frequencies, strategy)
    return SjTreePlan(leaves, strategy, cardinalities(model, leaves, strategy))


def decompose(model: CostModel, frequencies: PrimitiveFrequencies, strategy: SjTreeStrategy) -> tuple[Primitive, ...]:
    """Return the leaves in join order (Algorithm 4)."""
    left = list(range(len(model.pattern.edges)))
    leaves: list[Primitive] = []
    frontier: set[str] = set()
    while left:
        primitives = _touching(model, _primitives(model, left, paths=strategy.joins_paths), frontier)
        if not primitives:
            # No two adjacent edges are left there; of a connected pattern some edge is.
            primitives = _touching(model, _primitives(model, left, paths=False), frontier)
        leaf = min(
            primitives,
            key=lambda primitive: (selectivity(frequencies, primitive), -len(model.ends(primitive) & frontier), primitive),
        )
        leaves.append(tuple(sorted(leaf, key=lambda edge: (frequencies.edge(edge), edge))))
        frontier |= model.ends(leaf)
        left = [edge for edge in left if edge not in leaf]
    return tuple(leaves)


def _primitives(model: CostModel, left: Collection[int], *, paths: bool) -> list[Primitive]:
    if not paths:
        return [(edge,) for edge in left]
    return [pair for pair in combinations(left, 2) if not model.ends(pair[:1]).isdisjoint(model.ends(pair[1:]))]


def _touching(model: CostModel, primitives: Sequence[Primitive], frontier: set[str]) -> list[Primitive]:
    return [primitive for primitive in primitives if not frontier or not frontier.isdisjoint(model.ends(primitive))]


def cardinalities(model: CostModel, leaves: Sequence[Primitive], strategy: SjTreeStrategy) -> tuple[tuple[str, float], ...]:
    """Estimate the partial matches alive in every node that stores them, by name: `P{i}` for leaves, `J{i}` for joins."""
    return tuple((name, model.partial_matches(edges)) for name, edges in nodes(leaves, strategy))


def nodes(leaves: Sequence[Primitive], strategy: SjTreeStrategy) -> list[tuple[str, tuple[int, ...]]]:
    """Return the nodes that store partial matches, by name, each with its edges.

    Lazy leaves beyond the first store none; neither does the root.
    """
    found = [("P1", leaves[0])] if len(leaves) > 1 else []
    for number, leaf in enumerate(leaves[1:], start=2):
        if not strategy.is_lazy:
            found.append((f"P{number}", leaf))
        if number < len(leaves):
            found.append((f"J{number}", tuple(edge for part in leaves[:number] for edge in part)))
    return found
