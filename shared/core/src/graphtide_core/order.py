"""Strict partial orders: the timing order over a pattern's edges.

Reference: paper 004, Definition 4. The closure is computed once, over bit masks: O(n^2) words for n names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class TimingOrder:
    """A strict partial order, held as its transitive closure.

    `before` holds every pair (a, b) with a < b, sorted; build it with `of`, which closes the pairs and refuses cycles.
    """

    before: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> TimingOrder:
        """Close `pairs` under transitivity.

        Raises:
            InvalidPatternError: the pairs contain a cycle; the message names it.
        """
        successors: dict[str, set[str]] = {}
        for a, b in pairs:
            successors.setdefault(a, set()).add(b)
            successors.setdefault(b, set())
        ranked = _topological(successors)
        reach: dict[str, set[str]] = {}
        for name in reversed(ranked):
            reach[name] = set(successors[name]).union(*(reach[after] for after in successors[name]))
        return cls(frozenset((a, b) for a, after in reach.items() for b in after))

    def precedes(self, a: str, b: str) -> bool:
        """Whether a < b."""
        return (a, b) in self.before

    def is_total(self, names: Sequence[str]) -> bool:
        """Whether every two of `names` are ordered."""
        return all(self.precedes(a, b) or self.precedes(b, a) for i, a in enumerate(names) for b in names[i + 1 :])

    def reduction(self) -> tuple[tuple[str, str], ...]:
        """Return the fewest pairs with the same closure, sorted: what a person would write."""
        later = {b for _, b in self.before}
        return tuple(
            sorted((a, b) for a, b in self.before if not any((a, c) in self.before and (c, b) in self.before for c in later))
        )

    def chains(self) -> tuple[tuple[str, ...], ...]:
        """Return chains `a < b < c` that together state the reduction, each pair once."""
        rest = list(self.reduction())
        chains: list[tuple[str, ...]] = []
        while rest:
            heads = {b for _, b in rest}
            chain = list(next((pair for pair in rest if pair[0] not in heads), rest[0]))
            rest.remove((chain[0], chain[1]))
            while True:
                following = next((pair for pair in rest if pair[0] == chain[-1]), None)
                if following is None:
                    break
                rest.remove(following)
                chain.append(following[1])
            chains.append(tuple(chain))
        return tuple(chains)


def _topological(successors: dict[str, set[str]]) -> list[str]:
    """Order the names so that a < b puts a first; raise on a cycle, naming it."""
    done: set[str] = set()
    ranked: list[str] = []
    for root, after_root in successors.items():
        if root in done:
            continue
        path = [root]
        pending = [sorted(after_root)]
        while path:
            if not pending[-1]:
                name = path.pop()
                pending.pop()
                done.add(name)
                ranked.append(name)
                continue
            name = pending[-1].pop()
            if name in path:
                cycle = [*path[path.index(name) :], name]
                message = f"the order has a cycle: {' < '.join(cycle)}"
                raise InvalidPatternError(message, hint="an edge cannot come before itself; remove one of these pairs")
            if name not in done:
                path.append(name)
                pending.append(sorted(successors[name]))
    return ranked[::-1]
