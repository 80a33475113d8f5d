"""Order the vertices of plans, and remove those that are not shared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.plans.events import Parent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.plans.events import AggregationPlan, VertexIndex


def prune(plan: AggregationPlan) -> AggregationPlan:
    """Return the plan without vertices that match no pattern and have fewer than two children.

    The parents of one that goes become parents of its only child. Complexity: O(vertices * slots).
    """
    parents = [list(vertex.parents) for vertex in plan.vertices]
    children: list[set[VertexIndex]] = [set() for _ in plan.vertices]
    for child, own in enumerate(parents):
        for parent in own:
            children[parent.vertex].add(child)
    reported = {branch.vertex for branches in plan.branches for branch in branches}
    stays = [True] * len(plan.vertices)
    for vertex in reversed(range(len(plan.vertices))):
        if vertex in reported or len(children[vertex]) > 1:
            continue
        stays[vertex] = False
        for parent in parents[vertex]:
            children[parent.vertex].discard(vertex)
        for child in children[vertex]:
            filled = next(parent.slots for parent in parents[child] if parent.vertex == vertex)
            through = [Parent(each.vertex, tuple(filled[slot] for slot in each.slots)) for each in parents[vertex]]
            parents[child] = [each for each in parents[child] if each.vertex != vertex] + through
            for each in through:
                children[each.vertex].add(child)
    places = {vertex: place for place, vertex in enumerate(vertex for vertex, kept in enumerate(stays) if kept)}
    return renumber(plan, places, dict(enumerate(parents)))


def in_order(plan: AggregationPlan) -> AggregationPlan:
    """Return the plan with each vertex after its parents, and otherwise in the same order. Complexity: O(vertices)."""
    places: dict[VertexIndex, VertexIndex] = {}
    for last in range(len(plan.vertices)):
        waiting = [last]
        while waiting:
            missing = [parent.vertex for parent in plan.vertices[waiting[-1]].parents if parent.vertex not in places]
            if missing:
                waiting += missing
            else:
                places.setdefault(waiting.pop(), len(places))
    return renumber(plan, places, {number: vertex.parents for number, vertex in enumerate(plan.vertices)})


def renumber(
    plan: AggregationPlan, places: Mapping[VertexIndex, VertexIndex], parents: Mapping[VertexIndex, Sequence[Parent]]
) -> AggregationPlan:
    """Return the plan with those of its vertices that have places, in these, and with these parents.

    Args:
        plan: the plan; branches and parents have places.
        places: new places of vertices, from 0 on.
        parents: of the vertices that have places.

    Complexity: O(vertices + slots of parents).
    """
    vertices = tuple(
        replace(plan.vertices[vertex], parents=tuple(Parent(places[each.vertex], each.slots) for each in parents[vertex]))
        for vertex in sorted(places, key=places.__getitem__)
    )
    branches = tuple(tuple(replace(branch, vertex=places[branch.vertex]) for branch in branches) for branches in plan.branches)
    return replace(plan, vertices=vertices, branches=branches)
