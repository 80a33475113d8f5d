"""Micro-batches to the log: each in one transaction together with its mark, so that each is there once.

Why no micro-batch is missing and none is there twice. The mark is a position of the job's group in the ordered topic; it names
the last micro-batch that was committed. Every micro-batch names the one before it. So its writer reads the mark
and finds one of three:

1. the micro-batch before: nothing of this one is there, and all of it is written now, with its mark, or nothing;
2. this micro-batch, with the same counts: it was committed, and the job was killed before it noted that; nothing is written;
3. anything else: the checkpoint and the log do not belong together, and nothing is written.

A mark is read anew after every change of writers, which follows from the transactional id. Its new owner shuts the writer
before out, and lets its transaction end, before the mark is read. The id is that of the built-in sequencer, so the two never
write one stream at once.

The offsets to read next in the source's partitions are positions of the same group, committed with each micro-batch. A new
division of a stream into parts begins there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import FatalError, FencedError
from graphtide_core.ports.log import Position, TopicPartition
from graphtide_log.committed_offset_check import recorded_positions
from graphtide_ordering.progress_reports import micro_batches_of, sequencer_of

from graphtide_preprocess.application.micro_batch import MicroBatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, LogTransactor, Message
    from graphtide_wire.topics import Topics


def read_mark(log: Log, topics: Topics, stream: StreamName) -> MicroBatch | None:
    """Return the last micro-batch of a stream that was committed; None if none was.

    Raises:
        FatalError: the mark is not of this job.
        TransientError: the log does not answer.
    """
    place = TopicPartition(topics.ordered(stream), 0)
    reader = log.reader(micro_batches_of(topics, stream))
    try:
        position = recorded_positions(reader, [place])[place]
    finally:
        reader.close()
    if position is None:
        return None
    try:
        return msgspec.json.decode(position.metadata, type=MicroBatch)
    except msgspec.DecodeError as error:
        message = f"the mark in {place.topic} is not of this job: {error}"
        raise FatalError(message) from error


def read_begun(log: Log, topics: Topics, stream: StreamName, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
    """Return where the last micro-batch of a stream that was committed, or of parts of it, ended in partitions of its source.

    Raises:
        TransientError: the log does not answer.
    """
    reader = log.reader(micro_batches_of(topics, stream))
    try:
        found = reader.committed(places)
    finally:
        reader.close()
    return {place: position.offset for place, position in found.items() if position is not None}


class MicroBatchWriter:
    """Writes the micro-batches of one stream, or of a part."""

    def __init__(self, log: Log, topics: Topics, stream: StreamName, source: str) -> None:
        """Write nothing yet; `source` is the topic of the stream's records."""
        self._log, self._topics, self._stream, self._source = log, topics, stream, source
        self._place = TopicPartition(topics.ordered(stream), 0)
        self._id = sequencer_of(topics, stream)
        self._group = micro_batches_of(topics, stream)
        self._transactor: LogTransactor | None = None
        self._last: int | None = None

    def commit(self, micro_batch: MicroBatch, messages: Iterable[Message], next: Mapping[int, int]) -> bool:
        """Write a micro-batch, unless it is there already; return whether it was written.

        `next` are the offsets to read next, by partitions of the source.

        Raises:
            FatalError: the checkpoint and the log do not belong together.
            TransientError: the log does not answer; whether the micro-batch is there is known when it is committed again.
        """
        given = list(messages)
        positions = {TopicPartition(self._source, number): Position(offset) for number, offset in next.items()}
        if self._transactor is not None and self._last == micro_batch.previous:
            try:
                return self._write(micro_batch, given, positions)
            except FencedError:
                self.close()
        if self._is_there(micro_batch):
            return False
        return self._write(micro_batch, given, positions)

    def close(self) -> None:
        """Give back the transactor."""
        if self._transactor is not None:
            self._transactor.close()
        self._transactor, self._last = None, None

    def _is_there(self, micro_batch: MicroBatch) -> bool:
        """Open the id, and look at the mark."""
        self.close()
        self._transactor = self._log.transactor(self._id)
        self._transactor.open()
        mark = read_mark(self._log, self._topics, self._stream)
        if mark is not None and (mark.number, mark.read, mark.ordered) == (
            micro_batch.number,
            micro_batch.read,
            micro_batch.ordered,
        ):
            self._last = micro_batch.number
            return True
        found = 0 if mark is None else mark.number
        if (
            found == micro_batch.previous
            and (mark is None or mark.ordered == micro_batch.before)
            and (mark is not None or self._is_new())
        ):
            return False
        message = (
            f"the checkpoint and {self._place.topic} do not belong together: the log has {found} of this job, the "
            f"checkpoint continues after {micro_batch.previous}. Start with the checkpoint that wrote the topic, or "
            "with new topics"
        )
        raise FatalError(message)

    def _is_new(self) -> bool:
        """Whether the ordered topic has never had a record."""
        reader = self._log.reader(None)
        try:
            return reader.ends([self._place])[self._place][1] == 0
        finally:
            reader.close()

    def _write(self, micro_batch: MicroBatch, messages: list[Message], positions: Mapping[TopicPartition, Position]) -> bool:
        transactor = self._transactor
        if transactor is None:
            message = f"the writer of {self._place.topic} is not open"
            raise FatalError(message)
        self._last = None
        transactor.begin()
        transactor.write(messages)
        mark = Position(micro_batch.number, msgspec.json.encode(micro_batch).decode())
        transactor.commit(self._group, {self._place: mark, **positions})
        self._last = micro_batch.number
        return True
