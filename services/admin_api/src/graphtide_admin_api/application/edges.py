"""Edges of an ordered stream: by their ids, so that what a match names can be shown, by their vertices, or the newest ones.

Ids are in no index. With times, only the records of those times are read, which bisection finds; without, the newest first.
A request reads a bounded number of records, and says where it stopped at the bound.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from math import isfinite
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_log.window_log import Instant, between, first_since, newest_before
from graphtide_wire import matches, ordered
from graphtide_wire.ordered import MADE, MARKS

from graphtide_admin_api.application.pages import backwards

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from types import ModuleType

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, LogReader, Record
    from graphtide_wire.place import Place
    from graphtide_wire.topics import Topics

    _Select = Callable[[bytes], list[dict[str, "Value"]]]

_MOST_EDGES: Final = 1_000_000
_MOST_EPOCHS: Final = 100
_MOST_FOUND: Final = 10_000
"""Edges that are found at most: an id may come again and again."""

_AT_ONCE: Final = 8
"""Ordered records that are read at once; one may have megabytes."""

Value = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge as it was put in order; `is_made` says that its id is its place in the stream, because the sender gave none.

    Of an event the label is its type, and the ends are empty.
    """

    id: str
    ts: int
    src: str
    dst: str
    label: str | None
    src_label: str | None
    dst_label: str | None
    is_made: bool
    attributes: dict[str, Value]

    def as_sent(self) -> bytes:
        """Return the edge or event as a client would send it: one line of JSON."""
        ends = {"src": self.src, "dst": self.dst, "src_label": self.src_label, "dst_label": self.dst_label}
        of_edge = {"label": self.label} | {name: value for name, value in ends.items() if value is not None}
        is_event = not self.src and not self.dst
        kind = {"type": self.label} if is_event else {name: value for name, value in of_edge.items() if value is not None}
        return msgspec.json.encode({"id": self.id, "ts": self.ts, **kind, **self.attributes})


