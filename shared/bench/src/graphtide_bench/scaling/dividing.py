"""What dividing a stream brings: a model of three ways to spread one load over shards.

* **By pattern**: every shard reads the whole stream for patterns of its own, as matcher services do.
* **By key**: edges with one value of a key go to one shard, and every match stays within a value. By Zipf's law the n-th value
  has one n-th of the edges of the first, and the shard with the most bounds the rest.
* **By vertex**: vertices are spread over shards, and a shard finds the matches around its own. An edge goes to every shard that
  has a vertex near enough. For a pattern of radius 1 those are its ends; for one of radius 2 also their neighbours.

Edges of a window are drawn from a seed, between vertices whose popularity follows a power law. What a copy of an edge costs is
what was measured of a shard (`graphtide.capacity.MATCHER_NANOSECONDS`). The model has no messages between shards: it
shows the cost of having every match within one shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from graphtide.capacity import MATCHER_NANOSECONDS
from graphtide.plot import Axis, Chart, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARDS: Final = (1, 2, 4, 8, 16, 32, 64)
RADII: Final = (1, 2, 3)

_SKEW: Final = 0.8
"""Of the popularity of vertices; less than that of keys, as an edge has two ends."""


@dataclass(frozen=True, slots=True)
class DivisionSettings:
    """What is modelled.

    Attributes:
        edges: of a window.
        vertices: that edges are drawn between.
        keys: values of the key.
        use: share of a core that is planned with.
        seed: of the drawing.
    """

    edges: int = 20_000
    vertices: int = 20_000
    keys: int = 10_000
    use: float = 0.5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Division:
    """One way to divide: for each number of shards, copies of an edge, and the share of edges that the fullest shard has."""

    name: str
    copies: tuple[float, ...]
    greatest: tuple[float, ...]

    def most_edges(self, place: int, use: float) -> float:
        """Return edges a second of the whole stream when the fullest shard uses so much of a core."""
        return use * 1e9 / (MATCHER_NANOSECONDS * self.greatest[place])


def model_ways(settings: DivisionSettings, shards: Sequence[int] = SHARDS) -> tuple[Division, ...]:
    """Return every way, for these numbers of shards."""
    whole = tuple(1.0 for _ in shards)
    by_pattern = Division("by pattern", tuple(float(count) for count in shards), whole)
    by_key = Division("by key", whole, tuple(_fullest_key(settings.keys, count) for count in shards))
    drawn = _draw(settings)
    return (by_pattern, by_key, *(_by_vertex(drawn, radius, shards) for radius in RADII))


def charts(ways: Sequence[Division], use: float, shards: Sequence[int] = SHARDS) -> tuple[Chart, ...]:
    """Return two charts: copies of an edge, and the rate that each way carries, over the number of shards."""
    axis = Axis("shards", logarithmic=True, whole=True)
    copies = [Series(way.name, tuple(zip(map(float, shards), way.copies, strict=True))) for way in ways]
    rates = [
        Series(way.name, tuple((float(count), way.most_edges(place, use)) for place, count in enumerate(shards)))
        for way in ways
    ]
    return (
        Chart("Copies of an edge", axis, Axis("shards that read it", logarithmic=True), tuple(copies)),
        Chart("Rate of one stream", axis, Axis("edges a second", logarithmic=True), tuple(rates)),
    )


def table(ways: Sequence[Division], use: float, shards: Sequence[int] = SHARDS) -> str:
    """Return the same as a table in Markdown: copies, and millions of edges a second."""
    head = ["shards", *(f"{way.name}: copies, rate" for way in ways)]
    rows = [
        [str(count), *(f"{way.copies[place]:.2f}, {way.most_edges(place, use) / 1e6:.2f}M" for way in ways)]
        for place, count in enumerate(shards)
    ]
    lines = [head, ["---:" for _ in head], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _fullest_key(keys: int, shards: int) -> float:
    """Return the share of the shard that has most edges, where each value goes to the emptiest, those with most edges first."""
    weights = [1.0 / place for place in range(1, keys + 1)]
    loads = [0.0] * shards
    for weight in weights:
        loads[loads.index(min(loads))] += weight
    return max(loads) / sum(weights)


def _draw(settings: DivisionSettings) -> list[tuple[int, int]]:
    """Return the edges of a window."""
    draw = Random(settings.seed)  # noqa: S311 - a seeded drawing, which keeps no secret
    vertices = range(settings.vertices)
    weights = [1.0 / (place + 1) ** _SKEW for place in vertices]
    ends = draw.choices(vertices, weights, k=2 * settings.edges)
    return list(zip(ends[::2], ends[1::2], strict=True))


def _by_vertex(edges: Sequence[tuple[int, int]], radius: int, shards: Sequence[int]) -> Division:
    copies, greatest = [], []
    for count in shards:
        near = _near(edges, radius - 1, count)
        held = [near[source] | near[target] for source, target in edges]
        copies.append(sum(each.bit_count() for each in held) / len(held))
        fullest = max(sum(each >> shard & 1 for each in held) for shard in range(count))
        greatest.append(fullest / len(held))
    return Division(f"by vertex, radius {radius}", tuple(copies), tuple(greatest))


def _near(edges: Sequence[tuple[int, int]], hops: int, shards: int) -> dict[int, int]:
    """Return of each vertex the shards that have a vertex within so many hops of it, as bits."""
    # Numbers of vertices are ranks of popularity, so neighbours of a rank are spread.
    near = {vertex: 1 << vertex % shards for edge in edges for vertex in edge}
    for _ in range(hops):
        before = dict(near)
        for source, target in edges:
            near[source] |= before[target]
            near[target] |= before[source]
    return near
