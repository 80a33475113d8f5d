"""Show the vertices of an aggregation plan for EXPLAIN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.nodes import Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.plans.events import Absence, AggregationPlan, Slot, SlotIndex, SubPattern, Vertex

    from graphtide_query.nodes import Actual


def nodes(plan: AggregationPlan, patterns: Sequence[str], actuals: Mapping[str, Actual]) -> tuple[Node, ...]:
    """Return the vertices of a plan as nodes `v0`, `v1` and so on.

    Args:
        plan: the plan.
        patterns: names of its patterns, in their order.
        actuals: of a run, by the names of nodes.
    """
    reports: dict[int, list[str]] = {}
    for name, branches in zip(patterns, plan.branches, strict=True):
        for branch in branches:
            reports.setdefault(branch.vertex, []).append(name)
    return tuple(
        Node(
            name=f"v{index}",
            does=_does(vertex, reports.get(index, [])),
            inputs=tuple(f"v{parent.vertex}" for parent in vertex.parents),
            estimate=vertex.instances,
            actual=actuals.get(f"v{index}"),
        )
        for index, vertex in enumerate(plan.vertices)
    )


def _does(vertex: Vertex, patterns: Sequence[str]) -> str:
    text = expression_of(vertex.sub_pattern)
    if vertex.parents and vertex.differential:
        text += f", adds {', '.join(_slot(vertex.sub_pattern.slots[slot]) for slot in vertex.differential)}"
    return f"{text} => {', '.join(dict.fromkeys(patterns))}" if patterns else text


def expression_of(sub_pattern: SubPattern) -> str:
    """Return a sub-pattern in words: `SEQ(A, B)` or `AND(A, B)` where it is one, else AND and what comes before what."""
    order = sub_pattern.order
    slots = list(map(_slot, sub_pattern.slots))
    count = len(slots)
    absent = "".join(f", NOT {_absence(each)}" for each in sub_pattern.absences)
    conditions = f" where {len(sub_pattern.predicates)}" if sub_pattern.predicates else ""
    end = f"{absent}) within {sub_pattern.within}{conditions}"
    if count > 1 and len(order) == count * (count - 1) // 2:
        earlier = [sum(second == slot for _, second in order) for slot in range(count)]
        return f"SEQ({', '.join(slots[slot] for slot in sorted(range(count), key=earlier.__getitem__))}{end}"
    before = "".join(f", {slots[first]} <= {slots[second]}" for first, second in sorted(_covers(order)))
    return f"AND({', '.join(slots)}{before}{end}"


def _covers(order: frozenset[tuple[SlotIndex, SlotIndex]]) -> Iterator[tuple[SlotIndex, SlotIndex]]:
    """Yield the pairs of an order that do not follow from others."""
    slots = {slot for pair in order for slot in pair}
    for first, second in order:
        if not any((first, slot) in order and (slot, second) in order for slot in slots):
            yield first, second


def _slot(slot: Slot) -> str:
    types = "|".join(slot.types) or "any"
    if slot.repeat is None:
        return types
    return f"{types}{{{slot.repeat.least},{'' if slot.repeat.most is None else slot.repeat.most}}}"


def _absence(absence: Absence) -> str:
    return "|".join(absence.types) or "any"
