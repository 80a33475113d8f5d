"""Differential compensation: find what members of different clusters share beside the marks of their clusters.

The differential part of a vertex is what its parents do not fill. Clusters are looked at in pairs, those with the most edges
between them first. Of each pair the children with edges between them are examined. A common sub-pattern of their differential
parts becomes a parent of both. So a vertex may have several parents, which have no slot in common.

Which clusters make a pair: an edge of the graph joins two nodes. The paths to these from where they part in the tree are gone
down side by side; where one has ended, its node stays. Edges are left out on whose ways nothing has a differential part. So
each edge counts for as many pairs as the longer path has steps.

Reference: paper 002, section 5.1 (Algorithm 2). It leaves open which levels are paired: the published code pairs equal depths.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from graphtide_query.families.events.common import FEWEST_SLOTS, restrict
from graphtide_query.families.events.sharing import Link
from graphtide_query.families.events.worthwhile import shared_subpatterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_query.families.events.budget import Examinations
    from graphtide_query.families.events.correlation import Graph
    from graphtide_query.families.events.forms import Form, Forms
    from graphtide_query.families.events.rates import Rates
    from graphtide_query.families.events.sharing import Sharing

_Pair = tuple[int, int]


def compensate(
    forms: Forms, sharing: Sharing, parents: Sequence[int | None], graph: Graph, rates: Rates, *, work: Examinations
) -> None:
    """Add to what is shared within the clusters of a tree what is shared across them.

    Args:
        forms: of all patterns.
        sharing: that of the tree, vertex by vertex; it grows.
        parents: of the tree's vertices, None for children of the root.
        graph: the correlation graph of its nodes.
        rates: of event types.
        work: what may be spent.

    Complexity: O(edges * depth) examinations.
    """
    residuals = [sharing.residual(vertex) for vertex in range(len(sharing.forms))]
    has_rest = [_may_share(forms, residual, residual) for residual in residuals]
    ways = [_way_down(node, parents) for node in range(len(graph))]
    # Children of the root are examined only where they are nodes: a pair of them has been, for the tree.
    is_open = [any(has_rest[vertex] for vertex in way[1:] or way) for way in ways]
    edges = Counter(
        step
        for node, links in enumerate(graph)
        if is_open[node]
        for other in links
        if node < other and is_open[other]
        for step in pairwise(_side_by_side(ways[node], ways[other]))
    )
    similarities: Counter[_Pair] = Counter()
    for (clusters, _), count in edges.items():
        similarities[clusters] += count
    compensation = _Compensation(forms, rates, sharing, residuals)
    ranked = sorted((-similarities[clusters], clusters, -count, pair) for (clusters, pair), count in edges.items())
    for _, _, _, pair in ranked:
        if _may_share(forms, *(residuals[each] for each in pair)):
            if not work.one_more():
                return
            compensation.examine(pair)


def _side_by_side(one_way: list[int], other_way: list[int]) -> Iterator[_Pair]:
    """Yield the vertices on the ways down to two nodes, from where these part."""
    parted = next(step for step, (one, other) in enumerate(zip(one_way, other_way, strict=False)) if one != other)
    longest = max(len(one_way), len(other_way))
    for step in range(parted, longest):
        yield one_way[min(step, len(one_way) - 1)], other_way[min(step, len(other_way) - 1)]
    if longest == parted + 1:
        # Two children of the root or of one cluster: they are a pair of clusters of one member each.
        yield one_way[-1], other_way[-1]


def _way_down(node: int, parents: Sequence[int | None]) -> list[int]:
    way = [node]
    while (parent := parents[way[-1]]) is not None:
        way.append(parent)
    return way[::-1]


def _may_share(forms: Forms, one: int, other: int) -> bool:
    both = one & other & ~forms.private
    return both.bit_count() >= FEWEST_SLOTS or bool((one | other) & forms.loose)


class _Compensation:
    """The sharing so far, and the open keys of each sub-pattern."""

    def __init__(self, forms: Forms, rates: Rates, sharing: Sharing, residuals: list[int]) -> None:
        self.forms, self.rates, self.sharing, self.residuals = forms, rates, sharing, residuals
        self.known = {form.identity(): vertex for vertex, form in enumerate(sharing.forms)}
        self.parts: dict[int, Form] = {}

    def examine(self, pair: _Pair) -> None:
        """Give two sub-patterns a parent, if their differential parts have something in common."""
        found = shared_subpatterns(self.forms, self.rates, [self._part(each) for each in pair])
        if found is None:
            return
        form, keys = found
        parent = self.known.get(form.identity())
        if parent is None:
            parent = self.known[form.identity()] = self.sharing.add(form)
            self.residuals.append(form.slots)
        for vertex, own in zip(pair, keys, strict=True):
            if vertex != parent:
                link = Link(parent, own)
                self.sharing.parents[vertex].append(link)
                self.residuals[vertex] &= ~self.sharing.filled(link)
                del self.parts[vertex]

    def _part(self, vertex: int) -> Form:
        """Return the differential part of a sub-pattern."""
        part = self.parts.get(vertex)
        if part is None:
            part = self.parts[vertex] = restrict(self.forms, self.sharing.forms[vertex], self.residuals[vertex])
        return part
