"""Differential compensation examination: what the members of different clusters share beside the marks of their clusters.

The differential part of a vertex is what its parents do not fill. Clusters are looked at in pairs, those with the most edges
between them first; of each pair the children with edges between them are examined, and a common sub-pattern of their
differential parts becomes a parent of both. So a vertex may have several parents, which have no slot in common.

Which clusters make a pair: an edge of the graph joins two nodes, and the paths to these from where they part in the tree are
gone down side by side; where one has ended, its node stays. So each edge counts for as many pairs as the longer path has steps.

Reference: paper 002, section 5.1 (Algorithm 2). It leaves open which levels are paired: the published code pairs equal depths.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from graphtide_query.families.events.common import FEWEST_SLOTS, common, restricted
from graphtide_query.families.events.sharing import Link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_query.families.events.budget import Examinations
    from graphtide_query.families.events.correlation import Graph
    from graphtide_query.families.events.forms import Forms
    from graphtide_query.families.events.sharing import Sharing

_Pair = tuple[int, int]


def compensate(forms: Forms, sharing: Sharing, parents: Sequence[int | None], graph: Graph, work: Examinations) -> None:
    """Add to what is shared within the clusters of a tree what is shared across them.

    Args:
        forms: of all patterns.
        sharing: that of the tree, vertex by vertex; it grows.
        parents: of the tree's vertices, None for children of the root.
        graph: the correlation graph of its nodes.
        work: what may be spent.

    Complexity: O(edges * depth) examinations.
    """
    between: dict[_Pair, Counter[_Pair]] = {}
    for node, links in enumerate(graph):
        for other in links:
            if node < other:
                for clusters, children in pairwise(_side_by_side(node, other, parents)):
                    between.setdefault(clusters, Counter())[children] += 1
    known = {form.identity(): vertex for vertex, form in enumerate(sharing.forms)}
    residuals = [sharing.residual(vertex) for vertex in range(len(sharing.forms))]
    for _, pairs in sorted(between.items(), key=lambda each: (-each[1].total(), each[0])):
        for one, other in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
            if _may_share(forms, residuals[one], residuals[other]):
                if not work.one_more():
                    return
                _examine(forms, sharing, (one, other), residuals, known)


def _side_by_side(node: int, other: int, parents: Sequence[int | None]) -> Iterator[_Pair]:
    """Yield the vertices on the ways down to two nodes, from where these part."""
    one_way, other_way = _way_down(node, parents), _way_down(other, parents)
    common_steps = next(step for step, (one, two) in enumerate(zip_longest(one_way, other_way)) if one != two)
    one_way, other_way = one_way[common_steps:], other_way[common_steps:]
    longest = max(len(one_way), len(other_way))
    yield from zip(_stretched(one_way, longest), _stretched(other_way, longest), strict=True)
    if longest == 1:
        # Two children of the root or of one cluster: they are a pair of clusters of one member each.
        yield node, other


def _way_down(node: int, parents: Sequence[int | None]) -> list[int]:
    way = [node]
    while (parent := parents[way[-1]]) is not None:
        way.append(parent)
    return way[::-1]


def _stretched(way: list[int], length: int) -> list[int]:
    return way + way[-1:] * (length - len(way))


def _may_share(forms: Forms, one: int, other: int) -> bool:
    both = one & other & ~forms.private
    return both.bit_count() >= FEWEST_SLOTS or bool((one | other) & forms.loose)


def _examine(forms: Forms, sharing: Sharing, pair: _Pair, residuals: list[int], known: dict[tuple[object, ...], int]) -> None:
    one, other = pair
    found = common(
        forms,
        restricted(forms, sharing.forms[one], residuals[one]),
        restricted(forms, sharing.forms[other], residuals[other]),
    )
    if found is None:
        return
    identity = found.form.identity()
    parent = known.get(identity)
    if parent is None:
        parent = known[identity] = sharing.add(found.form)
        residuals.append(found.form.slots)
    for vertex, keys in ((one, found.in_first), (other, found.in_second)):
        if vertex != parent:
            link = Link(parent, keys)
            sharing.parents[vertex].append(link)
            residuals[vertex] &= ~sharing.filled(link)
