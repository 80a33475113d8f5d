"""The layout of a match: its named parts, whether each has one id or several, and the returned fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.graph_query import Output


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
    """

    edges: Mapping[str, bool] = field(default_factory=dict)
    vertices: Mapping[str, bool] = field(default_factory=dict)
    events: Mapping[str, bool] = field(default_factory=dict)
    changes: bool = False
    counts: bool = False
    outputs: tuple[Output, ...] = ()
    fields: tuple[str, ...] = ()
