"""The plans of subgraph isomorphism: what each of its engines gets for one pattern.

A plan names query edges by their position in the pattern, so that it means the same to every engine and to EXPLAIN.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from graphtide_core.pattern import MAX_EDGES
from graphtide_core.plans.assigned import AssignedPlan, Bounds

EdgeIndex = Annotated[int, Bounds(0, MAX_EDGES - 1)]
"""Position of a query edge in `SubgraphPattern.edges`."""


class Storage(Enum):
    """How the `timing` engine stores partial matches."""

    INDEPENDENT = "independent"
    """Every partial match is a row of its own (the paper's Timing-IND)."""

    MS_TREE = "ms-tree"
    """Match-store trees: one node a match, prefixes shared (section 4)."""

    MS_DAG = "ms-dag"
    """The trees merged by virtual nodes (section 7)."""


@dataclass(frozen=True, slots=True)
class TimingPlan(AssignedPlan):
    """A TC decomposition in join order.

    Each subquery is its timing sequence; the union of the first i subqueries is connected for every i.
    `cardinalities` estimates the partial matches alive in each item, named `L{i}.{j}` for the expansion list of
    subquery i and `L0.{i}` for the joins.
    Reference: paper 004, Definitions 9 and 10, section 3.2.
    """

    subqueries: tuple[tuple[EdgeIndex, ...], ...]
    storage: Storage = Storage.MS_DAG
    cardinalities: tuple[tuple[str, float], ...] = ()
    engines: ClassVar[tuple[str, ...]] = ("timing",)


@dataclass(frozen=True, slots=True)
class SearchPlan(AssignedPlan):
    """For every query edge the order in which a search that starts there binds the others.

    `orders[e]` starts with e; each later edge shares a vertex with an earlier one. `fan_outs[e]` estimates, step by
    step, how many bindings are open.
    """

    orders: tuple[tuple[EdgeIndex, ...], ...]
    fan_outs: tuple[tuple[float, ...], ...] = ()
    engines: ClassVar[tuple[str, ...]] = ("re-search",)


class SjTreeStrategy(Enum):
    """How the `sj-tree` engine splits a pattern, and whether it searches for the parts everywhere.

    Reference: paper 003, section 6.4.
    """

    SINGLE = "single"
    """Primitives of one edge; all their matches are stored."""

    SINGLE_LAZY = "single-lazy"
    """Primitives of one edge; beyond the first they are looked for only where what they join was found."""

    PATH = "path"
    """Primitives of two adjacent edges, as far as the pattern splits so; all their matches are stored."""

    PATH_LAZY = "path-lazy"
    """The same primitives; beyond the first they are looked for only where what they join was found."""

    @property
    def is_lazy(self) -> bool:
        """Whether Lazy Search is used."""
        return self in {SjTreeStrategy.SINGLE_LAZY, SjTreeStrategy.PATH_LAZY}

    @property
    def joins_paths(self) -> bool:
        """Whether primitives have two edges where they can."""
        return self in {SjTreeStrategy.PATH, SjTreeStrategy.PATH_LAZY}


@dataclass(frozen=True, slots=True)
class SjTreePlan(AssignedPlan):
    """A left-deep subgraph join tree.

    `leaves` are the primitives in join order, of one edge or of two that share a vertex. Each leaf shares a vertex with those
    before it. `cardinalities` estimates the partial matches alive in each node that stores them: `P{i}` is leaf i, `J{i}` the
    join of the first i leaves.
    Reference: paper 003, section 3.1 and Algorithm 4.
    """

    leaves: tuple[tuple[EdgeIndex, ...], ...]
    strategy: SjTreeStrategy = SjTreeStrategy.SINGLE_LAZY
    cardinalities: tuple[tuple[str, float], ...] = ()
    engines: ClassVar[tuple[str, ...]] = ("sj-tree",)


@dataclass(frozen=True, slots=True)
class FilteringPlan(AssignedPlan):
    """A search among candidates that the timing order filters when they arrive.

    `orders[e]` is the order in which a search that starts at e binds the others where nothing better is known at run time.
    `starts` are the edges that no other must follow: a match is found from one of them. `candidates[e]` estimates how many
    edges of the window are candidates of e, `fan_outs[e]`, step by step, how many bindings are open.
    Reference: Min et al., Time-Constrained Continuous Subgraph Matching (ICDE 2024).
    """

    orders: tuple[tuple[EdgeIndex, ...], ...]
    starts: tuple[EdgeIndex, ...]
    candidates: tuple[float, ...] = ()
    fan_outs: tuple[tuple[float, ...], ...] = ()
    engines: ClassVar[tuple[str, ...]] = ("filtering",)


IsomorphismPlan = TimingPlan | SearchPlan | SjTreePlan | FilteringPlan
