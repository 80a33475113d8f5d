"""`MemoryLog`: the log in memory, with its readers and writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.colliding_topics import refuse_colliding

from graphtide_log.memory.reader import MemoryReader
from graphtide_log.memory.state import State
from graphtide_log.memory.writer import MemoryTransactor, MemoryWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import LogAdmin, LogReader, LogTransactor, LogWriter, TopicPartition, TopicSpec


class MemoryAdmin:
    """A `LogAdmin` of the log in memory."""

    def __init__(self, state: State) -> None:
        """Make topics of this log."""
        self._state = state

    def ensure(self, topics: Iterable[TopicSpec]) -> None:
        """Make the topics that are not there."""
        specs = list(topics)
        with self._state.changed:
            refuse_colliding([spec.name for spec in specs], set(self._state.topics()))
            for spec in specs:
                self._state.ensure(spec)

    def delete(self, topics: Iterable[str]) -> None:
        """Delete topics, their records and positions in them."""
        with self._state.changed:
            for name in topics:
                self._state.delete(name)
            self._state.changed.notify_all()

    def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        with self._state.changed:
            return self._state.topics()

    def written(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each partition."""
        with self._state.changed:
            return {place: self._state.partition(place).end for place in partitions}


class MemoryLog:
    """A `Log` that lives as long as the object, shared by the threads of one process.

    Compacted topics keep every record. The others keep about `most_bytes` a partition, if given, rather than for a time; a
    reader that falls behind what is kept gets a `FatalError`.
    """

    def __init__(self, most_bytes: int | None = None) -> None:
        """Start without topics."""
        self._state = State(most_bytes)

    def reader(self, group: str | None) -> LogReader:
        """Return a new reader."""
        return MemoryReader(self._state, group)

    def writer(self) -> LogWriter:
        """Return a new writer."""
        return MemoryWriter(self._state)

    def transactor(self, id: str) -> LogTransactor:
        """Return a new transactor."""
        return MemoryTransactor(self._state, id)

    def admin(self) -> LogAdmin:
        """Return an admin of topics."""
        return MemoryAdmin(self._state)

    def ping(self) -> None:
        """Return: memory always answers."""
