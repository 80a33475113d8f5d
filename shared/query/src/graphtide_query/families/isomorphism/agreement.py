"""Compute the share of permutations that agree with a timing order, for a set of edges that grows one by one.

`CostModel.consistent` gives the same but for rounding: the hook length formula over what precedes or what follows each edge.
Invariant: for every edge it is known how much it would change the share through those added before it.
Cost: O(1) to ask what an edge would do. To add one, O(edges that the order has on one side of those on the other side of it).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graphtide_core.pattern import MAX_EDGES

from graphtide_query.estimates.cost_model import members

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_query.estimates.cost_model import CostModel

_LOGARITHMS = [-math.inf, *(math.log(number) for number in range(1, MAX_EDGES + 2))]


class Agreement:
    """The edges added so far, and what each other would do to their share of agreeing permutations."""

    def __init__(self, model: CostModel) -> None:
        """Begin with no edges."""
        self._model = model
        self._edges = 0
        self._earlier = _Side(model.before, model.after, len(model.pattern.edges))
        self._later = _Side(model.after, model.before, len(model.pattern.edges))

    def add(self, edge: int) -> None:
        """Add an edge."""
        self._model.work.do(self._earlier.add(edge, self._edges) + self._later.add(edge, self._edges))
        self._edges |= 1 << edge

    def logarithm(self) -> float:
        """Return the logarithm of the share."""
        return -min(self._earlier.found, self._later.found)

    def logarithm_with(self, edge: int) -> float:
        """Return the logarithm of the share once the edge is added, too."""
        earlier = self._earlier.found_with(edge, self._edges)
        later = self._later.found_with(edge, self._edges)
        return -earlier if earlier < later else -later


class _Side:
    """The product, over the edges added, of one more than how many of them are to one side of each, as a logarithm.

    Attributes:
        found: it.
    """

    def __init__(self, side: Callable[[int], int], opposite: Callable[[int], int], edges: int) -> None:
        """Begin with no edges; the order has `side(edge)` to the one side of an edge, and `opposite(edge)` to the other."""
        self.found = 0.0
        self._side = [side(edge) for edge in range(edges)]
        self._opposite = [opposite(edge) for edge in range(edges)]
        self._by_others = [0.0] * edges

    def found_with(self, edge: int, added: int) -> float:
        """Return what there is once the edge is added to those."""
        return self.found + _LOGARITHMS[(self._side[edge] & added).bit_count() + 1] + self._by_others[edge]

    def add(self, edge: int, added: int) -> int:
        """Add an edge to those, and return how many were looked at."""
        self.found = self.found_with(edge, added)
        looks = self._raise(edge, _step((self._side[edge] & added).bit_count()))
        for place in members(self._opposite[edge] & added):
            count = (self._side[place] & added).bit_count()
            looks += self._raise(place, _step(count + 1) - _step(count))
        return looks

    def _raise(self, edge: int, by: float) -> int:
        """Let every edge to the one side of this one change the product by more."""
        places = members(self._side[edge])
        for place in places:
            self._by_others[place] += by
        return len(places)


def _step(count: int) -> float:
    """Return the logarithm of how much the product grows by one edge more beside `count`."""
    return _LOGARITHMS[count + 2] - _LOGARITHMS[count + 1]
