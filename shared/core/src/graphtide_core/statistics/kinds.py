"""Kinds of what is counted in a stream: edges by type, and the 2-edge paths that they make.

An edge has two ends: it goes out of its source and into its target. A 2-edge path is an unordered pair of ends of two distinct
edges at one vertex. So two edges that share both vertices make two paths, one at each. A self-loop, which has both ends at its
vertex, makes two paths with every other end there and none with itself.

Reference: paper 003, section 5.1: `EdgeType` is what its `Map()` gives, `paths` what its Algorithm 5 counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

Labels = tuple[str | None, str | None, str | None]
"""Labels of source, edge and target that a query edge asks for."""

AskedEnd = tuple[Labels, "Direction"]
"""What a query edge asks for, and how it lies at the vertex in question."""


@dataclass(frozen=True, slots=True)
class EdgeType:
    """Labels of an edge and its two ends, and the class that its attributes put it in (0 without classes)."""

    source_label: str | None
    label: str
    target_label: str | None
    predicate_class: int = 0

    def sort_key(self) -> tuple[str, bool, str, bool, str, int]:
        """Return what puts types in an order: labels, those not given before the empty ones, then the class."""
        source, target = self.source_label, self.target_label
        return self.label, source is not None, source or "", target is not None, target or "", self.predicate_class


class Direction(Enum):
    """How an edge lies at a vertex."""

    OUT = "out"
    IN = "in"

    # Each is one object, and planning looks up ends of edges again and again: the hash that enums have costs a call.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class EdgeEnd:
    """One end of an edge: its type, and how it lies at the vertex there."""

    kind: EdgeType
    direction: Direction


@dataclass(frozen=True, slots=True)
class PathType:
    """Two edges at one vertex, in no order: make it with `of`, which gives equal paths for swapped ends."""

    first: EdgeEnd
    second: EdgeEnd

    def __post_init__(self) -> None:
        """Refuse ends in the order that `of` does not give."""
        if _sort_key(self.first) > _sort_key(self.second):
            message = "the ends of a path type are out of order; use PathType.of"
            raise ValueError(message)

    @classmethod
    def of(cls, one: EdgeEnd, other: EdgeEnd) -> PathType:
        """Return the type of paths with these ends."""
        return cls(*sorted((one, other), key=_sort_key))


def _sort_key(end: EdgeEnd) -> tuple[tuple[str, bool, str, bool, str, int], str]:
    return end.kind.sort_key(), end.direction.value
