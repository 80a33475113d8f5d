"""Content-aware structural entropy minimisation: sub-patterns agglomerated while it shortens the code of their graph.

The partition tree begins with all sub-patterns under its root. Of the root's children that edges link, the pair whose operation
takes off the most entropy is examined. If they have a sub-pattern in common, they become one child, marked by it. Pairs wait in
a heap. What an operation takes off changes only with its two clusters, so an entry is right as long as both are there.

Which operation: combining takes off at least what merging does (see `entropy`). What the two differ in, two vertices with equal
marks, the plan makes one of anyhow. So merging is for trees whose depth is bounded. There clusters that may not get a parent
are merged, if the common sub-pattern has the slots and the order of one of them.

A tree of any depth is then improved by rotations of a cluster {a, b} and its sibling c. Where {a, c} takes off more than {a,
b}, these become the cluster, and b the sibling. Each rotation shortens the code, so they end. Where nearly all nodes are
equally similar, they continue for long and save little, so there is a bound on them.

Reference: paper 002, section 4.2.4 (Algorithm 1). Rotations are ours: greedy agglomeration alone ends some percent above.
"""

from __future__ import annotations

from collections import Counter, deque
from heapq import heapify, heappop, heappush
from math import log2
from typing import TYPE_CHECKING, Final

from graphtide_query.families.events.common import may_share
from graphtide_query.families.events.entropy import (
    Cluster,
    combine,
    merge_clusters,
    taken_off_by_combining,
    taken_off_by_merging,
)
from graphtide_query.families.events.worthwhile import shared_subpatterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_query.families.events.budget import Examinations
    from graphtide_query.families.events.correlation import Graph
    from graphtide_query.families.events.forms import Form, Forms
    from graphtide_query.families.events.rates import Rates

_LEAST: Final = 1e-9
"""Bits, times the graph's volume, below which what is taken off is rounding."""


_MOST_LOOKS: Final = 8
"""How often rotations look at a cluster, on average; the published workloads take up to four times."""


class PartitionTree:
    """Clusters of nodes; nodes are the first vertices, and the root is none.

    Attributes:
        parents: of each vertex, None for children of the root.
        children: of each vertex; nodes have none.
        forms: what marks each vertex.
    """

    def __init__(self, leaves: Sequence[Form]) -> None:
        """Begin with the nodes under the root."""
        self.forms: list[Form] = list(leaves)
        self.parents: list[int | None] = [None] * len(leaves)
        self.children: list[list[int]] = [[] for _ in leaves]
        self.nodes = len(leaves)

    def add(self, form: Form, children: Iterable[int]) -> int:
        """Put vertices under a new child of the root, and return it."""
        vertex = len(self.forms)
        self.forms.append(form)
        self.parents.append(None)
        self.children.append(list(children))
        for child in self.children[vertex]:
            self.parents[child] = vertex
        return vertex

    def inner(self) -> list[int]:
        """Return the clusters that are parts of the tree, each after its children."""
        alive = [vertex for vertex in range(self.nodes, len(self.forms)) if self.parents[vertex] != vertex]
        heights: dict[int, int] = {}
        for vertex in alive:
            path = [vertex]
            while path:
                missing = [child for child in self.children[path[-1]] if self.children[child] and child not in heights]
                if missing:
                    path += missing
                else:
                    top = path.pop()
                    heights[top] = 1 + max((heights.get(child, 0) for child in self.children[top]), default=0)
        return sorted(alive, key=lambda vertex: (heights[vertex], vertex))


def casem(
    forms: Forms, leaves: Sequence[Form], graph: Graph, rates: Rates, work: Examinations, *, levels: int | None = None
) -> PartitionTree:
    """Return a partition tree of the graph whose clusters are marked by what their members have in common.

    Args:
        forms: of all patterns.
        leaves: the sub-patterns that are the graph's nodes.
        graph: their correlation graph.
        rates: of event types.
        work: what may be spent.
        levels: of vertices below the root, the nodes' one among them; None for as many as there come.

    Complexity: O(m log m) examinations for m edges, and the rotations.
    """
    tree = PartitionTree(leaves)
    _Agglomeration(forms, tree, graph, rates, levels).run(work)
    if levels is None:
        _Rotations(forms, tree, graph, rates).run(work)
    return tree


