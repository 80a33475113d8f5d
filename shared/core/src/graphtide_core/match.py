"""A match and its identity.

`match_id` depends on the pattern's name and version and on the participants alone. So the same match found again after a crash,
by another engine or by a backfill has the same id.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.ids import EdgeId, MatchId, PatternName, VertexId

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from graphtide_core.returns import FieldValue
    from graphtide_core.time import EventTime


_NUMBER: Final = re.compile("0|[1-9][0-9]*")
_CLAUSE_SIGN: Final = "#"


class MatchKind(Enum):
    """The kind of a match record."""

    MATCH = "match"
    """The match has just become complete."""

    EXTEND = "extend"
    """A match reported earlier has grown by this part."""

    RETRACT = "retract"
    """An edge of a match reported earlier was deleted while the whole match was in the window; or a part of one has left it."""

    TIMEOUT = "timeout"
    """A match began and did not end in time: what came of it."""


class Completeness(Enum):
    """Whether every match so far was found."""

    EXACT = "EXACT"
    SHED = "SHED"
    """A limit made the engine give up partial matches: matches may be missing."""


@dataclass(frozen=True, slots=True)
class SubgraphMatch:
    """A match of the isomorphism family.

    `detected_at` is the event time of the edge (or deletion) that caused it. `edges` and `vertices` map the pattern's names to
    data. `made` are the names of those edges whose ids were made, not given (see `Edge.made`). `fields` are what the pattern
    returns of the match, by name. Matches are equal by value, and hashable.
    """

    query: PatternName
    version: int
    kind: MatchKind
    detected_at: EventTime
    first_ts: EventTime
    last_ts: EventTime
    edges: Mapping[str, EdgeId]
    vertices: Mapping[str, VertexId]
    completeness: Completeness = Completeness.EXACT
    made: frozenset[str] = frozenset()
    fields: Mapping[str, FieldValue] = field(default_factory=dict)

    def __hash__(self) -> int:
        """Return a hash of the identity of a match; equal matches have equal ones, though mappings have none."""
        return hash((self.query, self.version, self.kind, self.detected_at, frozenset(self.edges.items())))

    @property
    def match_id(self) -> MatchId:
        """Identity of the match."""
        return match_id(self.query, self.version, self.edges.items(), self.made)

    def to_json(self) -> str:
        """Return the match record: one JSON object without line breaks."""
        record = {**_head(self), "edges": dict(self.edges), "vertices": dict(self.vertices)}
        if self.fields:
            record["fields"] = dict(self.fields)
        if self.completeness is not Completeness.EXACT:
            record["completeness"] = self.completeness.value
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ComponentMatch:
    """A match of the simulation family: a component of the match graph, or what entered or left one.

    `edges` and `vertices` map the pattern's names to the data that match them, edges in the order of the stream. If there are
    more than 10,000 pairs of a query edge and a data edge, the first are here. `counts` says how many there are in all, of each
    name; `match_id` covers all. If changes are reported, `component` is the id of the component's oldest edge now. `merged` are
    the former ids of components that are part of it now. `split_from` is the id of the one that it was part of. `fields` are
    what the pattern returns, by name.
    """

    query: PatternName
    version: int
    kind: MatchKind
    detected_at: EventTime
    first_ts: EventTime
    last_ts: EventTime
    edges: Mapping[str, tuple[EdgeId, ...]]
    vertices: Mapping[str, tuple[VertexId, ...]]
    match_id: MatchId
    completeness: Completeness = Completeness.EXACT
    counts: Mapping[str, int] | None = None
    component: EdgeId | None = None
    merged: tuple[EdgeId, ...] = ()
    split_from: EdgeId | None = None
    fields: Mapping[str, FieldValue] = field(default_factory=dict)

    def __hash__(self) -> int:
        """Return a hash of the identity of a match; equal matches have equal ones, though mappings have none."""
        return hash((self.match_id, self.kind, self.detected_at))


@dataclass(frozen=True, slots=True)
class OccurrenceMatch:
    """A match of the event-pattern family.

    `events` maps the pattern's names to the ids of events, an iteration's to those of all of its events in order. Names of
    branches that were not taken are not there. The matches that an event completes may be counted (`REPORT EXISTS`). Then
    `count` says how many they are, and `events` are those of one of them. `match_id` is that of the event which completes them.
    Of a timeout, `events` are those that came. `fields` are what the pattern returns of the match, by name.
    """

    query: PatternName
    version: int
    kind: MatchKind
    detected_at: EventTime
    first_ts: EventTime
    last_ts: EventTime
    events: Mapping[str, EdgeId | tuple[EdgeId, ...]]
    match_id: MatchId
    completeness: Completeness = Completeness.EXACT
    count: int | None = None
    fields: Mapping[str, FieldValue] = field(default_factory=dict)

    def __hash__(self) -> int:
        """Return a hash of the identity of a match; equal matches have equal ones, though mappings have none."""
        return hash((self.match_id, self.kind, self.detected_at))

    @property
    def edges(self) -> Mapping[str, EdgeId]:
        """None: its events are named by the pattern, whether they are edges or not."""
        return {}

    @property
    def vertices(self) -> Mapping[str, VertexId]:
        """None, as `edges`."""
        return {}


@dataclass(frozen=True, slots=True)
class DerivedEdge:
    """A derived step of a path: an edge that a rule derives, not one of the stream."""

    label: str
    source: VertexId
    target: VertexId


PathStep = EdgeId | DerivedEdge
"""A step of a path: the id of an edge, or a derived one."""


@dataclass(frozen=True, slots=True)
class IntervalMatch:
    """A result of a streaming graph query: an edge, or an answer of another arity, with the interval in which it is valid.

    `bindings` maps the columns of the result to vertices; those of an edge are its source and its target. `valid` is the
    interval [from, to) in which the result is valid from `detected_at` on, as far as is known. Of a retraction, it is what is
    withdrawn. If results stay once they are emitted, `to` is None. `path` are the steps of a path, if the query asks for it,
    all of them valid together until the end of the interval. `first_ts` and `last_ts` are `detected_at`. For a result that is
    valid at a requested instant, they say since when it is valid and when it was last reported. `nth` is how many records of
    the instant brought about something else before this: no two have one `match_id`, `kind`, `detected_at` and `nth`.
    """

    query: PatternName
    version: int
    kind: MatchKind
    detected_at: EventTime
    first_ts: EventTime
    last_ts: EventTime
    label: str
    bindings: Mapping[str, VertexId]
    valid: tuple[EventTime, EventTime | None]
    match_id: MatchId
    completeness: Completeness = Completeness.EXACT
    path: tuple[PathStep, ...] | None = None
    nth: int = 0

    def __hash__(self) -> int:
        """Return a hash of the identity of a match; equal matches have equal ones, though mappings have none."""
        return hash((self.match_id, self.kind, self.detected_at, self.nth))

    @property
    def source(self) -> VertexId:
        """The first vertex: where an edge begins."""
        return next(iter(self.bindings.values()))

    @property
    def target(self) -> VertexId:
        """The last vertex: where an edge ends."""
        return tuple(self.bindings.values())[-1]

    @property
    def edges(self) -> Mapping[str, EdgeId]:
        """None: a result has no edges under names."""
        return {}

    @property
    def vertices(self) -> Mapping[str, VertexId]:
        """The bindings."""
        return self.bindings

    @property
    def fields(self) -> Mapping[str, FieldValue]:
        """None."""
        return {}

    def to_json(self) -> str:
        """Return the match record: one JSON object without line breaks."""
        record = _head(self)
        is_edge = len(self.bindings) == _EDGE
        record |= {"src": self.source, "dst": self.target} if is_edge else {"bindings": dict(self.bindings)}
        record |= {"label": self.label, "valid": self.valid}
        if self.nth:
            record["nth"] = self.nth
        if self.path is not None:
            record["path"] = [_step(step) for step in self.path]
        if self.completeness is not Completeness.EXACT:
            record["completeness"] = self.completeness.value
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


_EDGE: Final = 2
"""Vertices of a result that is an edge."""


def _head(match: SubgraphMatch | IntervalMatch) -> dict[str, object]:
    """Return what the record of a match of either family begins with."""
    return {
        "match_id": match.match_id,
        "query": match.query,
        "kind": match.kind.value,
        "detected_at": match.detected_at,
        "first_ts": match.first_ts,
        "last_ts": match.last_ts,
    }


def _step(step: PathStep) -> object:
    return {"label": step.label, "src": step.source, "dst": step.target} if isinstance(step, DerivedEdge) else step


def result_id(query: str, version: int, label: str, vertices: Iterable[str]) -> MatchId:
    """Hash the identity of a result of a graph query: its label and its vertices. As `match_id` otherwise."""
    return _digest([query, str(version), label, *vertices])


Match = SubgraphMatch | ComponentMatch | OccurrenceMatch | IntervalMatch
"""A match of any family."""


def match_id(query: str, version: int, participants: Iterable[tuple[str, str]], made: Container[str] = frozenset()) -> MatchId:
    """Hash a pattern's name and version and the sorted (name, id) participants to 32 hexadecimal digits.

    BLAKE2b with a digest of 16 bytes over the parts. Each part is preceded by its length in UTF-8 bytes as 4 bytes
    little-endian, so no two different lists of parts give the same bytes. An empty part, which no id is, precedes an id that
    was given and is a number, as made ones are. Two empty parts precede one that a clause made, `17#2`. The native engines
    compute the same.

    Args:
        query: the pattern's name.
        version: of the pattern.
        participants: names and ids.
        made: names of those whose ids were made.
    """
    parts = [query, str(version)]
    for name, id in sorted(participants):
        parts += [name, *(_marks_of_made(id) if name in made else _marks_of_given(id)), id]
    return _digest(parts)


def _marks_of_given(id: str) -> list[str]:
    return [""] if _NUMBER.fullmatch(id) else []


def _marks_of_made(id: str) -> list[str]:
    return ["", ""] if _CLAUSE_SIGN in id else []


def _digest(parts: Iterable[str]) -> MatchId:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "little"))
        digest.update(encoded)
    return MatchId(digest.hexdigest())
