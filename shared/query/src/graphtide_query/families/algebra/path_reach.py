"""Estimate which pairs of a root and a vertex a PATH reaches, by state of its automaton, and the ways to them.

The pairs grow from state to state by the arcs at a vertex, bounded by the roots and vertices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_query.estimates.cost_model import MOST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.plans.algebra import Automaton

_ROUNDS: Final = 12
"""The most steps that are followed: growing estimates have reached their bound by then."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of an expression: its tuples, and the cost of its operator.

    Attributes:
        tuples: valid at once.
        sources, targets: distinct ends of these; with other than two columns, the distinct vertices of a column.
        changes: tuples that change for an edge of the stream.
        held: the state of its operator: tuples, and nodes of a PATH.
        nanoseconds: of only its operator, for an edge of the stream.
        kept: additional nanoseconds if another operator reads it: a PATH that is only reported does not keep its pairs.
    """

    tuples: float
    sources: float
    targets: float
    changes: float
    held: float
    nanoseconds: float
    kept: float = 0.0


@dataclass(frozen=True, slots=True)
class Walk:
    """The arcs of a PATH, and how many follow each other."""

    automaton: Automaton
    arcs: Sequence[Estimate]
    turned: Sequence[bool]
    fans: Mapping[tuple[int, int], float]

    def roots(self, *, is_single: bool) -> float:
        """Return where paths begin."""
        if is_single:
            return 1.0
        first = {symbol for state, symbol, _ in self.automaton.transitions if state == 0}
        return max(1.0, sum(self.arcs[each].targets if self.turned[each] else self.arcs[each].sources for each in first))

    def reached(self, vertices: float, *, is_single: bool) -> tuple[list[float], list[float]]:
        """Return, by state, the reached pairs of a root and a vertex, and the ways to them."""
        roots, states = self.roots(is_single=is_single), self.automaton.states
        into: list[set[int]] = [set() for _ in range(states)]
        for _, symbol, to in self.automaton.transitions:
            into[to].add(symbol)
        most = [
            min(roots, vertices)
            * max(
                1.0,
                min(vertices, sum(self.arcs[each].sources if self.turned[each] else self.arcs[each].targets for each in ends)),
            )
            for ends in into
        ]
        reached, ways = [0.0] * states, [0.0] * states
        for _ in range(_ROUNDS):
            ways = [0.0] * states
            for state, symbol, to in self.automaton.transitions:
                if state == 0:
                    begin = self.arcs[symbol].targets if self.turned[symbol] else self.arcs[symbol].sources
                    ways[to] += self.arcs[symbol].tuples / (max(1.0, begin) if is_single else 1.0)
                else:
                    before = into[state]
                    fan = sum(self.fans[each, symbol] for each in before) / max(1, len(before))
                    ways[to] = min(MOST, ways[to] + reached[state] * fan)
            after = [top * -math.expm1(-way / top) for top, way in zip(most, ways, strict=True)]
            if after == reached:
                break
            reached = after
        return reached, ways