class _Agglomeration:
    """Algorithm 1, on the children of the root."""

    def __init__(self, forms: Forms, tree: PartitionTree, graph: Graph, rates: Rates, levels: int | None) -> None:
        self.forms, self.tree, self.rates, self.levels = forms, tree, rates, levels
        self.volume = sum(map(len, graph))
        self.clusters = [Cluster(len(links), len(links), len(links)) for links in graph]
        self.heights = [1] * tree.nodes
        # Clusters have no more in common than their members: what cannot share now never can.
        self.links: list[dict[int, int]] = [{} for _ in graph]
        self.candidates: list[tuple[float, int, int]] = []
        for node, links in enumerate(graph):
            form, own = tree.forms[node], self.links[node]
            for other in links:
                if node < other and may_share(forms, form, tree.forms[other]):
                    own[other] = self.links[other][node] = 1
                    self.candidates += self._entry(node, other)
        heapify(self.candidates)

    def run(self, work: Examinations) -> None:
        """Operate until nothing takes entropy off, or the work is done."""
        while self.candidates and work.one_more():
            _, one, other = heappop(self.candidates)
            if other not in self.links[one]:
                continue
            found = shared_subpatterns(self.forms, self.rates, [self.tree.forms[one], self.tree.forms[other]])
            if found is None:
                del self.links[one][other], self.links[other][one]
            elif self._may_combine(one, other) or any(_keeps(found[0], self.tree.forms[each]) for each in (one, other)):
                self._operate(found[0], one, other)

    def _may_combine(self, one: int, other: int) -> bool:
        return self.levels is None or max(self.heights[one], self.heights[other]) < self.levels

    def _entry(self, one: int, other: int) -> tuple[tuple[float, int, int], ...]:
        """Return the place of a pair among the candidates, or nothing if its operation lengthens the code.

        Combining the last two clusters of a graph changes nothing, and is done, as their members have something in common.
        """
        clusters = self.clusters[one], self.clusters[other], self.links[one][other], self.volume
        if self.levels is None or self._may_combine(one, other):
            return ((-taken_off_by_combining(*clusters), one, other),)
        bits = taken_off_by_merging(*clusters)
        return ((-bits, one, other),) if bits > _LEAST else ()

    def _operate(self, form: Form, one: int, other: int) -> None:
        between = self.links[one].pop(other)
        del self.links[other][one]
        combines = self._may_combine(one, other)
        members = [one, other] if combines else [child for each in (one, other) for child in self._dissolved(each)]
        new = self.tree.add(form, members)
        self.clusters.append((combine if combines else merge_clusters)(self.clusters[one], self.clusters[other], between))
        self.heights.append(max(self.heights[one], self.heights[other]) + combines)
        links: dict[int, int] = {}
        for each in (one, other):
            for sibling, weight in self.links[each].items():
                del self.links[sibling][each]
                links[sibling] = links.get(sibling, 0) + weight
            self.links[each] = {}
        self.links.append({})
        for sibling, weight in links.items():
            if may_share(self.forms, form, self.tree.forms[sibling]):
                self.links[sibling][new] = self.links[new][sibling] = weight
                for entry in self._entry(sibling, new):
                    heappush(self.candidates, entry)

    def _dissolved(self, vertex: int) -> list[int]:
        """Return the children of a cluster, which is not a part of the tree any more; a node is its own child."""
        if vertex < self.tree.nodes:
            return [vertex]
        self.tree.parents[vertex] = vertex
        children, self.tree.children[vertex] = self.tree.children[vertex], []
        return children


def _keeps(found: Form, form: Form) -> bool:
    """Return whether a common sub-pattern has all slots and the whole order of a form."""
    return found.size == form.size and len(found.order) == len(form.order)


