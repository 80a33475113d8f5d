"""TC decomposition of a pattern and the order in which its subqueries are joined.

A timing-connected subquery is a chain of the timing order that is connected prefix by prefix. A chain has one sequence, so a
set of edges names it. `subqueries` grows all of them edge by edge and `decompose` takes the largest that is disjoint from those
taken, until every edge is covered.

Both searches have a work budget. Too many subqueries of a size are cut to the cheapest; once the budget is spent, to the few
that most edges can still follow. These may grow long and expensive, so two more decompositions are built, from the few cheapest
and from single edges. The one with the fewest partial matches is chosen. Join orders start from the cheapest subquery; once the
budget is spent, the best one so far is chosen.

Reference: paper 004, Definitions 8 and 9, sections 3.2 and 6.1. Deviations: among subqueries of one size the cost model
chooses, where the paper is silent. A pattern with more than `MAX_SUBQUERIES` subqueries of a size keeps the cheapest of that
size (the paper enumerates all, up to 2^n of them). The join order is the cheapest of all prefix-connected permutations up to
`MAX_PERMUTED` subqueries, and greedy beyond (the paper's is in an unpublished appendix).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphtide_core.plans import Storage, TimingPlan

from graphtide_query.estimates.cost_model import CostModel, members

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_query.estimates.budget import WorkBudget

MAX_SUBQUERIES = 2000
MAX_PERMUTED = 7
LOOKS = 4
"""Subqueries that are compared again before the next join, once the work budget is spent."""
FEW = 8
"""Subqueries of a size that are kept once the work budget is spent."""

TimingSequence = tuple[int, ...]
Rank = Callable[[CostModel, TimingSequence], float]
"""What is least for the subqueries that are kept first."""


def plan_timing(model: CostModel, storage: Storage = Storage.MS_DAG) -> TimingPlan:
    """Return the plan of the `timing` engine: decomposition, join order, estimated cardinalities.

    Complexity: O(subqueries x edges) for the decomposition, O(k!) for k subqueries up to `MAX_PERMUTED`, O(k^3) beyond; each
    within its work budget.
    """
    decompositions = list(_decompositions(model))
    work_budget = model.work.search()
    ordered = min([join_order(model, parts, work_budget) for parts in decompositions], key=lambda order: _make(model, order))
    return TimingPlan(subqueries=ordered, storage=storage, cardinalities=cardinalities(model, ordered))


def _decompositions(model: CostModel) -> Iterator[list[TimingSequence]]:
    """Yield the decomposition; if its search has spent its work budget, also one into cheap subqueries and one into edges."""
    work_budget = model.work.search()
    yield decompose(model, work_budget)
    if work_budget.left == 0:
        yield _cheap(model, work_budget)
        yield [(edge,) for edge in range(len(model.pattern.edges))]


def _cheap(model: CostModel, spent: WorkBudget) -> list[TimingSequence]:
    """Cover the edges by subqueries that cost little for their size, the largest first, each grown among the edges left."""
    chosen: list[TimingSequence] = []
    left = (1 << len(model.pattern.edges)) - 1
    while left:
        *_, longest = subqueries(model, left, spent, CostModel.partial_matches)
        chosen.append(longest[0])
        left &= ~model.part(longest[0])
    return chosen


def _coverage(model: CostModel, sequence: TimingSequence) -> float:
    """Return less, the more edges can follow."""
    return -model.after(sequence[-1]).bit_count()


def subqueries(model: CostModel, among: int, work_budget: WorkBudget, rank: Rank) -> Iterator[list[TimingSequence]]:
    """Yield the timing-connected subqueries of some edges by size, the shortest first (section 6.1, steps 1 to 3).

    Once the work budget is spent, only those of the lowest rank are kept.
    """
    grown: list[TimingSequence] = [(edge,) for edge in members(among)]
    while grown:
        yield grown
        longer: list[TimingSequence] = []
        for sequence in grown:
            following = model.near(sequence) & model.after(sequence[-1]) & among
            longer.extend((*sequence, edge) for edge in members(following))
        model.work.do(len(longer))
        if work_budget.left == 0:
            grown = sorted(longer, key=lambda sequence: (rank(model, sequence), sequence))[:FEW]
        else:
            grown = _cut(model, longer, work_budget)


def _cut(model: CostModel, sequences: list[TimingSequence], work_budget: WorkBudget) -> list[TimingSequence]:
    """Keep as many subqueries of one size as can be grown on."""
    if len(sequences) <= MAX_SUBQUERIES:
        return sequences
    weighed = sequences[: max(MAX_SUBQUERIES, work_budget.left // len(sequences[0]))]
    return sorted(weighed, key=lambda sequence: (model.partial_matches(sequence), sequence))[:MAX_SUBQUERIES]


def decompose(model: CostModel, work_budget: WorkBudget) -> list[TimingSequence]:
    """Cover the edges by disjoint subqueries, the largest first; of one size the cheapest."""
    everything = (1 << len(model.pattern.edges)) - 1
    chosen: list[TimingSequence] = []
    covered: set[int] = set()
    for same_size in reversed(list(subqueries(model, everything, work_budget, _coverage))):
        free = [sequence for sequence in same_size if covered.isdisjoint(sequence)]
        for sequence in sorted(free, key=lambda sequence: (model.partial_matches(sequence), sequence)):
            if covered.isdisjoint(sequence):
                chosen.append(sequence)
                covered.update(sequence)
    return chosen


def join_order(model: CostModel, parts: Sequence[TimingSequence], work_budget: WorkBudget) -> tuple[TimingSequence, ...]:
    """Return the prefix-connected permutation whose intermediate results are estimated smallest."""
    if len(parts) > MAX_PERMUTED:
        return _best_greedy(model, parts, work_budget)
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


def _best_greedy(model: CostModel, parts: Sequence[TimingSequence], work_budget: WorkBudget) -> tuple[TimingSequence, ...]:
    best: tuple[float, tuple[TimingSequence, ...]] | None = None
    for first in sorted(parts, key=lambda part: (model.partial_matches(part), part)):
        if best is not None and work_budget.left == 0:
            break
        order = _greedy(model, first, parts, work_budget)
        found = (_cost(model, order), order)
        best = found if best is None else min(best, found)
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


def _make(model: CostModel, order: Sequence[TimingSequence]) -> float:
    """Estimate the partial matches made while a window passes: each leaves with the oldest of its edges."""
    return sum(model.partial_matches(edges) * len(edges) for _, edges in items(order))


def _flat(order: Sequence[TimingSequence]) -> TimingSequence:
    return tuple(edge for sequence in order for edge in sequence)


def _touches(model: CostModel, order: Sequence[TimingSequence], part: TimingSequence) -> bool:
    return not model.ends(_flat(order)).isdisjoint(model.ends(part))


def _cost(model: CostModel, order: Sequence[TimingSequence]) -> float:
    return sum(size for name, size in cardinalities(model, order) if name.startswith("L0."))


def _greedy(
    model: CostModel, first: TimingSequence, parts: Sequence[TimingSequence], work_budget: WorkBudget
) -> tuple[TimingSequence, ...]:
    """Join next the part that leaves the fewest partial matches; once the budget is spent, only among the best `LOOKS`."""
    order = [first]
    left = [part for part in parts if part != first]
    promised: dict[TimingSequence, float] = {}
    while left:
        joined = _flat(order)
        ends = model.ends(joined)
        near = [part for part in left if not ends.isdisjoint(model.ends(part))]
        if work_budget.left == 0:
            known = sorted((promised[part], part) for part in near if part in promised)
            near = [part for part in near if part not in promised] + [part for _, part in known[:LOOKS]]
        alive = model.partial_matches(joined)
        joins = [(model.partial_matches((*joined, *part)), part) for part in near]
        promised.update((part, size / alive if alive > 0 else 0.0) for size, part in joins)
        _, following = min(joins)
        order.append(following)
        left.remove(following)
    return tuple(order)
