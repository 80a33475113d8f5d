"""Assemble the plan of shared sub-patterns: vertices after their parents, equal ones merged, unshared ones left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.plans.events import AggregationPlan, Branch, NameOfType, Parent, Vertex

from graphtide_query.families.events.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_query.families.events.branches import BranchForm
    from graphtide_query.families.events.forms import Forms, Key
    from graphtide_query.families.events.rates import Rates
    from graphtide_query.families.events.sharing import Link, Sharing


class Leaf(NamedTuple):
    """A branch of a pattern: the keys of its slots, and the sub-pattern of its form."""

    branch: BranchForm
    keys: tuple[Key, ...]
    vertex: int


def assemble(forms: Forms, sharing: Sharing, patterns: Sequence[Sequence[Leaf]], rates: Rates, builder: str) -> AggregationPlan:
    """Return the plan of what is shared, for the branches of each pattern.

    Of the parents that a sub-pattern has, those with the most slots are taken first, and others where they fill other slots.

    Complexity: O(vertices * (slots + pairs of the order + size of the predicates)).
    """
    one_of: dict[tuple[object, ...], int] = {}
    same = [one_of.setdefault(form.identity(), vertex) for vertex, form in enumerate(sharing.forms)]
    links: dict[int, list[Link]] = {}
    for vertex, own in enumerate(sharing.parents):
        links.setdefault(same[vertex], []).extend(link for link in own if same[link.parent] != same[vertex])
    written = {same[leaf.vertex]: (leaf.branch.sub_pattern, leaf.keys) for leaves in reversed(patterns) for leaf in leaves}
    vertices: list[Vertex] = []
    places: dict[int, tuple[int, tuple[Key, ...]]] = {}
    for vertex in _after_parents(same, links):
        form = sharing.forms[vertex]
        sub_pattern, keys = written.get(vertex) or forms.sub_pattern(form)
        parents = _apart(sharing, links[vertex], [places[same[link.parent]] for link in links[vertex]], keys)
        places[vertex] = len(vertices), keys
        vertices.append(Vertex(sub_pattern, parents, rates.instances(forms, form)))
    branches = tuple(
        tuple(branch_at(*places[same[leaf.vertex]], leaf.branch, leaf.keys) for leaf in leaves) for leaves in patterns
    )
    return prune(AggregationPlan(tuple(vertices), branches, builder))


def _after_parents(same: Sequence[int], links: Mapping[int, Sequence[Link]]) -> Iterator[int]:
    """Yield one vertex for each group of equal ones, each after its parents."""
    seen: set[int] = set()
    for last in links:
        waiting = [last]
        while waiting:
            missing = [same[link.parent] for link in links[waiting[-1]] if same[link.parent] not in seen]
            if missing:
                waiting += missing
                continue
            vertex = waiting.pop()
            if vertex not in seen:
                seen.add(vertex)
                yield vertex


def _apart(
    sharing: Sharing, links: Sequence[Link], places: Sequence[tuple[int, tuple[Key, ...]]], keys: tuple[Key, ...]
) -> tuple[Parent, ...]:
    """Return the parents of a vertex: the largest, and those that fill other slots than the larger ones."""
    slots = {key: slot for slot, key in enumerate(keys)}
    filled = 0
    parents: dict[int, Parent] = {}
    ranked = sorted(range(len(links)), key=lambda each: (-sharing.forms[links[each].parent].size, places[each][0]))
    for each in ranked:
        link, (vertex, of_parent) = links[each], places[each]
        own = sharing.filled(link)
        if not own & filled and vertex not in parents:
            filled |= own
            parents[vertex] = Parent(vertex, tuple(slots[link.keys.get(key, key)] for key in of_parent))
    return tuple(parents.values())


def branch_at(vertex: int, of_vertex: tuple[Key, ...], branch: BranchForm, keys: tuple[Key, ...]) -> Branch:
    """Return a branch by the slots of its vertex, whose keys are the same in another order if another pattern wrote it."""
    slots = {key: slot for slot, key in enumerate(of_vertex)}
    places = [slots[key] for key in keys]
    names = sorted(zip(places, branch.events, strict=True))
    by_type = tuple(NameOfType(places[each.slot], each.type, each.name) for each in branch.by_type)
    return Branch(vertex, tuple(name for _, name in names), by_type)
