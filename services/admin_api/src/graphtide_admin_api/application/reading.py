"""Looking into streams: their names, their ends, their rejected records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError, PoisonRecordError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, logical_stream, parts_of
from graphtide_core.ports.log import TopicPartition
from graphtide_log.window_log import edges_between
from graphtide_ordering.progress_reports import progress_of
from graphtide_wire import dead_letters
from graphtide_wire.place import Place, Places

from graphtide_admin_api.application.pages import Extent, Page, page_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.log import Log, LogReader, Record
    from graphtide_ordering.stream_progress import StreamProgress
    from graphtide_wire.dead_letters import DeadLetterRecord
    from graphtide_wire.topics import Topics

_PATIENCE: Final = 5.0

_LETTERS_AT_ONCE: Final = 64
"""A dead letter may have megabytes."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream: partitions of its raw topic, where its ordered edges begin and end, dead letters that are kept (at most).

    A merged one has no raw topic, and so no partition of it. The begins and ends of a divided one are sums over its parts.
    """

    name: str
    partitions: int
    first: int
    end: int
    dead_letters: int
    parts: int | None = None


@dataclass(frozen=True, slots=True)
class NotedProgress:
    """How far a stream was put in order, and what is odd about it, if anything is."""

    stream_progress: StreamProgress
    note: str | None


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter and its place."""

    stream: str
    place: Place
    record: DeadLetterRecord


class Streams:
    """Reads of streams; safe for threads, a reader of its own each call. All may raise `TransientError`."""

    def __init__(self, log: Log, topics: Topics) -> None:
        """Work on a log."""
        self._log = log
        self._topics = topics

    def names(self) -> list[str]:
        """Return the streams that have topics; parts belong to their whole."""
        found = {self._topics.stream_of(topic) for topic in self._log.admin().topics()}
        return sorted(name for name in found if name is not None and logical_stream(StreamName(name)) == name)

    def all(self, parts_of: Callable[[str], int | None]) -> list[Stream]:
        """Return every stream, given the number of parts of each that is divided."""
        reader = self._log.reader(None)
        try:
            return [self._stream(reader, StreamName(name), parts_of(name)) for name in self.names()]
        finally:
            reader.close()

    def one(self, name: str, parts: int | None) -> tuple[Stream, NotedProgress | None] | None:
        """Return a stream in so many parts, and its progress if it was put in order; None if there is no such stream."""
        if name not in self.names():
            return None
        reader = self._log.reader(None)
        try:
            stream = self._stream(reader, StreamName(name), parts)
        finally:
            reader.close()
        stream_progress = progress_of(self._log, self._topics, StreamName(name), parts)
        return stream, None if stream_progress is None else NotedProgress(stream_progress, stream_progress.note(name))

    def edges_from(self, name: str, position: int) -> int:
        """Return how many ordered edges a stream has from an offset on.

        Offsets are not a measure: the log counts the ends of transactions, too, so a reader of all records stays behind by one.
        """
        reader, partition = self._log.reader(None), TopicPartition(self._topics.ordered(StreamName(name)), 0)
        try:
            first, end = reader.ends([partition])[partition]
            return edges_between(reader, partition, max(first, position), end)
        finally:
            reader.close()

    def letters(self, stream: str, most: int, cursor: Places | None = None) -> Page[Letter]:
        """Return up to `most` dead letters of a stream, the newest first."""
        reader = self._log.reader(None)
        try:
            topic = self._topics.dead_letters(StreamName(stream))
            return page_of(reader, topic, cursor, Extent(most, most_at_once=_LETTERS_AT_ONCE), partial(_letter, stream))
        finally:
            reader.close()

    def letter(self, stream: str, place: Place) -> Letter | None:
        """Return the dead letter at a place; None if there is none."""
        reader = self._log.reader(None)
        try:
            topic = self._topics.dead_letters(StreamName(stream))
            found = self._read(reader, TopicPartition(topic, place.partition), place.offset, 1)
            return next((_letter(stream, record) for record in found if record.offset == place.offset), None)
        finally:
            reader.close()

    def _read(self, reader: LogReader, place: TopicPartition, start: int, most: int) -> list[Record]:
        if place not in reader.partitions(place.topic):
            return []
        first, end = reader.ends([place])[place]
        if max(first, start) >= end:
            return []
        reader.assign({place: max(first, start)})
        records: list[Record] = []
        try:
            while len(records) < most:
                found = reader.poll(_PATIENCE, most - len(records))
                records += found
                if not found or reader.at_end():
                    break
        except FatalError:
            # What was asked for has just been deleted.
            return []
        return records

    def _stream(self, reader: LogReader, name: StreamName, parts: int | None) -> Stream:
        topics = self._topics
        ordered = [self._bounds(reader, topics.ordered(each)) for each in ((name,) if parts is None else parts_of(name, parts))]
        first, end = sum(each for each, _ in ordered), sum(each for _, each in ordered)
        first_letter, end_of_letters = self._bounds(reader, topics.dead_letters(name))
        partitions = 0 if is_merged(name) else len(reader.partitions(topics.raw(name)))
        return Stream(name, partitions, first, end, end_of_letters - first_letter, parts)

    def _bounds(self, reader: LogReader, topic: str) -> tuple[int, int]:
        bounds = reader.ends(reader.partitions(topic))
        return sum(first for first, _ in bounds.values()), sum(end for _, end in bounds.values())


def _letter(stream: str, record: Record) -> Letter | None:
    try:
        return Letter(stream, Place(record.partition, record.offset), dead_letters.decode(record))
    except PoisonRecordError:
        return None
