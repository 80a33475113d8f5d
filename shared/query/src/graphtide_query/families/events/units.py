"""Units of event patterns: those that share sub-patterns are matched together, if that is estimated cheaper than each alone.

A unit has its own plan, so adding or removing a pattern changes only its unit, and units can run on several hosts.
Patterns share a unit if some vertex of the plan of all is contained in the matches of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from graphtide_core.plans import Candidate, Grouping
from graphtide_core.plans.events import AggregationPlan
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.families.events.budget import AggregationBudget
from graphtide_query.families.events.builders import aggregate
from graphtide_query.families.events.costs import RARE, SAVING, cost, sizes
from graphtide_query.families.events.cuts import cut_what_does_not_pay
from graphtide_query.families.events.pruning import renumber
from graphtide_query.families.planner_options import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.events import Branch, Vertex

    from graphtide_query.estimates.cost import Cost
    from graphtide_query.families.events.costs import Size

BEST: Final = "casem+dce"
"""The builder of what `AUTO` weighs against patterns alone."""


@dataclass(frozen=True, slots=True)
class PatternUnit:
    """Patterns that are matched together.

    Attributes:
        patterns: their places among all that were planned, ascending; the plan's are in their order.
        plan: how they are matched.
        cost: what that is estimated to cost.
        alone: nanoseconds for an event of the stream if each pattern were matched alone.
    """

    patterns: tuple[int, ...]
    plan: AggregationPlan
    cost: Cost
    alone: float


def units(
    patterns: Sequence[EventPattern],
    builder: str = AUTO,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot = StatisticsSnapshot(),  # noqa: B008 - frozen, so one instance serves all
    budget: AggregationBudget = AggregationBudget(),  # noqa: B008 - frozen as well
    seed: int = 0,
) -> tuple[PatternUnit, ...]:
    """Plan the event patterns of one stream; units are in the order of their first patterns.

    Args:
        patterns: of one stream.
        builder: one of `BUILDERS`, whose sharing is taken as it is. Or `AUTO`: of the best one's the sharing that pays, where
            that is cheaper than the patterns of a unit alone.
        unit: of the stream's time.
        statistics: of the stream.
        budget: what building may spend.
        seed: of the walk of `rw`.

    Raises:
        InvalidPatternError: a pattern has too many branches.
        LookupError: there is no such builder.
        ValueError: the patterns are of several streams.
    """
    name = BEST if builder == AUTO else builder
    plan = aggregate(patterns, name, unit=unit, statistics=statistics, budget=budget, seed=seed)
    alive = sizes(plan, patterns, unit, statistics)
    if builder == AUTO:
        plan, (alive, _) = cut_what_does_not_pay(plan, (alive, tuple(each.thinned(RARE) for each in alive)))
    apart = replace(plan, vertices=tuple(replace(vertex, parents=()) for vertex in plan.vertices), builder="none")
    found: list[PatternUnit] = []
    for members in _sharing(plan, range(len(patterns))):
        together = _unit(plan, alive, members)
        if builder != AUTO or len(members) == 1:
            found.append(together)
            continue
        alone = [_unit(apart, alive, same) for same in _sharing(apart, members)]
        nanoseconds = sum(each.cost.nanoseconds for each in alone)
        found += [replace(together, alone=nanoseconds)] if together.cost.nanoseconds < (1 - SAVING) * nanoseconds else alone
    return tuple(sorted(found, key=lambda each: each.patterns))


def join_units(found: Sequence[PatternUnit]) -> AggregationPlan:
    """Return one plan of all patterns of units, in the order of their places: their vertices side by side.

    One detection then takes each event once, whichever units ask for it. Complexity: O(vertices, patterns).
    """
    vertices: list[Vertex] = []
    branches: dict[int, tuple[Branch, ...]] = {}
    for own in found:
        first = len(vertices)
        for vertex in own.plan.vertices:
            parents = tuple(replace(parent, vertex=first + parent.vertex) for parent in vertex.parents)
            vertices.append(replace(vertex, parents=parents))
        for pattern, ways in zip(own.patterns, own.plan.branches, strict=True):
            branches[pattern] = tuple(replace(branch, vertex=first + branch.vertex) for branch in ways)
    builders = {own.plan.builder for own in found}
    in_order = tuple(branches[pattern] for pattern in sorted(branches))
    return AggregationPlan(tuple(vertices), in_order, builders.pop() if len(builders) == 1 else BEST)


def estimate_sharing(found: Sequence[PatternUnit]) -> tuple[Candidate, ...]:
    """Return what the units are estimated to cost, and the patterns alone, the cheaper first; nothing of one pattern."""
    if sum(len(each.patterns) for each in found) < 2:
        return ()
    shared = Candidate(
        Grouping(AUTO),
        sum(each.cost.nanoseconds for each in found),
        sum(each.cost.partial_matches for each in found),
        f"{sum(len(each.patterns) for each in found if len(each.patterns) > 1):,} patterns share sub-patterns",
    )
    alone = Candidate(Grouping("none"), sum(each.alone for each in found), 0.0, "nothing is stored")
    return tuple(sorted((shared, alone), key=lambda each: each.nanoseconds))


def _unit(plan: AggregationPlan, alive: Sequence[Size], members: Sequence[int]) -> PatternUnit:
    """Return the unit of some patterns of a plan, with the vertices that they need."""
    own = replace(plan, branches=tuple(plan.branches[member] for member in members))
    needed: set[int] = set()
    waiting = [branch.vertex for branches in own.branches for branch in branches]
    while waiting:
        vertex = waiting.pop()
        if vertex not in needed:
            needed.add(vertex)
            waiting += [parent.vertex for parent in plan.vertices[vertex].parents]
    kept = sorted(needed)
    parents = {vertex: plan.vertices[vertex].parents for vertex in kept}
    cut = renumber(own, {vertex: place for place, vertex in enumerate(kept)}, parents)
    estimated = cost(cut, [alive[vertex] for vertex in kept])
    return PatternUnit(tuple(members), cut, estimated, estimated.nanoseconds)


def _sharing(plan: AggregationPlan, patterns: Iterable[int]) -> Iterator[list[int]]:
    """Yield those of some patterns that share vertices with each other, directly or through others, ascending.

    Complexity: O(vertices and parents that they need).
    """
    groups: dict[int, int] = {}
    seen: set[int] = set()

    def group(vertex: int) -> int:
        while groups.setdefault(vertex, vertex) != vertex:
            groups[vertex] = vertex = groups[groups[vertex]]
        return vertex

    firsts: list[tuple[int, int]] = []
    for pattern in patterns:
        first = plan.branches[pattern][0].vertex
        firsts.append((pattern, first))
        waiting = [(branch.vertex, first) for branch in plan.branches[pattern]]
        while waiting:
            vertex, other = waiting.pop()
            if vertex not in seen:
                seen.add(vertex)
                waiting += [(parent.vertex, vertex) for parent in plan.vertices[vertex].parents]
            groups[group(vertex)] = group(other)
    found: dict[int, list[int]] = {}
    for pattern, first in firsts:
        found.setdefault(group(first), []).append(pattern)
    yield from found.values()
