"""The layout of a match: its named parts, whether each has one id or several, and the returned fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.graph_query import Output
    from graphtide_core.pattern import QueryEdge, QueryVertex


@dataclass(frozen=True, slots=True)
class PatternGraph:
    """The graph of a pattern of edges, to draw it.

    Attributes:
        vertices: in their order.
        edges: in their order.
        order: the fewest pairs of edges that state the timing order; the first of a pair comes before the second.
    """

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    order: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a match.

    Attributes:
        edges: names of edges in their order; whether each has lists.
        vertices: the same of vertices.
        events: the same of events.
        changes: whether components are reported with their changes.
        counts: whether it has the number of matches that an event completes.
        outputs: heads whose results are reported, with their columns; empty for other families.
        fields: names of the returned fields.
        graph: of a pattern of edges; None for other families.
    """

    edges: Mapping[str, bool] = field(default_factory=dict)
    vertices: Mapping[str, bool] = field(default_factory=dict)
    events: Mapping[str, bool] = field(default_factory=dict)
    changes: bool = False
    counts: bool = False
    outputs: tuple[Output, ...] = ()
    fields: tuple[str, ...] = ()
    graph: PatternGraph | None = None
