"""Draws patterns from a stream: random embeddings of nine shapes in its first edges, so that every pattern can match.

Invariant: equal streams and seeds give equal patterns; the sequence of random calls is part of the contract, as for streams.
A total order is the order of the embedding itself, a partial one a third of its pairs, so both can match as well. Edges of the
embedding with equal timestamps are the exception: the total order puts them in an order that the stream does not have.
Cost: an attempt is O(degree) an edge; dense shapes in sparse streams take thousands of attempts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, count, cycle, islice, pairwise
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_bench.workloads.stream import LabelledEdge

Template = tuple[tuple[int, int], ...]
"""Directed edges between numbered query vertices."""

SHAPES: Final[dict[str, Template]] = {
    "path4": ((0, 1), (1, 2), (2, 3), (3, 4)),
    "path5": ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)),
    "path6": ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)),
    "star4": ((0, 1), (0, 2), (0, 3), (4, 0)),
    "star5": ((0, 1), (0, 2), (0, 3), (4, 0), (5, 0)),
    "tree6": ((0, 1), (0, 2), (1, 3), (1, 4), (5, 0), (6, 2)),
    "tri_tail4": ((0, 1), (1, 2), (2, 0), (2, 3)),
    "cycle4": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tri2_5": ((0, 1), (1, 2), (2, 0), (2, 3), (3, 0)),
}
"""The number at the end of a name counts the edges."""

ORDERS: Final = ("empty", "partial", "total")
"""The timing orders that each embedding is drawn with."""

_ATTEMPTS = 20_000
_ATTEMPTS_FOR_MANY = 4_000


@dataclass(frozen=True, slots=True)
class DrawnPattern:
    """A pattern drawn from a stream.

    Attributes:
        name: shape and order, as in `path4_total`.
        vertex_labels: one for each query vertex.
        edges: source, target and label of each query edge.
        order: pairs of edges, the first before the second.
    """

    name: str
    vertex_labels: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]
    order: tuple[tuple[int, int], ...]

    def text(self, window: int) -> str:
        """Return the pattern in the pattern language, with a window of `window` ticks."""
        seen: set[int] = set()

        def vertex(number: int) -> str:
            label = "" if number in seen else f":L{self.vertex_labels[number]}"
            seen.add(number)
            return f"(v{number}{label})"

        edges = ", ".join(
            f"{vertex(source)}-[e{number}:E{label}]->{vertex(target)}"
            for number, (source, target, label) in enumerate(self.edges)
        )
        order = ", ".join(f"e{a} < e{b}" for a, b in self.order)
        return f"PATTERN {self.name}\nMATCH {edges}\n" + (f"ORDER {order}\n" if order else "") + f"ON stream WINDOW {window}\n"


def draw(edges: Iterable[LabelledEdge], seed: int) -> tuple[DrawnPattern, ...]:
    """Draw one embedding of each shape and give it each order; a shape that is not found is left out."""
    rng = Random(seed)  # noqa: S311 - a workload, not a secret
    graph = _Graph(edges)
    drawn: list[DrawnPattern] = []
    for shape, template in SHAPES.items():
        found = graph.embed(template, rng, _ATTEMPTS)
        if found is None:
            continue
        orders = _orders(found, rng)
        drawn.extend(_pattern(f"{shape}_{order}", template, found, orders[order]) for order in reversed(ORDERS))
    return tuple(drawn)


def draw_many(edges: Iterable[LabelledEdge], seed: int, number: int) -> tuple[DrawnPattern, ...]:
    """Draw `number` patterns named p0, p1 and so on, each from an embedding of its own; shapes and orders alternate.

    A smaller `number` gives the first of the same patterns. A shape that is not found is passed over.
    """
    return tuple(islice(_draw_endlessly(_Graph(edges), Random(seed)), number))  # noqa: S311 - a workload, not a secret


def _draw_endlessly(graph: _Graph, rng: Random) -> Iterator[DrawnPattern]:
    names = count()
    for order in cycle(ORDERS):
        for template in SHAPES.values():
            found = graph.embed(template, rng, _ATTEMPTS_FOR_MANY)
            if found is not None:
                yield _pattern(f"p{next(names)}", template, found, _orders(found, rng)[order])


class _Graph:
    """Edges with their neighbourhoods, in the order of arrival."""

    def __init__(self, edges: Iterable[LabelledEdge]) -> None:
        self._edges = tuple(edges)
        self._leaving: defaultdict[int, list[LabelledEdge]] = defaultdict(list)
        self._entering: defaultdict[int, list[LabelledEdge]] = defaultdict(list)
        for edge in self._edges:
            self._leaving[edge.source].append(edge)
            self._entering[edge.target].append(edge)

    def embed(self, template: Template, rng: Random, attempts: int) -> tuple[LabelledEdge, ...] | None:
        """Return the data edges of a random embedding, in the order of the template; None if none was found."""
        return next((found for found in (self._attempt(template, rng) for _ in range(attempts)) if found), None)

    def _attempt(self, template: Template, rng: Random) -> tuple[LabelledEdge, ...] | None:
        bound: dict[int, int] = {}
        used: list[LabelledEdge] = []
        for source, target in template:
            candidates = self._candidates(bound, source, target, rng)
            if not candidates:
                return None
            edge = rng.choice(candidates)
            if edge in used:
                return None
            for query_vertex, vertex in ((source, edge.source), (target, edge.target)):
                if query_vertex not in bound:
                    if vertex in bound.values():
                        return None
                    bound[query_vertex] = vertex
            used.append(edge)
        return tuple(used)

    def _candidates(self, bound: dict[int, int], source: int, target: int, rng: Random) -> Sequence[LabelledEdge]:
        if not bound:
            # Chosen here and then again from one: the second choice takes random bits, which later ones depend on.
            return [rng.choice(self._edges)]
        if source in bound and target in bound:
            return [edge for edge in self._leaving[bound[source]] if edge.target == bound[target]]
        return self._leaving[bound[source]] if source in bound else self._entering[bound[target]]


def _orders(found: Sequence[LabelledEdge], rng: Random) -> dict[str, tuple[tuple[int, int], ...]]:
    ranked = sorted(range(len(found)), key=lambda place: found[place].ts)
    pairs = list(combinations(ranked, 2))
    return {
        "empty": (),
        "partial": tuple(sorted(rng.sample(pairs, max(1, len(pairs) // 3)))),
        "total": tuple(pairwise(ranked)),
    }


def _pattern(name: str, template: Template, found: Sequence[LabelledEdge], order: tuple[tuple[int, int], ...]) -> DrawnPattern:
    labels: dict[int, int] = {}
    for (source, target), edge in zip(template, found, strict=True):
        labels[source], labels[target] = edge.source_label, edge.target_label
    return DrawnPattern(
        name=name,
        vertex_labels=tuple(labels[vertex] for vertex in range(len(labels))),
        edges=tuple((source, target, edge.label) for (source, target), edge in zip(template, found, strict=True)),
        order=order,
    )
