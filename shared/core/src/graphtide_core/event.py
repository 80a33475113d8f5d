"""A record of a stream of events."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.edge import Edge, Value
    from graphtide_core.ids import EdgeId
    from graphtide_core.time import EventTime

_NO_ATTRIBUTES: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at one instant: a type, and what is known of it.

    A deletion carries the id of the event it retracts; its other fields but `ts` mean nothing. `made` is as of an `Edge`.
    """

    id: EdgeId
    ts: EventTime
    type: str
    attributes: Mapping[str, Value] = field(default_factory=lambda: _NO_ATTRIBUTES)
    operation: Operation = Operation.INSERT
    made: bool = False

    @classmethod
    def of_edge(cls, edge: Edge) -> Event:
        """Return the event that an edge is: its label is the type, its ends and labels are attributes."""
        labels = {"label": edge.label, "src_label": edge.source_label, "dst_label": edge.target_label}
        stated: dict[str, Value] = {**edge.attributes, "src": edge.source, "dst": edge.target, **labels}
        return cls(edge.id, edge.ts, edge.label, stated, edge.operation, edge.made)

    def shares_id(self, other: Event) -> bool:
        """Return whether both were given the same id."""
        return not self.made and not other.made and self.id == other.id
