"""The partial matches of a pattern that are nearest to completion, and how many there are by step of its plan.

No engine is named: a partial match is edges by name and id, bound vertices, what it awaits, and until when.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CountedStep:
    """What a step of a plan stores.

    Attributes:
        name: of the step, as EXPLAIN shows it.
        edges: names of the query edges that its partial matches bind; empty if it stores something else.
        alive: how many are stored. One of which an edge was deleted counts until it leaves the window.
    """

    name: str
    edges: tuple[str, ...]
    alive: int


@dataclass(frozen=True, slots=True)
class BoundEdge:
    """A data edge of a partial match: its id and its time in ticks."""

    id: str
    ts: int


@dataclass(frozen=True, slots=True)
class PartialMatch:
    """A part of a match whose edges are all in the window.

    Attributes:
        edges: data edges by query edge, in the order of the text.
        vertices: data vertices by query vertex, likewise.
        awaited: query edges that it lacks, likewise.
        until: first tick at which its oldest edge is not in the window; None if the window counts edges.
    """

    edges: dict[str, BoundEdge]
    vertices: dict[str, str]
    awaited: tuple[str, ...]
    until: int | None = None

    def has_vertex(self, vertex: str) -> bool:
        """Return whether a data vertex is bound."""
        return vertex in self.vertices.values()


@dataclass(frozen=True, slots=True)
class PartialMatches:
    """The partial matches of a pattern at one time of its stream.

    Attributes:
        time: of the stream, in ticks; None before the first record.
        stored: whether the engine stores partial matches; if not, steps are the sizes of what it holds instead.
        truncated: whether there may be nearer ones, because a bound ended the look at them.
        steps: steps of the plan that store something.
        nearest: those with most edges first, then those whose oldest edge is newest.
    """

    time: int | None
    stored: bool
    truncated: bool
    steps: tuple[CountedStep, ...] = ()
    nearest: tuple[PartialMatch, ...] = field(default=())
