"""TC decomposition of a pattern and the order in which its subqueries are joined.

A timing-connected subquery is a chain of the timing order that is connected prefix by prefix; a chain has one sequence,
so a set of edges names it. `subqueries` grows all of them edge by edge and `decompose` takes the largest that is disjoint
from those taken, until every edge is covered.

Reference: paper 004, Definitions 8 and 9, sections 3.2 and 6.1. Deviations: among subqueries of one size the cost model
chooses, where the paper is silent; a pattern with more than `MAX_SUBQUERIES` subqueries of a size keeps the cheapest of that
size (the paper enumerates all, up to 2^n of them). The join order is the cheapest of all prefix-connected permutations up to
`MAX_PERMUTED` subqueries, and greedy beyond (the paper's is in an unpublished appendix).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.plan import Storage, TimingPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_query.search.cost_model import CostModel

MAX_SUBQUERIES = 2000
MAX_PERMUTED = 7

TimingSequence = tuple[int, ...]


def plan_timing(model: CostModel, storage: Storage = Storage.MS_DAG) -> TimingPlan:
    """Return the plan of the `timing` engine: decomposition, join order, estimated cardinalities.

    Complexity: O(subqueries x edges) for the decomposition, O(k!) for k subqueries up to `MAX_PERMUTED`, O(k^2) beyond.
    """
    ordered = join_order(model, decompose(model))
    return TimingPlan(subqueries=ordered, storage=storage, cardinalities=cardinalities(model, ordered))


def subqueries(model: CostModel) -> list[TimingSequence]:
    """Return all timing-connected subqueries, shortest first (section 6.1, steps 1 to 3)."""
    edges = model.pattern.edges
    grown: list[TimingSequence] = [(edge,) for edge in range(len(edges))]
    found = list(grown)
    while grown:
        longer: list[TimingSequence] = []
        for sequence in grown:
            last, ends = edges[sequence[-1]].name, model.ends(sequence)
            longer.extend(
                (*sequence, number)
                for number, edge in enumerate(edges)
                if model.pattern.order.precedes(last, edge.name) and (edge.source in ends or edge.target in ends)
            )
        if len(longer) > MAX_SUBQUERIES:
            longer = sorted(longer, key=lambda sequence: (model.partial_matches(sequence), sequence))[:MAX_SUBQUERIES]
        found.extend(longer)
        grown = longer
    return found


def decompose(model: CostModel) -> list[TimingSequence]:
    """Cover the edges by disjoint subqueries, the largest first."""
    candidates = sorted(subqueries(model), key=lambda sequence: (-len(sequence), model.partial_matches(sequence), sequence))
    chosen: list[TimingSequence] = []
    covered: set[int] = set()
    for sequence in candidates:
        if covered.isdisjoint(sequence):
            chosen.append(sequence)
            covered.update(sequence)
    return chosen


def join_order(model: CostModel, parts: Sequence[TimingSequence]) -> tuple[TimingSequence, ...]:
    """Return the prefix-connected permutation whose intermediate results are estimated smallest."""
    if len(parts) > MAX_PERMUTED:
        return min((_greedy(model, first, parts) for first in parts), key=lambda order: (_cost(model, order), order))
    best: tuple[float, tuple[TimingSequence, ...]] | None = None
    pending: list[tuple[float, tuple[TimingSequence, ...]]] = [(0.0, (part,)) for part in parts]
    while pending:
        cost, order = pending.pop()
        if best is not None and (cost, order) >= best:
            continue
        if len(order) == len(parts):
            best = (cost, order)
            continue
        for part in parts:
            if part not in order and _touches(model, order, part):
                longer = (*order, part)
                # The join of all parts is reported, not stored: every order has the same.
                stored = model.partial_matches(_flat(longer)) if len(longer) < len(parts) else 0.0
                pending.append((cost + stored, longer))
    # A connected pattern has a prefix-connected permutation from every part.
    return best[1] if best else tuple(parts)


def cardinalities(model: CostModel, order: Sequence[TimingSequence]) -> tuple[tuple[str, float], ...]:
    """Estimate the partial matches alive in every stored item of the plan, by name."""
    return tuple((name, model.partial_matches(edges)) for name, edges in items(order))


def items(order: Sequence[TimingSequence]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the items that the plan stores, by name, each with the edges that its partial matches have."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for number, sequence in enumerate(order, start=1):
        stored = len(sequence) if len(order) > 1 else len(sequence) - 1
        found += [(f"L{number}.{depth}", sequence[:depth]) for depth in range(1, stored + 1)]
    return found + [(f"L0.{level}", _flat(order[:level])) for level in range(2, len(order))]


def _flat(order: Sequence[TimingSequence]) -> TimingSequence:
    return tuple(edge for sequence in order for edge in sequence)


def _touches(model: CostModel, order: Sequence[TimingSequence], part: TimingSequence) -> bool:
    return not model.ends(_flat(order)).isdisjoint(model.ends(part))


def _cost(model: CostModel, order: Sequence[TimingSequence]) -> float:
    return sum(size for name, size in cardinalities(model, order) if name.startswith("L0."))


def _greedy(model: CostModel, first: TimingSequence, parts: Sequence[TimingSequence]) -> tuple[TimingSequence, ...]:
    order = [first]
    while len(order) < len(parts):
        joins = [
            (model.partial_matches((*_flat(order), *part)), part)
            for part in parts
            if part not in order and _touches(model, order, part)
        ]
        order.append(min(joins)[1])
    return tuple(order)
