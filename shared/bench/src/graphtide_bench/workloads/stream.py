"""Generates streams of labelled edges from seeds: power-law degrees, and some edges that close short cycles over recent ones.

Invariant: equal recipes give equal streams, on every machine; a recipe with fewer edges gives a prefix of the stream.
The sequence of random calls is part of the contract: published match counts and measurements refer to these streams.
Cost: O(log vertices) an edge, about a microsecond and a half.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_REMEMBERED = 2000
"""Edges that a new one may close a cycle over."""


@dataclass(frozen=True, slots=True)
class StreamRecipe:
    """What a stream is made from.

    Attributes:
        seed: of the random numbers.
        edges: how many.
        vertices: how many there are to choose from.
        vertex_labels: how many.
        edge_labels: how many.
        alpha: exponent of the degrees: the vertex of rank i is chosen with weight (i + 1) ** -alpha.
        label_skew: the same exponent for labels; 0 makes them equally frequent.
        closing: share of edges that try to close a triangle or a cycle of four.
        edges_per_tick: edges with equal timestamps.
        swap_after: edges after which the most frequent edge label takes the frequency of the rarest, the second that of the
            second rarest, and so on. None for never.
    """

    seed: int
    edges: int
    vertices: int
    vertex_labels: int
    edge_labels: int
    alpha: float
    closing: float
    label_skew: float = 0.0
    edges_per_tick: int = 1
    swap_after: int | None = None


class LabelledEdge(NamedTuple):
    """An edge with its labels, all of them numbers."""

    ts: int
    source: int
    target: int
    source_label: int
    target_label: int
    label: int


def generate(recipe: StreamRecipe) -> Iterator[LabelledEdge]:
    """Yield the edges of a stream in order of time; no edge is a loop."""
    rng = Random(recipe.seed)  # noqa: S311 - a workload, not a secret
    weights = _power_law(recipe.vertices, recipe.alpha)
    sources = _shuffle(rng, recipe.vertices)
    targets = _shuffle(rng, recipe.vertices)
    vertex_weights = _power_law(recipe.vertex_labels, recipe.label_skew)
    edge_weights = _power_law(recipe.edge_labels, recipe.label_skew)
    labels = [_pick(rng, vertex_weights) for _ in range(recipe.vertices)]
    recent = _Recent()
    count = 0
    while count < recipe.edges:
        source, target = sources[_pick(rng, weights)], targets[_pick(rng, weights)]
        if recipe.closing and recent.edges and rng.random() < recipe.closing:
            source, target = recent.close(rng) or (source, target)
        label = _pick(rng, edge_weights)
        if recipe.swap_after is not None and count >= recipe.swap_after:
            label = recipe.edge_labels - 1 - label
        if source == target:
            continue
        yield LabelledEdge(1 + count // recipe.edges_per_tick, source, target, labels[source], labels[target], label)
        recent.add(source, target, count)
        count += 1


@dataclass(slots=True)
class _Recent:
    """The last edges, and the last target of each source."""

    edges: list[tuple[int, int]] = field(default_factory=list)
    last_target: dict[int, int] = field(default_factory=dict)

    def close(self, rng: Random) -> tuple[int, int] | None:
        """Return the ends of an edge that closes a triangle or a cycle of four over recent edges, if there is one."""
        x, y = self.edges[rng.randrange(len(self.edges))]
        third = self.last_target.get(y)
        if third is None or third == x:
            return None
        if rng.random() < 0.5:
            return third, x
        fourth = self.last_target.get(third)
        return None if fourth is None or fourth in (x, y) else (fourth, x)

    def add(self, source: int, target: int, number: int) -> None:
        """Take the stream's edge of that number."""
        if len(self.edges) < _REMEMBERED:
            self.edges.append((source, target))
        else:
            self.edges[number % _REMEMBERED] = (source, target)
        self.last_target[source] = target


def _power_law(count: int, exponent: float) -> list[float]:
    return list(accumulate((rank + 1) ** -exponent for rank in range(count)))


def _shuffle(rng: Random, count: int) -> list[int]:
    numbers = list(range(count))
    rng.shuffle(numbers)
    return numbers


def _pick(rng: Random, cumulative: Sequence[float]) -> int:
    # Rounding may carry the product to the last weight itself.
    return min(bisect(cumulative, rng.random() * cumulative[-1]), len(cumulative) - 1)
