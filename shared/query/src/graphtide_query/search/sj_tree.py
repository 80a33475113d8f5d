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
    """Estimate the partial matches alive in every node that stores them, by name: `P{i}` for leaves, `J{i}` for joins.

    Lazy leaves beyond the first store none; neither does the root.
    """
    sizes = [("P1", _size(model, leaves[0]))] if len(leaves) > 1 else []
    union = _size(model, leaves[0])
    for number, leaf in enumerate(leaves[1:], start=2):
        size = _size(model, leaf)
        if not strategy.is_lazy:
            sizes.append((f"P{number}", size))
        covered = [edge for before in leaves[: number - 1] for edge in before]
        shared = len(model.ends(covered) & model.ends(leaf))
        union *= size / model.vertices**shared / 2.0 ** _related(model, covered, leaf)
        if number < len(leaves):
            sizes.append((f"J{number}", union))
    return tuple(sizes)


def _size(model: CostModel, leaf: Primitive) -> float:
    first, *rest = leaf
    return model.alive(first) * (model.fan_out((first,), rest[0]) / 2.0 ** _related(model, (first,), rest) if rest else 1.0)


def _related(model: CostModel, left: Sequence[int], right: Sequence[int]) -> int:
    """How many pairs of edges the timing order relates; each halves what joins, up to the 8 that `CostModel.union` counts."""
    names, order = [edge.name for edge in model.pattern.edges], model.pattern.order
    related = sum(order.precedes(names[a], names[b]) or order.precedes(names[b], names[a]) for a in left for b in right)
    return min(related, 8)
