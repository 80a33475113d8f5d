"""Build the correlation graph of sub-patterns: each is linked with those that share the most of its event types.

Similarity of i to j is |E_i & E_j| / |E_i|, where E are the sets of event types. The common types of all pairs are the product
of the matrix sub-patterns x types with its transpose. Both are sparse, and rows of the product are made one at a time from the
lists of who asks for a type. Rows do not depend on each other, so that groups of them can be made apart and merged.

Thousands of patterns may differ in their constants alone, or all ask for the same few types. Then nearly all are equally
similar, and the first one would be linked with each of them. While such a node's cluster grows, n^2 / 2 pairs are looked at. So
of very many equals the next ones after a node are taken. Of very many that ask for a type the next are counted.

Reference: paper 002, Definition 4 and section 5.2; the numbers of links and the least similarity are those of the published
code.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Graph = list[set[int]]
"""For each node the nodes that it is linked with; undirected."""

MOST_SIMILAR: Final = 10
"""A node is linked with so many that are the most similar to it, where it counts among them itself."""

LEAST_SIMILARITY: Final = 0.1
"""Only greater similarity makes a link."""

MOST_EQUAL: Final = 64
"""Of up to this many equally similar nodes, the first are linked; of more, the next ones, so that no node has all links."""

MOST_ASKING: Final = 256
"""So many of those that ask for a type are counted, from the node on; the published workloads have fewer."""

GROUP: Final = 1024
"""Nodes whose links are found at a time."""


def correlation_graph(types: Sequence[frozenset[str]], group: int = GROUP) -> Graph:
    """Return the correlation graph of sub-patterns with these event types.

    Complexity: O(pairs of sub-patterns with a common type, counted once for each such type). There are no more than
    `MOST_ASKING` of them for each type of a sub-pattern.
    """
    asking: dict[str, list[int]] = {}
    for node, own in enumerate(types):
        for each in own:
            asking.setdefault(each, []).append(node)
    groups = (range(first, min(first + group, len(types))) for first in range(0, len(types), group))
    return merge_links((most_similar(nodes, types, asking) for nodes in groups), len(types))


def most_similar(
    nodes: Iterable[int], types: Sequence[frozenset[str]], asking: Mapping[str, Sequence[int]]
) -> dict[int, list[int]]:
    """Return for each node of a group those that it links to; `asking` has the nodes of each type, ascending."""
    count = len(types)
    found = {}
    for node in nodes:
        own = types[node]
        least = LEAST_SIMILARITY * len(own)
        common = Counter(chain.from_iterable([_next(asking[each], node) for each in own]))
        # Nearly all have one type in common: they are looked at where too few have more.
        most = max(least, 1)
        # One number for each: the more types in common the greater, and of equals the earlier node.
        ranked = nlargest(MOST_SIMILAR, [shared * count - other for other, shared in common.items() if shared > most])
        if len(ranked) < MOST_SIMILAR and least < most:
            ranked = nlargest(MOST_SIMILAR, [shared * count - other for other, shared in common.items() if shared > least])
        first = 0
        if len(ranked) == MOST_SIMILAR and list(common.values()).count(-(-ranked[-1] // count)) > MOST_EQUAL:
            first = node
            later = ((other - first) % count for other in common)
            pairs = zip(common.values(), later, strict=True)
            ranked = nlargest(MOST_SIMILAR, [shared * count - other for shared, other in pairs if shared > least])
        found[node] = [other for other in ((first - rank) % count for rank in ranked) if other != node]
    return found


def _next(asking: Sequence[int], node: int) -> Sequence[int]:
    """Return who asks for a type: of very many those from a node on, and then from the first on."""
    if len(asking) <= MOST_ASKING:
        return asking
    place = bisect_left(asking, node)
    return [*asking[place : place + MOST_ASKING], *asking[: max(0, place + MOST_ASKING - len(asking))]]


def merge_links(groups: Iterable[Mapping[int, Iterable[int]]], nodes: int) -> Graph:
    """Return the undirected graph of what the nodes of all groups link to."""
    graph: Graph = [set() for _ in range(nodes)]
    for group in groups:
        for node, links in group.items():
            for other in links:
                graph[node].add(other)
                graph[other].add(node)
    return graph
