"""Count the symmetries of a coloured graph: the permutations of its parts that keep it the same.

The parts are numbered. A symmetry maps each to one of its colour and keeps every link. Symmetries are found one at a time:
colours are refined until nothing changes, what is left alike is paired, and the pairing is checked. By orbits and
stabilisers a few of them count all, so nothing is enumerated.

Invariant: every symmetry that is counted was checked, so a bound on the work makes the count too small, never too great.
Cost: one refinement for each pair of parts that look alike and are not known to be, O(rounds x links); `MOST_WORK` links at
most.
Reference: B. McKay, "Practical graph isomorphism", 1981 (refinement); C. Sims, 1970 (chains of stabilisers).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_WORK: Final = 500_000
"""Links that are looked at for one graph: less than a second."""


@dataclass(slots=True)
class ColouredGraph:
    """Parts with colours, and links between them.

    Attributes:
        colours: of each part; equal ones may be exchanged.
        links: from a part to another, by kind.
    """

    colours: list[str] = field(default_factory=list)
    links: set[tuple[str, int, int]] = field(default_factory=set)

    def add(self, colour: str) -> int:
        """Add a part, and return its number."""
        self.colours.append(colour)
        return len(self.colours) - 1

    def link(self, kind: str, one: int, other: int) -> None:
        """Link two parts."""
        self.links.add((kind, one, other))


def against(before: Iterable[tuple[str, str]]) -> int:
    """Return a number of permutations of which one at least agrees with an order: exact where the order is a forest."""
    pairs = list(before)
    return min(prod(1 + count for count in Counter(pair[side] for pair in pairs).values()) for side in (0, 1))


def orbits(graph: ColouredGraph, base: Sequence[int], most_work: int = MOST_WORK) -> list[int]:
    """Return for each part of a base how many others it can be exchanged with, itself included, while those before it stay.

    The product is the number of ways to permute the base by symmetries of the graph.
    """
    search = _Search(graph, most_work)
    found = [1] * len(base)
    fixed = list(base)
    known = _Union(len(graph.colours))
    # Symmetries that leave more parts where they are come first: they are symmetries of all longer orbits, too.
    for place in reversed(range(len(base))):
        part = base[place]
        colours = search.refined(search.one_sided(fixed[:place]))
        if colours is None:
            continue
        asked: set[int] = set()
        for other in fixed[place + 1 :]:
            if colours[other] != colours[part] or known.root(other) == known.root(part) or known.root(other) in asked:
                continue
            asked.add(known.root(other))
            symmetry = search.symmetry(fixed[:place], part, other)
            if symmetry is not None:
                for one, image in enumerate(symmetry):
                    known.join(one, image)
                asked = {known.root(each) for each in asked}
        found[place] = sum(known.root(each) == known.root(part) for each in fixed[place:])
    return found


class _Search:
    """Looks for symmetries, until its work is done."""

    def __init__(self, graph: ColouredGraph, most_work: int) -> None:
        self._links = graph.links
        self._size = len(graph.colours)
        numbers = {colour: number for number, colour in enumerate(sorted(set(graph.colours)))}
        self._colours = [numbers[colour] for colour in graph.colours]
        self._near: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for kind, one, other in graph.links:
            self._near[one].append((f">{kind}", other))
            self._near[other].append((f"<{kind}", one))
        self._left = most_work

    def one_sided(self, fixed: Sequence[int]) -> list[int]:
        """Return the colours with some parts separated from all others."""
        colours = list(self._colours)
        for number, part in enumerate(fixed):
            colours[part] = self._size + number
        return colours

    def refined(self, *sides: list[int]) -> list[int] | None:
        """Refine colourings of the graph together, so that they can be compared; None where the work is done."""
        size, colours = self._size, [colour for side in sides for colour in side]
        kinds = len(set(colours))
        while True:
            self._left -= len(colours) + 2 * len(self._links) * len(sides)
            if self._left < 0:
                return None
            looks = [
                (colour, tuple(sorted((kind, colours[part - part % size + other]) for kind, other in self._near[part % size])))
                for part, colour in enumerate(colours)
            ]
            numbers = {look: number for number, look in enumerate(sorted(set(looks)))}
            colours = [numbers[look] for look in looks]
            if len(numbers) == kinds:
                return colours
            kinds = len(numbers)

    def symmetry(self, fixed: Sequence[int], part: int, image: int) -> list[int] | None:
        """Return a symmetry that leaves some parts where they are and maps another to an image; None where none is found."""
        colours = self.refined(self.one_sided([*fixed, part]), self.one_sided([*fixed, image]))
        if colours is None:
            return None
        own, others = colours[: self._size], colours[self._size :]
        if Counter(own) != Counter(others):
            return None
        classes: dict[int, list[int]] = defaultdict(list)
        for number, colour in enumerate(others):
            classes[colour].append(number)
        mapped = [-1] * self._size
        rest = []
        for number, colour in enumerate(own):
            # What may stay stays: symmetries that move little are the likeliest.
            if others[number] == colour:
                mapped[number] = number
                classes[colour].remove(number)
            else:
                rest.append(number)
        for number in rest:
            mapped[number] = classes[own[number]].pop(0)
        self._left -= len(self._links)
        kept = all((kind, mapped[one], mapped[other]) in self._links for kind, one, other in self._links)
        return mapped if kept else None


class _Union:
    """Sets of parts that are known to be exchangeable."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def root(self, part: int) -> int:
        while self._above[part] != part:
            self._above[part] = self._above[self._above[part]]
            part = self._above[part]
        return part

    def join(self, one: int, other: int) -> None:
        self._above[self.root(one)] = self.root(other)