@dataclass(frozen=True, slots=True)
class Found:
    """Edges that were found, the newest first; whether all was looked at that could have been one."""

    edges: list[Edge]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A match record, and its edges or events by their names in the pattern; None where one was not found.

    A name has several edges in a component and in an iteration, and so has the path of a result.
    """

    body: bytes
    edges: dict[str, Edge | list[Edge | None] | None]


class _Match(msgspec.Struct, frozen=True):
    """The times of a match record's edges."""

    first_ts: int
    last_ts: int


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for: rows of bodies, with times in bounds; it ends once `most` are found."""

    select: _Select
    since: int | None = None
    until: int | None = None
    most: int = _MOST_FOUND

    def has(self, ts: int) -> bool:
        """Whether a time is in the bounds."""
        return (self.since is None or ts >= self.since) and (self.until is None or ts < self.until)


_NOTHING: Final = Found([], is_whole=True)


class _Budget:
    """How many edges a request may still read."""

    def __init__(self, edges: int) -> None:
        self._left = edges
        self.is_spent = False

    def take(self, edges: int) -> bool:
        """Return whether so many may be read."""
        self._left -= edges
        self.is_spent = self._left < 0
        return not self.is_spent


class Edges:
    """Finds edges and matches by what they are called; safe for threads, a reader of its own each call."""

    def __init__(self, log: Log, topics: Topics, most_edges: int = _MOST_EDGES) -> None:
        """Look for edges among `most_edges` at most."""
        self._log = log
        self._topics = topics
        self._most_edges = most_edges

    def find(self, streams: Sequence[StreamName], ids: Iterable[str], since: int | None, until: int | None) -> Found:
        """Return the edges with these ids and `since <= ts < until`, of the newest epoch of each stream that has any of them.

        Raises:
            TransientError: the log does not answer.
        """
        wanted = frozenset(ids)
        return self._first(streams, _Search(lambda body: _bodies().rows(body, wanted), since, until)) if wanted else _NOTHING

    def around(self, streams: Sequence[StreamName], vertex: str, since: int | None, until: int | None, most: int) -> Found:
        """Return up to so many edges of a vertex with `since <= ts < until`, the newest ones.

        They are of the newest epoch of each stream that has any of them.

        Raises:
            TransientError: the log does not answer.
        """
        search = _Search(lambda body: _bodies().rows_of_vertex(body, vertex), since, until, most + 1)
        found = self._first(streams, search)
        return Found(found.edges[:most], found.is_whole and len(found.edges) <= most)

    def newest(self, streams: Sequence[StreamName], most: int) -> Found:
        """Return the newest edges and events of the newest epoch, as they were put in order; deletions are not among them.

        Raises:
            TransientError: the log does not answer.
        """
        found = self._first(streams, _Search(lambda body: _bodies().last_rows(body, most + 1), most=most + 1))
        return Found(found.edges[:most], found.is_whole and len(found.edges) <= most)

    def _first(self, streams: Sequence[StreamName], search: _Search) -> Found:
        """Return what the newest epoch of each stream has, that has anything."""
        founds = list[Found]()
        for stream in streams:
            with closing(self._by_epochs(stream, search)) as epochs:
                founds.append(next(epochs, _NOTHING))
        edges = sorted((edge for found in founds for edge in found.edges), key=lambda edge: -edge.ts)
        # By a vertex key, two parts may have one edge.
        once = {(edge.id, edge.ts, edge.src, edge.dst): edge for edge in edges} if len(founds) > 1 else None
        return Found(edges if once is None else list(once.values()), is_whole=all(found.is_whole for found in founds))

    def match(self, streams: Sequence[StreamName], pattern: str, place: Place) -> Shown | None:
        """Return the match of a pattern at a place, with its edges of one of these streams; None if there is none.

        Raises:
            TransientError: the log does not answer.
        """
        record = self._at(TopicPartition(self._topics.matches, place.partition), place.offset)
        try:
            event = matches.decode(record) if record is not None else None
            if event is None or event.pattern != pattern:
                return None
            match, named = msgspec.json.decode(event.body, type=_Match), matches.participants(event.body)
        except (PoisonRecordError, msgspec.DecodeError):
            return None
        of_names = ([ids] if isinstance(ids, str) else ids for ids in named.values())
        ids, best = frozenset(chain.from_iterable(of_names)), dict[str, Edge]()
        search = _Search(lambda body: _bodies().rows(body, ids), match.first_ts, match.last_ts + 1)
        for stream in streams:
            if not ids:
                break
            with closing(self._by_epochs(stream, search)) as epochs:
                for found in epochs:
                    # The newest edge of an id, in the epoch that has the most of them: ids may come again.
                    newest = {edge.id: edge for edge in reversed(found.edges)}
                    best = newest if len(newest) > len(best) else best
                    if len(best) == len(ids):
                        break
            if len(best) == len(ids):
                break
        found_of = {
            name: best.get(of) if isinstance(of, str) else [best.get(each) for each in of] for name, of in named.items()
        }
        return Shown(event.body, found_of)

    def _by_epochs(self, stream: StreamName, search: _Search) -> Generator[Found]:
        """Yield what is found in each epoch that has any of these edges, the newest first; the last one where it is cut off."""
        reader, budget = self._log.reader(None), _Budget(self._most_edges)
        place = TopicPartition(self._topics.ordered(stream), 0)
        try:
            if place not in reader.partitions(place.topic):
                return
            for records in _of_epochs(reader, place, search.since, search.until):
                are_in = (edge for edge in _edges(records, search.select, budget) if search.has(edge.ts))
                found = list(islice(are_in, search.most))
                is_whole = not budget.is_spent and len(found) < search.most
                if found or not is_whole:
                    yield Found(found, is_whole)
                if not is_whole:
                    return
        finally:
            reader.close()

    def _at(self, place: TopicPartition, offset: int) -> Record | None:
        reader = self._log.reader(None)
        try:
            if place not in reader.partitions(place.topic):
                return None
            first, end = reader.ends([place])[place]
            if not first <= offset < end:
                return None
            return next((record for record in between(reader, place, offset, offset + 1, 1)), None)
        finally:
            reader.close()


def _of_epochs(reader: LogReader, place: TopicPartition, since: int | None, until: int | None) -> Iterator[Iterator[Record]]:
    """Yield for each epoch, the newest first, its records that may have edges of these times, the newest first."""
    first, end = reader.ends([place])[place]
    newest = newest_before(reader, place, end)
    if newest is None:
        return
    for epoch in range(newest.epoch, max(-1, newest.epoch - _MOST_EPOCHS), -1):
        begin = first if epoch == 0 else first_since(reader, place, Instant(epoch, MIN_EVENT_TIME), end)
        start = begin if since is None else first_since(reader, place, Instant(epoch, since), end)
        stop = end
        if until is not None:
            last = first_since(reader, place, Instant(epoch, until), end)
            stop = next((record.offset + 1 for record in between(reader, place, last, end, 1)), end)
        yield backwards(reader, place, start, stop, _AT_ONCE)
        end = begin
        if end <= first:
            return


def _bodies() -> ModuleType:
    """Return what reads the bodies of ordered records.

    It is imported late: it takes memory that a control plane which draws nothing can do without.
    """
    from graphtide_wire import ordered_body  # noqa: PLC0415

    return ordered_body


def _edges(records: Iterable[Record], select: _Select, budget: _Budget) -> Iterator[Edge]:
    """Yield the selected edges, the newest first, until the budget is spent; what cannot be read holds none."""
    for record in records:
        try:
            if not budget.take(ordered.header(record.headers).records):
                return
            rows = select(record.value or b"")
        except PoisonRecordError:
            continue
        yield from (_edge(row) for row in reversed(rows) if row.get("op") != "delete")


def _edge(row: dict[str, Value]) -> Edge:
    given = dict(row)
    given.pop("op", None)
    is_made = bool(given.get(MADE, False))
    fields = {name: given.pop(name) for name in ("id", "ts", "src", "dst", "label", "src_label", "dst_label")}
    present = {name: _plain(value) for name, value in given.items() if value is not None and name not in MARKS}
    return msgspec.convert({**fields, "is_made": is_made, "attributes": present}, Edge)


def _plain(value: object) -> Value:
    """Return a value that JSON has."""
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return value if isinstance(value, bool | int | str) else str(value)
