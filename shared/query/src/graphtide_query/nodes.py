"""Show the steps of a plan for EXPLAIN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.pattern import QueryEdge, SubgraphPattern


@dataclass(frozen=True, slots=True)
class Actual:
    """The counts of one item in a run: the peak of partial matches, all that were created, and those alive while it runs."""

    peak: int
    created: int
    alive: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a plan.

    Attributes:
        name: name of the item (`L1.2`, `L0.2`; `P1`, `J2`), or of the step of a search.
        does: what it stores or looks up, in the pattern's names.
        inputs: names of the nodes it reads.
        estimate: partial matches alive (timing, sj-tree), bindings open (search).
        actual: what a run saw.
    """

    name: str
    does: str
    inputs: tuple[str, ...] = ()
    estimate: float | None = None
    actual: Actual | None = None


def draw(pattern: SubgraphPattern, edge: QueryEdge) -> str:
    """Return a query edge as the language writes it."""

    def vertex(name: str) -> str:
        label = pattern.vertex(name).label
        return f"({name}:{label})" if label is not None else f"({name})"

    label = f":{edge.label}" if edge.label is not None else ""
    return f"{vertex(edge.source)}-[{edge.name}{label}]->{vertex(edge.target)}"
