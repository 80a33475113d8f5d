"""Keep of a plan the sharing that pays: instances are stored only where what goes on from them saves more than that costs.

A vertex is cut off if its children are not estimated a tenth cheaper with its instances, all in all. They then continue from
those of its own parents. What a cut changes is the work of the vertex, of its children and of its parents. So cuts are tried
one by one, the last vertex first, as long as one saves. What share of events conditions let through is guessed, so sharing must
pay by several guesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.plans.events import Parent

from graphtide_query.families.events.costs import SAVING, estimate_work
from graphtide_query.families.events.pruning import renumber

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.plans.events import AggregationPlan, VertexIndex

    from graphtide_query.families.events.costs import Size

_MOST_ROUNDS: Final = 4


def cut_what_does_not_pay(
    plan: AggregationPlan, guesses: Sequence[Sequence[Size]]
) -> tuple[AggregationPlan, tuple[tuple[Size, ...], ...]]:
    """Return the plan without the sharing that costs more than it saves by some guess, and what is alive of its vertices.

    Complexity: O(guesses * rounds * parents * slots).
    """
    cuts = _Cuts(plan, guesses)
    for _ in range(_MOST_ROUNDS):
        found = [cuts.try_one(vertex) for vertex in reversed(range(len(plan.vertices)))]
        if not any(found):
            break
    kept = [vertex for vertex in range(len(plan.vertices)) if cuts.is_needed(vertex)]
    places = {vertex: place for place, vertex in enumerate(kept)}
    left = tuple(tuple(alive[vertex] for vertex in kept) for alive in guesses)
    return renumber(plan, places, {vertex: cuts.parents[vertex] for vertex in kept}), left


class _Cuts:
    """The parents and children of each vertex, after some cuts."""

    def __init__(self, plan: AggregationPlan, guesses: Sequence[Sequence[Size]]) -> None:
        self._guesses = guesses
        self.parents: list[tuple[Parent, ...]] = [vertex.parents for vertex in plan.vertices]
        self.children: list[frozenset[VertexIndex]] = [frozenset() for _ in plan.vertices]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                self.children[parent.vertex] |= {child}
        self._reported = {branch.vertex for branches in plan.branches for branch in branches}

    def is_needed(self, vertex: VertexIndex) -> bool:
        """Return whether a vertex matches a pattern, or others continue from it."""
        return vertex in self._reported or bool(self.children[vertex])

    def try_one(self, vertex: VertexIndex) -> bool:
        """Cut a vertex off if its instances do not save enough by some guess; return whether it was."""
        if not self.children[vertex]:
            return False
        near = {vertex, *self.children[vertex], *(parent.vertex for parent in self.parents[vertex])}
        before = self._nanoseconds(near)
        parents = {each: self.parents[each] for each in near}
        children = {each: self.children[each] for each in near}
        self._cut(vertex)
        if any(own > (1 - SAVING) * after for after, own in zip(self._nanoseconds(near), before, strict=True)):
            return True
        for each in near:
            self.parents[each], self.children[each] = parents[each], children[each]
        return False

    def _cut(self, vertex: VertexIndex) -> None:
        own, orphans = self.parents[vertex], self.children[vertex]
        for child in orphans:
            filled = next(parent.slots for parent in self.parents[child] if parent.vertex == vertex)
            through = (Parent(each.vertex, tuple(filled[slot] for slot in each.slots)) for each in own)
            self.parents[child] = (*(each for each in self.parents[child] if each.vertex != vertex), *through)
        self.children[vertex] = frozenset()
        for each in own:
            kept = self.children[each.vertex] | orphans
            self.children[each.vertex] = kept if vertex in self._reported else kept - {vertex}

    def _nanoseconds(self, vertices: Iterable[VertexIndex]) -> tuple[float, ...]:
        """Return what some vertices cost, by each guess."""
        needed = [vertex for vertex in vertices if self.is_needed(vertex)]
        return tuple(sum(self._cost(vertex, alive) for vertex in needed) for alive in self._guesses)

    def _cost(self, vertex: VertexIndex, alive: Sequence[Size]) -> float:
        parents, own = self.parents[vertex], alive[vertex]
        filled = {slot for parent in parents for slot in parent.slots}
        differential = [slot for slot in range(len(own.fillings)) if slot not in filled]
        return estimate_work(
            own, differential, [alive[parent.vertex] for parent in parents], len(self.children[vertex])
        ).nanoseconds
