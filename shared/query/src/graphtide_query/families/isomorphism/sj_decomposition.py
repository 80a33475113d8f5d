"""Decomposition of a pattern into the leaves of a left-deep subgraph join tree.

Greedy by ascending selectivity: the rarest primitive comes first. Then, again and again, comes the rarest of the edges left
that touches the covered edges, the frontier. With paths, a primitive has two edges as long as two adjacent ones are left that
touch the frontier, and one edge after that.

Reference: paper 003, Algorithm 4 (its M is given by the strategy, section 5.2). Deviations are where the paper is silent.
Between primitives of one selectivity the one with more vertices in the frontier comes first, then the first in the pattern's
own order. A path that was never seen counts as the rarest, where the paper's generator falls back to single edges.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from graphtide_core.plans import SjTreePlan, SjTreeStrategy

from graphtide_query.families.isomorphism.selectivity import choose_strategy, selectivity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from graphtide_query.estimates.cost_model import CostModel
    from graphtide_query.families.isomorphism.selectivity import Primitive, PrimitiveFrequencies


def plan_sj_tree(model: CostModel, frequencies: PrimitiveFrequencies, strategy: SjTreeStrategy | None = None) -> SjTreePlan:
    """Return the plan of the `sj-tree` engine, under the given strategy or the one that Relative Selectivity names.

    Complexity: O(n^2 log n) for n edges, O(n^3) where all are equally rare.
    """
    if strategy is None:
        paths = decompose(model, frequencies, SjTreeStrategy.PATH)
        single = decompose(model, frequencies, SjTreeStrategy.SINGLE)
        strategy = choose_strategy(frequencies, paths, single)
        # Lazy search decomposes as its counterpart does.
        leaves = paths if strategy.joins_paths else single
    else:
        leaves = decompose(model, frequencies, strategy)
    return SjTreePlan(leaves, strategy, cardinalities(model, leaves, strategy))


def decompose(model: CostModel, frequencies: PrimitiveFrequencies, strategy: SjTreeStrategy) -> tuple[Primitive, ...]:
    """Return the leaves in join order (Algorithm 4)."""
    edges = range(len(model.pattern.edges))
    rarity = [frequencies.edge(edge) for edge in edges]
    single = _rank(frequencies, [(edge,) for edge in edges])
    pairs = _rank(frequencies, _adjacent(model)) if strategy.joins_paths else []
    left = set(edges)
    leaves: list[Primitive] = []
    frontier: set[str] = set()
    while left:
        # Where no two adjacent edges are left there, some edge is: the pattern is connected.
        leaf = _rarest(model, pairs, left, frontier) or _rarest(model, single, left, frontier)
        assert leaf is not None  # noqa: S101 - as just said
        leaves.append(tuple(sorted(leaf, key=lambda edge: (rarity[edge], edge))))
        frontier |= model.ends(leaf)
        left.difference_update(leaf)
    return tuple(leaves)


def _rank(frequencies: PrimitiveFrequencies, primitives: Iterable[Primitive]) -> list[tuple[float, Primitive]]:
    return sorted((selectivity(frequencies, primitive), primitive) for primitive in primitives)


def _adjacent(model: CostModel) -> list[Primitive]:
    pairs = combinations(range(len(model.pattern.edges)), 2)
    return [pair for pair in pairs if not model.ends_of(pair[0]).isdisjoint(model.ends_of(pair[1]))]


def _rarest(
    model: CostModel, ranked: Sequence[tuple[float, Primitive]], left: Collection[int], frontier: set[str]
) -> Primitive | None:
    """Return the rarest primitive that is left and touches the frontier; of equals the one with most vertices there."""
    found: tuple[float, int, Primitive] | None = None
    for rarity, primitive in ranked:
        if found is not None and rarity > found[0]:
            break
        model.work.do(1)
        if all(edge in left for edge in primitive):
            shared = len(model.ends(primitive) & frontier)
            if (shared or not frontier) and (found is None or (rarity, -shared, primitive) < found):
                found = rarity, -shared, primitive
    return None if found is None else found[2]


def cardinalities(model: CostModel, leaves: Sequence[Primitive], strategy: SjTreeStrategy) -> tuple[tuple[str, float], ...]:
    """Estimate the partial matches alive in every node that stores them, by name: `P{i}` for leaves, `J{i}` for joins."""
    return tuple((name, model.partial_matches(edges)) for name, edges in store(leaves, strategy))


def store(leaves: Sequence[Primitive], strategy: SjTreeStrategy) -> list[tuple[str, tuple[int, ...]]]:
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
