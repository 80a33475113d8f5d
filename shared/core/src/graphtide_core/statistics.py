"""What a planner knows of a stream: how often each edge type occurs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.pattern import QueryEdge, SubgraphPattern


@dataclass(frozen=True, slots=True)
class EdgeType:
    """Labels of an edge and its two ends."""

    source_label: str | None
    label: str
    target_label: str | None


@dataclass(frozen=True, slots=True)
class LabelFrequencies:
    """Counts of edge types over `edges` edges between `vertices` distinct vertices, `span` ticks apart from first to last."""

    counts: Mapping[EdgeType, int] = field(default_factory=dict)
    edges: int = 0
    vertices: int = 0
    span: int = 0

    def share(self, pattern: SubgraphPattern, edge: QueryEdge) -> float:
        """Return the share of edges whose labels fit the query edge (1.0 where nothing is known)."""
        if self.edges == 0:
            return 1.0
        source, target = pattern.vertex(edge.source).label, pattern.vertex(edge.target).label
        fitting = sum(
            count
            for kind, count in self.counts.items()
            if edge.label in (None, kind.label) and source in (None, kind.source_label) and target in (None, kind.target_label)
        )
        return fitting / self.edges
