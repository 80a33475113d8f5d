"""Estimate the cost of the engines of dual simulation, in terms that all of them share.

All engines take an edge that can be a query edge, and verify those that they cannot exclude. `ddst-baseline` verifies each,
over the whole window. `ddst-signature` verifies an edge whose ends have as many edges as the query asks for there, whatever
their kinds. It does so where the window has enough of each kind. `ddst-coloring` pays a little more for each edge, and verifies
one whose ends have enough of each kind, where its component has all kinds. A verification of these two looks at a few times as
many pairs as the query has with itself. That of the baseline begins with all in the window.

Numbers of edges at a vertex are taken for Poisson's, around the mean that the cost model estimates for edges that meet there.
Kinds are taken for independent. Weights are what `graphtide bench simulation` prints as fitted. Cost: O(n^2) for n query edges.
"""

from __future__ import annotations

from itertools import accumulate
from math import exp, prod
from typing import TYPE_CHECKING

from graphtide_query.estimates.cost import Cost, Part, format_number, of_edges
from graphtide_query.estimates.cost_model import members

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from graphtide_core.pattern import QueryEdge

    from graphtide_query.estimates.cost_model import CostModel

LOOK = 7.7
"""Nanoseconds for a step of a verification."""
STEPS = 8.0
"""Steps of a verification for each pair of a query edge and an edge that could match it."""
VICINITY = 4.0
"""How many times the pairs of the query with itself a verification from an edge begins with."""


def cost_of(model: CostModel, taking: float, share: float, begun: float) -> Cost:
    """Return the cost of an engine.

    Args:
        model: estimates for the pattern.
        taking: nanoseconds for an edge that can be a query edge.
        share: of the stream's edges that are verified.
        begun: pairs of a query edge and an edge that could match it, with which a verification begins.
    """
    relevant = sum(model.kinds())
    parts = (
        Part(relevant * taking, f"{of_edges(relevant)} that can be query edges"),
        Part(share * begun * STEPS * LOOK, f"the check of {of_edges(share)}, from {format_number(begun)} pairs each"),
    )
    return Cost(parts, estimate_stored(model))


def estimate_stored(model: CostModel) -> float:
    """Return how many edges of the window can be query edges."""
    return sum(model.kinds()) * model.edges_in_window


def pairs(model: CostModel) -> float:
    """Estimate the pairs of a query edge and an edge of the window that could match it."""
    return sum(map(model.alive, range(len(model.pattern.edges))))


def vicinity(model: CostModel) -> float:
    """Estimate the pairs that a verification from an edge begins with: an edge could match all query edges of its kind."""
    of = [_kind(model, edge) for edge in model.pattern.edges]
    return min(pairs(model), VICINITY * sum(of.count(kind) for kind in of))


def estimate_verified(model: CostModel, *, by_kind: bool) -> float:
    """Estimate the share of the stream's edges that are verified: by kinds under coloring, by degrees under signatures."""
    everywhere = range(len(model.pattern.edges))
    last: dict[Hashable, float] = {}
    for edge in everywhere:
        if model.after(edge):
            continue
        ends = _whole_ends(model, edge, by_kind=by_kind)
        beyond = _component(model, edge) if by_kind else _whole(model)
        kind = _kind(model, model.pattern.edges[edge])
        # An edge that could match several query edges is verified if it is excluded for none of them.
        last[kind] = max(last.get(kind, 0.0), model.share(model.pattern.edges[edge]) * ends * beyond)
    return sum(last.values())


def _whole_ends(model: CostModel, edge: int, *, by_kind: bool) -> float:
    """Estimate how likely both ends of an edge have the edges that the query asks for there."""
    return prod(
        _at_least_here(wanted, met)
        for vertex in (model.pattern.edges[edge].source, model.pattern.edges[edge].target)
        for wanted, met in _estimate_asked(model, edge, vertex, by_kind=by_kind)
    )


def _estimate_asked(model: CostModel, edge: int, vertex: str, *, by_kind: bool) -> Iterable[tuple[int, float]]:
    """Yield how many edges the query asks for at an end of an edge besides it, and how many of them there are on average."""
    groups: dict[Hashable, list[int]] = {}
    for place, other in enumerate(model.pattern.edges):
        for side, end in enumerate((other.source, other.target)):
            if end == vertex:
                groups.setdefault((side, _kind(model, other) if by_kind else None), []).append(place)
    for group in groups.values():
        others = [place for place in group if place != edge]
        met = {_kind(model, model.pattern.edges[place]): model.alive(place) * model.meeting(edge, place) for place in others}
        if others:
            yield len(others), sum(met.values())


def _component(model: CostModel, edge: int) -> float:
    """Estimate how likely what is connected with an edge has all query edges that do not touch it."""
    reached = {edge, *members(model.near((edge,)))}
    found = 1.0
    while len(reached) < len(model.pattern.edges):
        further = members(model.near(reached))
        if not further:
            break
        for place in further:
            found *= max(
                _at_least_here(1, model.alive(place) * model.meeting(near, place))
                for near in reached
                if model.ends((near,)) & model.ends((place,))
            )
        reached.update(further)
    return found


def _whole(model: CostModel) -> float:
    """Estimate how likely the window has as many edges of each kind as a vertex of the query, or a chain of its order."""
    wanted: dict[Hashable, int] = {}
    alive: dict[Hashable, float] = {}
    for place, edge in enumerate(model.pattern.edges):
        kind = _kind(model, edge)
        for leaves in (True, False):
            end = edge.source if leaves else edge.target
            beside = [
                each
                for each in model.pattern.edges
                if (each.source if leaves else each.target) == end and _kind(model, each) == kind
            ]
            wanted[kind] = max(wanted.get(kind, 0), len(beside))
        alive[kind] = model.alive(place)
    return prod(_at_least(wanted[kind], alive[kind]) for kind in wanted)


def _kind(model: CostModel, edge: QueryEdge) -> Hashable:
    ends = (model.pattern.vertex(edge.source), model.pattern.vertex(edge.target))
    return (edge.label, *((end.label, end.key) for end in ends))


def _at_least(count: int, mean: float) -> float:
    """Return how likely a Poisson number of that mean is at least `count`."""
    if mean > _MANY:
        return 1.0
    terms = accumulate(range(1, count), lambda term, number: term * mean / number, initial=exp(-mean))
    return max(0.0, 1.0 - sum(terms))


def _at_least_here(count: int, mean: float) -> float:
    """Return how likely a vertex has at least `count` edges that lie there `mean` times on average.

    Edges come in bursts, and vertices differ: the number is taken as geometric, whose tail is heavier than Poisson's.
    """
    return (mean / (1.0 + mean)) ** count


_MANY = 500.0
"""A mean far beyond the edges that a query may have."""
