"""A record of a stream of edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ids import EdgeId, VertexId
    from graphtide_core.time import EventTime

Value = bool | int | float | str | None
"""What an attribute can hold."""

_NO_ATTRIBUTES: Mapping[str, Value] = MappingProxyType({})


class Operation(Enum):
    """The effect of a record on the graph."""

    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed, labelled interaction between two vertices at one instant.

    `source_label` and `target_label` are the types of the two vertices as this edge states them; None where it is silent. A
    deletion carries the id of the edge it retracts; its other fields but `ts` mean nothing. `made` says that the source gave no
    id, and the record's ordinal stands in its place. Such an id is no other's, whatever its text, and no deletion names it.
    """

    id: EdgeId
    ts: EventTime
    source: VertexId
    target: VertexId
    label: str
    source_label: str | None = None
    target_label: str | None = None
    attributes: Mapping[str, Value] = field(default_factory=lambda: _NO_ATTRIBUTES)
    operation: Operation = Operation.INSERT
    made: bool = False

    def shares_id(self, other: Edge) -> bool:
        """Return whether both were given the same id."""
        return not self.made and not other.made and self.id == other.id
