"""A search order that grows edge by edge: what `CostModel` estimates of it, at the cost of a step instead of a look at all.

Estimates are natural logarithms, so that they neither overflow nor vanish; they agree with those of `CostModel` but for
rounding. Invariant: what an edge would add is kept for every edge that touches one bound. It is weighed again when another is
bound at one of its ends. So all edges that may be next are compared, as where there is time to estimate each anew.
Cost: O(edges at the ends of an edge), and as `Agreement` says, to bind it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graphtide_query.estimates.cost_model import members
from graphtide_query.families.isomorphism.agreement import Agreement

if TYPE_CHECKING:
    from graphtide_query.estimates.cost_model import CostModel

TIED = 1e-9
"""Weights that differ by less are equal: they would be, without rounding."""
LOOKS = 4
"""Equals that are looked beyond."""


class Growth:
    """Edges bound so far by a search from the first of them, the newest of all.

    Attributes:
        order: the edges bound.
        opened: for each, the logarithm of the bindings that are open once it is bound.
    """

    def __init__(self, model: CostModel, start: int) -> None:
        """Begin with the edge that a search starts from."""
        self.order = [start]
        self.opened = [0.0 if model.alive(start) > 0 else -math.inf]
        self._model = model
        self._bound = 1 << start
        self._near = 0
        self._later_than_start = model.after(start)
        self._alone = [_alone(model, edge) for edge in range(len(model.pattern.edges))]
        self._found = self.opened[0]
        self._agreement = Agreement(model)
        self._ends: dict[str, _End] = {}
        self._grown: dict[int, float] = {}
        self._meet(start)

    def bind(self, edge: int) -> None:
        """Bind an edge."""
        self._found += self._growth(edge)
        if self._found > -math.inf:
            self._agreement.add(edge)
        self.order.append(edge)
        self.opened.append(self._found + self._agreement.logarithm())
        self._bound |= 1 << edge
        self._meet(edge)

    def complete(self) -> None:
        """Bind all other edges: next the one that leaves the fewest bindings open, of equals the one after which fewest can be.

        Complexity: O(n) looks at what is kept for each edge.
        """
        while self._near:
            near = members(self._near)
            self._model.work.do(len(near))
            # Where nothing is open, nothing is with any edge more.
            self.bind(near[0] if self.opened[-1] == -math.inf else self._next(near))

    def _next(self, near: tuple[int, ...]) -> int:
        weights = [self._weight(edge) for edge in near]
        least = min(weights)
        if least == -math.inf:
            return near[weights.index(least)]
        equals = [edge for edge, weight in zip(near, weights, strict=True) if weight < least + TIED]
        return min(equals[:LOOKS], key=self._promise) if len(equals) > 1 else equals[0]

    def _weight(self, edge: int) -> float:
        """Return the logarithm of how many bindings are open with the edge, but for what is so with every edge."""
        growth = self._growth(edge)
        return growth + self._agreement.logarithm_with(edge) if growth > -math.inf else growth

    def _growth(self, edge: int) -> float:
        """Return the logarithm of how many more there are with the edge, but for the order of those before the newest."""
        if edge not in self._grown:
            self._grown[edge] = self._weigh(edge)
        return self._grown[edge]

    def _weigh(self, edge: int) -> float:
        if self._later_than_start >> edge & 1:
            return -math.inf
        ends = self._ends
        return self._alone[edge] + sum([ends[vertex].meeting(edge) for vertex in self._model.ends_of(edge) if vertex in ends])

    def _promise(self, edge: int) -> float:
        """Return the least that any edge adds which touches the edge where none of those bound does, once it is bound."""
        model, least = self._model, math.inf
        for vertex in model.ends_of(edge) - self._ends.keys():
            end = _End(model, vertex)
            end.meet(edge)
            for other in members(model.near((edge,)) & ~self._bound):
                if vertex in model.ends_of(other):
                    least = min(least, self._weigh(other) + end.meeting(other))
        return least

    def _meet(self, edge: int) -> None:
        """Let the edge lie at its ends."""
        touching = self._model.near((edge,))
        self._near = (self._near | touching) & ~self._bound
        if self._found == -math.inf:
            # Nothing is asked of what does not occur.
            return
        for each in members(touching & self._near):
            self._grown.pop(each, None)
        for vertex in self._model.ends_of(edge):
            if vertex not in self._ends:
                self._ends[vertex] = _End(self._model, vertex)
            self._ends[vertex].meet(edge)


def _alone(model: CostModel, edge: int) -> float:
    """Return what an edge adds that meets none of those bound."""
    alive = model.alive(edge)
    return math.log(alive) + math.log(model.closing) * (1 - len(model.ends_of(edge))) if alive > 0 else -math.inf


class _End:
    """A query vertex, as the end of edges bound."""

    def __init__(self, model: CostModel, vertex: str) -> None:
        """Begin with none bound."""
        self._pairs = model.likelier_by_pair(vertex) if model.has_counted_meetings else {}
        self._even = math.log(model.closing) - math.log(model.vertices)
        self._met = 0
        self._likelier = 0.0
        self._with_bound = dict.fromkeys(self._pairs, 0.0)
        self._shift = 0.0
        self._slope = 0.0

    def meet(self, edge: int) -> None:
        """Let one more edge bound lie here."""
        self._met += 1
        self._shift = self._even
        if self._pairs:
            self._likelier += self._with_bound[edge]
            for other, times in self._pairs[edge].items():
                self._with_bound[other] += times
            self._slope = (self._met + 3) / (2 * self._met + 2)
            self._shift += self._likelier * (self._slope - (self._met + 2) / (2 * self._met))

    def meeting(self, edge: int) -> float:
        """Return the logarithm of how much rarer another edge makes it that all of them lie here."""
        return self._shift + self._slope * self._with_bound[edge] if self._pairs else self._shift
