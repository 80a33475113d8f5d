"""The log: topics of partitions of records, each read in the order of its offsets.

What readers see is what was committed. Records of a transaction come into sight together at its commit, in their places among
the others. Those of an aborted one never do. Offsets rise within a partition and may have gaps. A read-process-write loop
commits what it has read in the transaction of what it wrote. So none is lost and none repeated after a crash.

Every call may raise `TransientError` (try again) and `FatalError` (stop). No object here but `Log` may be used by two threads
at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Headers = tuple[tuple[str, bytes], ...]
"""Names and values beside a record, in the order of the producer; a name may stand there twice."""


MOST_METADATA_BYTES: Final = 4000
"""Bytes that every log remembers with a position."""


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple):
    """A record that was read; `timestamp` in milliseconds, as the producer gave it. A value of None deletes its key.

    `flaw` says why the headers cannot be read, and is empty if they can; such a record comes without any.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    flaw: str = ""


class Message(NamedTuple):
    """A record to be written.

    Without a `partition` the key chooses one, always the same for a key; without either, any. Without a `timestamp` the log
    takes the time of the call.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None


class Position(NamedTuple):
    """Where a group continues in a partition: the offset to read next, and what the group wants to remember with it.

    The metadata has at most `MOST_METADATA_BYTES` in UTF-8.
    """

    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic that shall be there.

    A compacted topic keeps at least the last record of every key. Another keeps records for `retention_ms`, or for ever if that
    is None. `most_bytes` bounds a record with its key and headers; None leaves it to the log. The records of a `stamped` topic
    have the time at which the log took them, whatever their producers say.
    """

    name: str
    partitions: int = 1
    compacted: bool = False
    retention_ms: int | None = None
    most_bytes: int | None = None
    stamped: bool = False


class LogReader(Protocol):
    """Reads committed records of assigned partitions, as many as requested; takes no part in group balancing."""

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions, each from the offset given, and no others; none is paused any more.

        Offset 0 is the first record there is, though records before it may be gone. A partition that is not there yet gives
        records when it is.
        """
        ...

    def poll(self, timeout: float, most: int) -> list[Record]:
        """Return up to `most` records as soon as there are some; an empty list after `timeout` seconds without.

        The list may come empty sooner where the end of what is assigned was just found.

        Records of one partition come in the order of their offsets.

        Raises:
            TransientError: the log does not answer.
            FatalError: an offset asked for is out of the log's range: records are gone.
        """
        ...

    def at_end(self) -> bool:
        """Return whether the last `poll` gave the last record there was of every partition assigned.

        Offsets do not say: the last record may be followed by offsets without one. An empty list of a `poll` does not, either.
        That may have been a while ago: a caller who knows an offset that can be read asks `ended_at`.
        """
        ...

    def ended_at(self, partition: TopicPartition) -> int | None:
        """Return the offset before which an assigned partition has no record that `poll` has not given; None if there may be.

        It is known where the end was found, and then it is an end of that time: records that came since may be behind it.
        """
        ...

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Give no records of these assigned partitions until `resume`; none is lost meanwhile."""
        ...

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Give records of these assigned partitions again."""
        ...

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return of each partition the first offset and the one after the last that can be read now.

        A transaction that is open keeps what follows it from being read.
        """
        ...

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic in order; none if it is not there."""
        ...

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
        """Return where the reader's group continues; None where it never committed.

        Waits for a commit that is under way.

        Raises:
            ValueError: the reader has no group.
        """
        ...

    def recorded(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
        """Return what `committed` should, from the records of commits that the log keeps, not from anybody's memory of them.

        May read all commits of many groups: for a reader who knows better than what `committed` says.

        Raises:
            ValueError: the reader has no group.
            FatalError: the log does not let the reader see its records of commits.
        """
        ...

    def close(self) -> None:
        """Give back what the reader holds; nothing else may be called any more."""
        ...


class LogWriter(Protocol):
    """Writes records that can be read at once; repeats of the connection leave each once."""

    def write(self, messages: Iterable[Message]) -> None:
        """Take the messages, in order for each partition; block while the bounded buffer is full.

        Raises:
            PoisonRecordError: a message is larger than the log takes; those before it were taken.
        """
        ...

    def flush(self, timeout: float) -> None:
        """Return when all that was taken is kept by the log.

        Raises:
            TransientError: `timeout` seconds were not enough; the rest is still under way.
            FatalError: a message was refused.
        """
        ...

    def close(self) -> None:
        """Give back what the writer holds, without waiting for what was not flushed."""
        ...


class LogTransactor(Protocol):
    """Writes records and commits positions together; of all that have one id, only the last opened may.

    Every call may raise `FencedError`: another took the id. After a `TransientError` it is not known what happened to the
    transaction. Call `open` again, which ends it one way or the other, and continue from the positions that `committed` gives.
    """

    def open(self) -> None:
        """Take the id: end what its last owner left unfinished, and shut that owner out; the last owner may be this object."""
        ...

    def begin(self) -> None:
        """Start a transaction."""
        ...

    def write(self, messages: Iterable[Message]) -> None:
        """Take messages into the transaction, in order for each partition; block while the bounded buffer is full.

        Raises:
            PoisonRecordError: a message is larger than the log takes; those before it were taken, and `abort` may follow.
        """
        ...

    def commit(self, group: str, positions: Mapping[TopicPartition, Position]) -> None:
        """End the transaction: its records come into sight, and the group's positions hold, both or neither.

        What is settled on return may take a moment to show: `ends` may still be the old ones; `committed` waits.

        Raises:
            FatalError: the log refused a record, or metadata are too long; neither holds.
        """
        ...

    def abort(self) -> None:
        """End the transaction: its records are never seen."""
        ...

    def close(self) -> None:
        """Give back what the transactor holds; an open transaction is left for the next owner of the id to abort."""
        ...


class LogAdmin(Protocol):
    """Makes and deletes topics."""

    def ensure(self, topics: Iterable[TopicSpec]) -> None:
        """Make the topics that are not there; leave the others as they are. All can be written to on return.

        Raises:
            CollidingTopicError: a topic would differ from another by dots and underscores alone; none is made.
        """
        ...

    def delete(self, topics: Iterable[str]) -> None:
        """Delete topics with their records, and the positions that groups have in them; those that are not there stay so.

        None is listed any more on return; positions may take a moment to go. A client that uses such a topic meanwhile
        fails sooner or later: have its work end before.
        """
        ...

    def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        ...

    def written(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return of each partition the offset after the last record, whether or not that can be read yet.

        Raises:
            TransientError: the log does not answer, or there is no such partition.
        """
        ...


class Log(Protocol):
    """A place with topics, and who works on them; safe for threads."""

    def reader(self, group: str | None) -> LogReader:
        """Return a new reader; `group` is whose positions `committed` gives."""
        ...

    def writer(self) -> LogWriter:
        """Return a new writer."""
        ...

    def transactor(self, id: str) -> LogTransactor:
        """Return a new transactor; it takes the id when it is opened."""
        ...

    def admin(self) -> LogAdmin:
        """Return what makes and deletes topics."""
        ...

    def ping(self) -> None:
        """Return if the log answers.

        Raises:
            TransientError: it does not.
        """
        ...
