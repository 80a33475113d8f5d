"""Build aggregation plans: from the event patterns of one stream to the graph of sub-patterns that matches them all.

All builders' plans give the same matches; they differ in what is shared. Branches that are equal are one vertex in every plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.families.events.assembly import Leaf, assemble
from graphtide_query.families.events.branches import branches
from graphtide_query.families.events.budget import AggregationBudget, Examinations
from graphtide_query.families.events.casem import PartitionTree, casem
from graphtide_query.families.events.collector import pause_collector
from graphtide_query.families.events.correlation import correlation_graph
from graphtide_query.families.events.differential import compensate
from graphtide_query.families.events.forms import Forms, bits
from graphtide_query.families.events.random_walk import random_walk
from graphtide_query.families.events.rates import Rates
from graphtide_query.families.events.sharing import Link, Sharing
from graphtide_query.families.events.spass import spass
from graphtide_query.families.events.worthwhile import shared_subpatterns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.events import AggregationPlan

    from graphtide_query.families.events.correlation import Graph
    from graphtide_query.families.events.forms import Form

ANY_TYPE: Final = ""
"""In sets of event types, for slots that take any; types of events are not empty."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The input of a builder: distinct sub-patterns, the rates of the stream and the budget.

    Attributes:
        forms: the numbers of their keys and terms.
        leaves: the sub-patterns.
        rates: of event types.
        work: what may be spent.
        seed: of what is random.
    """

    forms: Forms
    leaves: tuple[Form, ...]
    rates: Rates
    work: Examinations
    seed: int = 0

    def graph(self) -> Graph:
        """Return the correlation graph of the sub-patterns."""
        return correlation_graph([_types(self.forms, leaf) for leaf in self.leaves])


def aggregate(
    patterns: Sequence[EventPattern],
    builder: str = "casem+dce",
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot = StatisticsSnapshot(),  # noqa: B008 - frozen, so one instance serves all
    budget: AggregationBudget = AggregationBudget(),  # noqa: B008 - frozen as well
    seed: int = 0,
) -> AggregationPlan:
    """Return the plan that matches all patterns, built by the builder of that name.

    Args:
        patterns: of one stream.
        builder: one of `BUILDERS`.
        unit: of the stream's time.
        statistics: of the stream.
        budget: what building may spend; with less, less is shared.
        seed: of the walk of `rw`.

    Raises:
        InvalidPatternError: a pattern has too many branches.
        LookupError: there is no such builder.
        ValueError: the patterns are of several streams.
    """
    if len({pattern.stream for pattern in patterns}) > 1:
        message = "patterns of several streams share no plan"
        raise ValueError(message)
    if builder not in BUILDERS:
        message = f"there is no builder {builder!r}; one of {', '.join(BUILDERS)}"
        raise LookupError(message)
    with pause_collector():
        forms = Forms(unit)
        leaves, matched = _leaves(forms, patterns)
        workload = Workload(forms, leaves, Rates(statistics), Examinations(budget), seed)
        return assemble(forms, BUILDERS[builder](workload), matched, workload.rates, builder)


def _leaves(forms: Forms, patterns: Sequence[EventPattern]) -> tuple[tuple[Form, ...], list[list[Leaf]]]:
    """Return the distinct sub-patterns of all branches, and the branches of each pattern."""
    distinct: dict[tuple[object, ...], int] = {}
    leaves: list[Form] = []
    matched = []
    for pattern in patterns:
        own = []
        for branch in branches(pattern):
            form, keys = forms.of(branch.sub_pattern)
            vertex = distinct.setdefault(form.identity(), len(leaves))
            if vertex == len(leaves):
                leaves.append(form)
            own.append(Leaf(branch, keys, vertex))
        matched.append(own)
    return tuple(leaves), matched


def _none(workload: Workload) -> Sharing:
    return Sharing(list(workload.leaves))


def _spass(workload: Workload) -> Sharing:
    return spass(workload.forms, workload.leaves, workload.rates, workload.work)


def _random_walk(workload: Workload) -> Sharing:
    return random_walk(workload.forms, workload.leaves, workload.rates, workload.work, workload.seed)


def _casem_of_two_levels(workload: Workload) -> Sharing:
    return _share_clusters(workload, _tree(workload, workload.graph(), levels=2))[0]


def _casem(workload: Workload) -> Sharing:
    return _share_clusters(workload, _tree(workload, workload.graph()))[0]


def _casem_with_compensation(workload: Workload) -> Sharing:
    graph = workload.graph()
    sharing, parents = _share_clusters(workload, _tree(workload, graph))
    compensate(workload.forms, sharing, parents, graph, workload.rates, work=workload.work)
    return sharing


BUILDERS: Final[dict[str, Callable[[Workload], Sharing]]] = {
    "none": _none,
    "rw": _random_walk,
    "spass": _spass,
    "casem-2": _casem_of_two_levels,
    "casem": _casem,
    "casem+dce": _casem_with_compensation,
}
"""The builders by name; plans of later ones share more."""


def _tree(workload: Workload, graph: Graph, levels: int | None = None) -> PartitionTree:
    return casem(workload.forms, workload.leaves, graph, workload.rates, workload.work, levels=levels)


def _share_clusters(workload: Workload, tree: PartitionTree) -> tuple[Sharing, list[int | None]]:
    """Return what the clusters of a tree share, and the tree's parents by the numbers of what is shared.

    A cluster is marked by what its children's marks have in common and are worth to share. Where that has come to nothing, its
    children go to its parent.
    """
    sharing = Sharing(list(workload.leaves))
    parents: list[int | None] = [None] * len(workload.leaves)
    place = {node: node for node in range(tree.nodes)}
    gone: dict[int, list[int]] = {}
    for cluster in tree.inner():
        members = [place[each] for child in tree.children[cluster] for each in gone.get(child, [child])]
        found = shared_subpatterns(workload.forms, workload.rates, [sharing.forms[member] for member in members])
        if found is None:
            gone[cluster] = list(chain.from_iterable(gone.get(child, [child]) for child in tree.children[cluster]))
            continue
        form, keys = found
        vertex = place[cluster] = sharing.add(form)
        parents.append(None)
        for member, moved in zip(members, keys, strict=True):
            sharing.parents[member].append(Link(vertex, moved))
            parents[member] = vertex
    return sharing, parents


def _types(forms: Forms, form: Form) -> frozenset[str]:
    """Return the event types that a sub-pattern asks for."""
    return frozenset(chain.from_iterable(forms.keys[key][0].types or (ANY_TYPE,) for key in bits(form.slots)))
