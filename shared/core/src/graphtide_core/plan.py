"""The plan IR: how one pattern is to be matched.

A plan names query edges by their position in the pattern, so that it means the same to every engine and to EXPLAIN.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

EdgeIndex = int
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
class TimingPlan:
    """A TC decomposition in join order.

    Each subquery is its timing sequence; the union of the first i subqueries is connected for every i.
    `cardinalities` estimates the partial matches alive in each item, named `L{i}.{j}` for the expansion list of
    subquery i and `L0.{i}` for the joins.
    Reference: paper 004, Definitions 9 and 10, section 3.2.
    """

    subqueries: tuple[tuple[EdgeIndex, ...], ...]
    storage: Storage = Storage.MS_DAG
    cardinalities: tuple[tuple[str, float], ...] = ()
    name: str = "timing"


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """For every query edge the order in which a search that starts there binds the others.

    `orders[e]` starts with e; each later edge shares a vertex with an earlier one. `fan_outs[e]` estimates, step by
    step, how many bindings are open.
    """

    orders: tuple[tuple[EdgeIndex, ...], ...]
    fan_outs: tuple[tuple[float, ...], ...] = ()
    name: str = "re-search"


@dataclass(frozen=True, slots=True)
class FilteringPlan:
    """A search among candidates that the timing order filters when they arrive.

    `orders[e]` is the order in which a search that starts at e binds the others where nothing better is known at run time;
    `starts` are the edges that no other must follow: a match is found from one of them. `candidates[e]` estimates how many
    edges of the window are candidates of e, `fan_outs[e]`, step by step, how many bindings are open.
    Reference: Min et al., Time-Constrained Continuous Subgraph Matching (ICDE 2024).
    """

    orders: tuple[tuple[EdgeIndex, ...], ...]
    starts: tuple[EdgeIndex, ...]
    candidates: tuple[float, ...] = ()
    fan_outs: tuple[tuple[float, ...], ...] = ()
    name: str = "filtering"


PhysicalPlan = TimingPlan | SearchPlan | FilteringPlan


@dataclass(frozen=True, slots=True)
class Plan:
    """A pattern and how it is matched."""

    pattern: SubgraphPattern
    physical: PhysicalPlan

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return self.physical.name