class _Rotations:
    """Local improvements of a binary tree."""

    def __init__(self, forms: Forms, tree: PartitionTree, graph: Graph, rates: Rates) -> None:
        self.forms, self.tree, self.graph, self.rates = forms, tree, graph, rates
        self.leaves: list[set[int]] = [{node} for node in range(tree.nodes)]
        self.volumes = [len(links) for links in graph]
        for vertex in range(tree.nodes, len(tree.forms)):
            one, other = tree.children[vertex]
            self.leaves.append(self.leaves[one] | self.leaves[other])
            self.volumes.append(self.volumes[one] + self.volumes[other])
        self.total = sum(self.volumes[: tree.nodes])
        self.top = list(range(tree.nodes))
        for vertex, parent in enumerate(tree.parents):
            if parent is None:
                self._put_on_top(vertex)

    def run(self, work: Examinations) -> None:
        """Rotate until no rotation takes entropy off, or the work is done."""
        waiting = deque(range(self.tree.nodes, len(self.tree.forms)))
        queued = set(waiting)
        for _ in range(_MOST_LOOKS * len(waiting)):
            if not waiting:
                return
            vertex = waiting.popleft()
            queued.discard(vertex)
            best = self._best(vertex)
            if best is None:
                continue
            if not work.one_more():
                return
            for again in self._rotate(vertex, *best):
                if self.tree.children[again] and again not in queued:
                    queued.add(again)
                    waiting.append(again)

    def _best(self, vertex: int) -> tuple[int, int, int] | None:
        """Return which child of a cluster stays, which goes and which sibling comes where that takes off the most."""
        one, other = self.tree.children[vertex]
        parent = self.tree.parents[vertex]
        volume = self.total if parent is None else self.volumes[parent]
        siblings = self._between(one, other, vertex, parent)
        least = _LEAST + siblings.pop(other)[0] * log2(volume / self.volumes[vertex])
        best = None
        for sibling, weights in siblings.items():
            for stays, goes, weight in ((one, other, weights[0]), (other, one, weights[1])):
                bits = weight * log2(volume / (self.volumes[stays] + self.volumes[sibling]))
                if bits > least and may_share(self.forms, self.tree.forms[stays], self.tree.forms[sibling]):
                    least, best = bits, (stays, goes, sibling)
        return best

    def _between(self, one: int, other: int, vertex: int, parent: int | None) -> dict[int, tuple[int, int]]:
        """Return the edges from two children of a cluster to each of its siblings, and from the first to the second."""
        found = {other: (self._edges(one, other), 0)}
        if parent is not None:
            (sibling,) = (each for each in self.tree.children[parent] if each != vertex)
            found[sibling] = self._edges(one, sibling), self._edges(other, sibling)
            return found
        from_one, from_other = (
            Counter([self.top[link] for node in self.leaves[each] for link in self.graph[node]]) for each in (one, other)
        )
        for sibling in sorted({*from_one, *from_other} - {vertex}):
            found[sibling] = from_one.get(sibling, 0), from_other.get(sibling, 0)
        return found

    def _edges(self, one: int, other: int) -> int:
        few, many = self.leaves[one], self.leaves[other]
        if len(few) > len(many):
            few, many = many, few
        return sum([len(self.graph[node] & many) for node in few])

    def _rotate(self, vertex: int, stays: int, goes: int, comes: int) -> list[int]:
        """Rotate if there is a common sub-pattern; return the clusters whose rotations may now take off more."""
        tree = self.tree
        found = shared_subpatterns(self.forms, self.rates, [tree.forms[stays], tree.forms[comes]])
        if found is None:
            return []
        parent = tree.parents[vertex]
        tree.forms[vertex] = found[0]
        tree.children[vertex] = [stays, comes]
        tree.parents[comes], tree.parents[goes] = vertex, parent
        self.leaves[vertex] = self.leaves[stays] | self.leaves[comes]
        self.volumes[vertex] = self.volumes[stays] + self.volumes[comes]
        if parent is None:
            self._put_on_top(vertex)
            self._put_on_top(goes)
            near = sorted({self.top[link] for node in self.leaves[vertex] for link in self.graph[node]})
            return [vertex, stays, goes, comes, *near]
        tree.children[parent] = [vertex, goes]
        return [vertex, parent, stays, goes, comes]

    def _put_on_top(self, vertex: int) -> None:
        for node in self.leaves[vertex]:
            self.top[node] = vertex
