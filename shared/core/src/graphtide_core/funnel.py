"""The match funnel of a run: what each step of a plan looked at and refused, and what came furthest.

For every `Step`: looked at = refused, over all reasons, + passed.
For every `Store`: created = alive + expired + deleted + given up + consumed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ids import EdgeId, VertexId
    from graphtide_core.time import EventTime


class Reason(Enum):
    """Why a candidate was refused: the first that held, in the order in which the step asks."""

    LABEL = "label"
    """The labels of the edge or of its ends are not those asked for."""

    VERTEX_ID = "vertex_id"
    """An end is not the vertex asked for."""

    ENDS = "ends"
    """The edges do not meet where they should, or an edge is a loop and should not be, or the other way round.

    Under dual simulation: an end lacks edges that the pattern asks for there.
    """

    PREDICATE = "predicate"
    """A predicate is not true."""

    ORDER = "order"
    """The timing order forbids it."""

    WINDOW = "window"
    """An edge has left the window."""

    DISTINCT = "distinct"
    """Two query vertices would be one data vertex, or two query edges one data edge.

    Under dual simulation: an end has edges for all query edges there, yet not different ones.
    """

    DELETED = "deleted"
    """An edge was deleted."""

    PARTNER = "partner"
    """A query edge beside it has no candidate."""

    INCOMPLETE = "incomplete"
    """Counts rule out that what is around it is whole."""

    UNMATCHED = "unmatched"
    """No pair of it is left in the fixpoint."""

    LIMIT = "limit"
    """A limit kept the partial match from being stored, or ended the search."""


@dataclass(frozen=True, slots=True)
class Step:
    """Counts of one step's candidates: edges, or pairs of an edge or partial match with a stored one.

    Under dual simulation: edges, components, or pairs of a query edge and a data edge.

    Attributes:
        looked_at: candidates.
        refused: those that it refused, by reason; reasons that never held are missing.
        passed: those that continued.
    """

    looked_at: int = 0
    refused: Mapping[Reason, int] = field(default_factory=dict)
    passed: int = 0


class Part(Enum):
    """The part of a node's work on a candidate, for nodes with several."""

    WHOLE = "whole"
    """The one thing it does."""

    ARRIVAL = "arrival"
    """It takes an arriving edge for a query edge."""

    LOOK_UP = "look_up"
    """It looks an earlier edge up for a query edge."""

    NEARBY = "nearby"
    """It checks an edge by its neighbourhood; further steps check what passes."""

    CONNECTED = "connected"
    """It checks an edge by everything that the edge is connected with."""

    REMAINDER = "remainder"
    """It finds what is left of a component after edges left it."""

    PAIRS = "pairs"
    """It looks at pairs of a query edge and a data edge; those that pass are left when it ends."""


@dataclass(frozen=True, slots=True)
class Store:
    """The fate of the partial matches of one node; under dual simulation, of the stored edges.

    Attributes:
        created: stored in all.
        alive: in the window at the end of the stream.
        expired: passed by the window.
        deleted: lost an edge by a deletion; they take no further part.
        given_up: given up at a limit.
        consumed: consumed by a report.
    """

    created: int
    alive: int
    expired: int
    deleted: int
    given_up: int
    consumed: int = 0


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A partial match that the window passed, with no reported match around it and no edge of it deleted.

    Attributes:
        node: name of the node that stored it, or of the step at which a search for more ended.
        edges: id and time of its edges, by their names in the pattern.
        vertices: its vertices, by their names in the pattern.
        waited_for: names of the query edges that it was to be extended by.
        expired_at: the first time at which its oldest edge is not in the window; None where later edges pushed it out.
        searched_at: when the search ended that bound it; None for engines that store partial matches. An edge that it lacked
            then may have come later.
        refused: what it was tried with in vain, by reason: edges in the window, or stored partial matches in it.
    """

    node: str
    edges: Mapping[str, tuple[EdgeId, EventTime]]
    vertices: Mapping[str, VertexId]
    waited_for: tuple[str, ...]
    expired_at: EventTime | None
    searched_at: EventTime | None
    refused: Mapping[Reason, int]


@dataclass(frozen=True, slots=True)
class Lack:
    """The requirement that an edge does not meet to match a query edge under dual simulation.

    It holds in the match graph of all edges that ever shared a window with it, and so in every window.

    Attributes:
        reason: `ENDS`: an end has no edge that matches some query edge there. `DISTINCT`: it has, yet not different ones.
            `ORDER`: what the edge is connected with has no match of a query edge, or none late enough. `WINDOW`: what it needs
            never was there all at once.
        edges: the query edges that have no match; for `DISTINCT` those that have too few.
        vertex: for `ENDS` and `DISTINCT` the query vertex and the data vertex that would have to match it.
        enters: whether the missing edges would enter that vertex; else they would leave it.
        there: ids of edges there that fit what is missing by themselves.
        after: for `ORDER` the time that a match must be later than. It is the earliest at which all before it can be had; None
            where nothing is before it.
    """

    reason: Reason
    edges: tuple[str, ...] = ()
    vertex: tuple[str, VertexId] | None = None
    enters: bool = False
    there: tuple[EdgeId, ...] = ()
    after: EventTime | None = None


class Left(Enum):
    """How an edge left."""

    EXPIRED = "expired"
    """The window passed it."""

    DELETED = "deleted"
    """It was deleted."""

    CONSUMED = "consumed"
    """A report consumed it."""

    GIVEN_UP = "given_up"
    """It was given up at a limit."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The fate of one edge under dual simulation: an edge of the question, or one that nearly matched.

    Attributes:
        id: its id.
        ts: its time.
        ends: its vertices; None if it was not held, because it fits no query edge or for a limit.
        is_asked: whether it was asked about; else it came near a match.
        refused: the query edges that it is not by itself, by name, and why; known of edges that were asked about.
        matched_at: when it was first reported in a match; None if it never was.
        component: id of the oldest edge of that match.
        lacks: what it lacks for each query edge that it fits by itself, by name; empty if it had a match.
        left: how and when it left; None if it is held, or never was.
    """

    id: EdgeId
    ts: EventTime
    ends: tuple[VertexId, VertexId] | None
    is_asked: bool
    refused: Mapping[str, Reason]
    matched_at: EventTime | None
    component: EdgeId | None
    lacks: Mapping[str, Lack]
    left: tuple[Left, EventTime] | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """The trace of one pattern.

    Attributes:
        edges: for each query edge, by name, the insertions of the stream and why they could not be it by themselves. Those that
            passed are its candidates.
        discarded: for each query edge, by name, the candidates that extended no partial match on arrival and started none.
        steps: by node, part and, unless the part is the whole, name of the query edge; steps that never looked at anything
            are missing.
        stores: by node; nodes that stored nothing are missing.
        misses: the partial matches that came furthest, the furthest first.
        answers: under dual simulation, what happened to the edges that were asked about, in stream order. After them come those
            that were nearest to a match and had none.
        unknown: ids that were asked about and no record has.
    """

    edges: Mapping[str, Step]
    discarded: Mapping[str, int]
    steps: Mapping[tuple[str, Part, str | None], Step]
    stores: Mapping[str, Store]
    misses: tuple[NearMiss, ...]
    answers: tuple[Answer, ...] = ()
    unknown: tuple[EdgeId, ...] = ()
