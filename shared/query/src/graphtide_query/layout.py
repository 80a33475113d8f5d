"""What a match of a pattern has: its named parts, whether each holds one id or several, and what is returned."""

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
        changes: whether components are reported, and what became of them.
        counts: whether it says how many matches an event completes.
        outputs: heads whose results are reported, with their columns; none where matches are no results.
        fields: names of what is returned.
    """

    edges: Mapping[str, bool] = field(default_factory=dict)
    vertices: Mapping[str, bool] = field(default_factory=dict)
    events: Mapping[str, bool] = field(default_factory=dict)
    changes: bool = False
    counts: bool = False
    outputs: tuple[Output, ...] = ()
    fields: tuple[str, ...] = ()
