"""Structural entropy of a graph under a partition tree: bits to name the next node of a random walk, cluster by cluster.

H = - sum over clusters c but the root of  cut(c) / V * log2(volume(c) / volume(parent(c)))

Here a cluster's volume is the sum of its nodes' degrees, its cut the number of edges that leave it. V is the volume of the
graph. What an operation takes off depends on the clusters that it touches alone:

* Combining siblings a and b of a parent p into a new cluster. Their cuts are coded from a cluster of volume v = v(a) + v(b)
  instead of v(p). Of their cuts together 2 w(a, b) need not leave it, w being the edges between them:
  V * delta = 2 w(a, b) * log2(v(p) / v).
* Merging them into one cluster m of all their children: V * delta = cut(m) log2(v / v(p)) - cut(a) log2(v(a) / v(p))
  - cut(b) log2(v(b) / v(p)) + inner(a) log2(v(a) / v) + inner(b) log2(v(b) / v). Here inner(c) is the sum of the cuts of c's
  children; a leaf counts as its own only child.

Merging never takes off more than combining. It is combining, and then leaving out the two inner clusters, which lengthens the
code of every edge inside them.

Reference: paper 002, equations 2, 4 and 6. The printed equation 6 divides the volumes of children by E(alpha) on both lines. On
the second it is the volume of the merged vertex, and so is l_alpha its cut.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_query.families.events.correlation import Graph


class Cluster(NamedTuple):
    """The quantities that decide the entropy of a cluster.

    Attributes:
        volume: sum of its nodes' degrees.
        cut: edges that leave it.
        inner: sum of its children's cuts; of a leaf its own cut.
    """

    volume: int
    cut: int
    inner: int


def structural_entropy(graph: Graph, parents: Sequence[int | None]) -> float:
    """Return the structural entropy from its definition (equation 2).

    Args:
        graph: an undirected graph.
        parents: of the vertices of the partition tree, None for children of the root; the graph's nodes come first.

    Complexity: O(edges * depth).
    """
    total = sum(map(len, graph))
    volumes = [0] * len(parents)
    cuts = [0] * len(parents)
    for node, links in enumerate(graph):
        chain = _chain(node, parents)
        for vertex in chain:
            volumes[vertex] += len(links)
        for other in links:
            inside = set(_chain(other, parents))
            for vertex in chain:
                cuts[vertex] += vertex not in inside
    entropy = 0.0
    for vertex, (volume, cut) in enumerate(zip(volumes, cuts, strict=True)):
        if cut:
            parent = parents[vertex]
            entropy -= cut / total * log2(volume / (total if parent is None else volumes[parent]))
    return entropy


def combine(one: Cluster, other: Cluster, between: int) -> Cluster:
    """Return the parent of two clusters, given the edges between them."""
    return Cluster(one.volume + other.volume, one.cut + other.cut - 2 * between, one.cut + other.cut)


def merge_clusters(one: Cluster, other: Cluster, between: int) -> Cluster:
    """Return the cluster of the children of two."""
    return Cluster(one.volume + other.volume, one.cut + other.cut - 2 * between, one.inner + other.inner)


def taken_off_by_combining(one: Cluster, other: Cluster, between: int, parent_volume: int) -> float:
    """Return the bits that combining two siblings takes off, times the graph's volume (equation 4)."""
    return 2 * between * log2(parent_volume / (one.volume + other.volume))


def taken_off_by_merging(one: Cluster, other: Cluster, between: int, parent_volume: int) -> float:
    """Return the bits that merging two siblings takes off, times the graph's volume (equation 6)."""
    both = one.volume + other.volume
    cut = one.cut + other.cut - 2 * between
    return (
        cut * log2(both / parent_volume)
        - one.cut * log2(one.volume / parent_volume)
        - other.cut * log2(other.volume / parent_volume)
        + one.inner * log2(one.volume / both)
        + other.inner * log2(other.volume / both)
    )


def _chain(vertex: int, parents: Sequence[int | None]) -> list[int]:
    chain = [vertex]
    while (parent := parents[chain[-1]]) is not None:
        chain.append(parent)
    return chain
