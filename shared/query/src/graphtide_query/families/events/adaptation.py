"""Adapt plans while the stream runs: add and remove patterns, compared with the current plan.

No part of a plan is rebuilt: the sub-patterns of its vertices stay, so an engine recognises by them what it already has. Local
changes lose some sharing, and a rebuild restores it. `deserves_rebuild` advises one when the stream or the patterns have
changed since the plan was built.

Reference: paper 002, section 5.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.plans.events import Parent, Vertex
from graphtide_core.statistics import DriftPolicy, should_replan

from graphtide_query.families.events.assembly import branch_at
from graphtide_query.families.events.branches import branches
from graphtide_query.families.events.common import FEWEST_SLOTS, implies, may_share, restrict
from graphtide_query.families.events.forms import Forms
from graphtide_query.families.events.pruning import in_order, prune
from graphtide_query.families.events.rates import Rates
from graphtide_query.families.events.worthwhile import shared_subpatterns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.events import AggregationPlan, Branch, SubPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

    from graphtide_query.families.events.branches import BranchForm
    from graphtide_query.families.events.forms import Form, Key


@dataclass(frozen=True, slots=True)
class RebuildPolicy:
    """When to rebuild a plan.

    Attributes:
        drift: of the stream's statistics.
        changed: share of the patterns that were added or removed since the plan was built.
    """

    drift: DriftPolicy = field(default_factory=DriftPolicy)
    changed: float = 0.25


def deserves_rebuild(
    then: StatisticsSnapshot, now: StatisticsSnapshot, patterns: int, changes: int, policy: RebuildPolicy
) -> bool:
    """Return whether a plan of so many patterns, built with `then`, deserves a rebuild with `now` after so many changes."""
    return changes > policy.changed * patterns or should_replan(then, now, policy.drift)


def with_pattern(
    plan: AggregationPlan, pattern: EventPattern, unit: TimeUnit, statistics: StatisticsSnapshot
) -> AggregationPlan:
    """Return the plan with another pattern, added last.

    Each of its branches becomes a vertex, if it is none yet. Those vertices that each of its matches contains become its
    parents, the largest first. Of the rest, what it has most in common with the differential part of some vertex becomes a
    parent of both. That is repeated while they have two slots in common.

    Raises:
        InvalidPatternError: the pattern has too many branches.
    Complexity: O(vertices) examinations for each branch and for each sub-pattern that is found in it.
    """
    growing = _Growing(plan, unit, Rates(statistics))
    own = tuple(growing.take(branch) for branch in branches(pattern))
    grown = replace(plan, vertices=tuple(growing.vertices), branches=(*plan.branches, own))
    return in_order(grown)


def without_pattern(plan: AggregationPlan, pattern: int) -> AggregationPlan:
    """Return the plan without the pattern in this place, and without vertices that are no longer shared."""
    return prune(replace(plan, branches=plan.branches[:pattern] + plan.branches[pattern + 1 :]))


class _Found(NamedTuple):
    """The common part of a new vertex and another vertex's differential part."""

    vertex: int
    form: Form
    in_new: Mapping[Key, Key]
    in_other: Mapping[Key, Key]


class _Growing:
    """A plan that grows; its vertices may come before their parents."""

    def __init__(self, plan: AggregationPlan, unit: TimeUnit, rates: Rates) -> None:
        self.forms, self.rates = Forms(unit), rates
        self.vertices: list[Vertex] = []
        self.known: list[tuple[Form, tuple[Key, ...]]] = []
        self.one_of: dict[tuple[object, ...], int] = {}
        for vertex in plan.vertices:
            self._note(vertex, *self.forms.of(vertex.sub_pattern))

    def take(self, branch: BranchForm) -> Branch:
        """Return the branch by its vertex, which is made if there is none."""
        form, keys = self.forms.of(branch.sub_pattern)
        vertex = self.one_of.get(form.identity())
        if vertex is None:
            vertex = self._new(form, keys, branch.sub_pattern)
        return branch_at(vertex, self.known[vertex][1], branch, keys)

    def _new(self, form: Form, keys: tuple[Key, ...], sub_pattern: SubPattern) -> int:
        place = {key: slot for slot, key in enumerate(keys)}
        left = form.slots
        parents = []
        implied = [each for each, (above, _) in enumerate(self.known) if implies(self.forms, form, above)]
        for each in sorted(implied, key=lambda each: (-self.known[each][0].size, each)):
            above, its_keys = self.known[each]
            if above.size >= FEWEST_SLOTS and not above.slots & ~left:
                parents.append(Parent(each, tuple(place[key] for key in its_keys)))
                left &= ~above.slots
        while (found := self._most_in_common(restrict(self.forms, form, left))) is not None:
            above_keys, in_new = self._above(found), found.in_new
            parents.append(Parent(self.one_of[found.form.identity()], tuple(place[in_new.get(key, key)] for key in above_keys)))
            left &= ~sum(1 << in_new.get(key, key) for key in above_keys)
        return self._note(Vertex(sub_pattern, tuple(parents), self.rates.instances(self.forms, form)), form, keys)

    def _most_in_common(self, rest: Form) -> _Found | None:
        """Return the vertex whose differential part has the most in common with what is left of a new one."""
        best: _Found | None = None
        if rest.size < FEWEST_SLOTS:
            return None
        for vertex, (form, keys) in enumerate(self.known):
            if not may_share(self.forms, rest, form):
                continue
            own = sum(1 << keys[slot] for slot in self.vertices[vertex].differential)
            found = shared_subpatterns(self.forms, self.rates, [rest, restrict(self.forms, form, own)])
            if found is not None and (best is None or found[0].size > best.form.size):
                best = _Found(vertex, found[0], *found[1])
        return best

    def _above(self, found: _Found) -> tuple[Key, ...]:
        """Make what is in common a parent of the vertex it was found in; return the keys of its slots."""
        shared = found.form
        above = self.one_of.get(shared.identity())
        if above is None:
            sub_pattern, keys = self.forms.sub_pattern(shared)
            above = self._note(Vertex(sub_pattern, (), self.rates.instances(self.forms, shared)), shared, keys)
        keys = self.known[above][1]
        if above != found.vertex:
            place = {key: slot for slot, key in enumerate(self.known[found.vertex][1])}
            moved = found.in_other
            parent = Parent(above, tuple(place[moved.get(key, key)] for key in keys))
            below = self.vertices[found.vertex]
            self.vertices[found.vertex] = replace(below, parents=(*below.parents, parent))
        return keys

    def _note(self, vertex: Vertex, form: Form, keys: tuple[Key, ...]) -> int:
        self.vertices.append(vertex)
        self.known.append((form, keys))
        return self.one_of.setdefault(form.identity(), len(self.vertices) - 1)
