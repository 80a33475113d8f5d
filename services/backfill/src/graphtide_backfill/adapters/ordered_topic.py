"""The ordered topic of a stream as history: pieces of some records each.

Its edges are in their total order and cleared of duplicates already. Times begin anew with an epoch of the stream, so the
history is that of one: no window reaches into an earlier. It is the newest, or of several streams the newest that all began.
Records that were appended later change nothing of what was there, so the topic's fingerprint stays.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from graphtide_core.errors import PoisonRecordError, TransientError, UnreadableStreamError
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_log.window_log import Instant, between, first_since, newest_before
from graphtide_native.records import ArrowDecoder, ticks_per_second
from graphtide_wire import ordered

from graphtide_backfill.application.pieces import PieceFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.ports.log import Log, LogReader
    from graphtide_core.time import TimeUnit
    from graphtide_native.records import EdgeBatch

    from graphtide_backfill.application.pieces import Piece, Reading

_PIECE_RECORDS: Final = 256


@dataclass(slots=True)
class TopicPiece:
    """Records of an ordered topic, offset `start` to before `end`; `log` makes a log where the piece is read."""

    log: Callable[[], Log]
    topic: str
    start: int
    end: int
    _facts: PieceFacts = field(default=PieceFacts(0, 0, has_ids=False, has_operations=False))
    stream: ClassVar[str] = ""

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        decoder = ArrowDecoder(reading.symbols, reading.attributes, {}, ticks_per_second(reading.unit))
        records = 0
        reader = self.log().reader(None)
        try:
            for record in between(reader, TopicPartition(self.topic, 0), self.start, self.end):
                header = ordered.header(record.headers)
                if header.unit is not reading.unit:
                    message = f"{self.topic} counts times in {header.unit.value}, not in {reading.unit.value}"
                    raise UnreadableStreamError(message)
                decoder.start_at(reading.ordinal + records)
                batch = decoder.decode(record.value or b"")
                records += header.records
                if len(batch):
                    yield batch
        except (PoisonRecordError, TransientError) as error:
            message = f"{self.topic}: {error}"
            raise UnreadableStreamError(message) from error
        finally:
            reader.close()
        self._facts = PieceFacts(records, 0, decoder.has_ids(), decoder.has_operations())

    def facts(self) -> PieceFacts:
        """See `Piece.facts`."""
        return self._facts


@dataclass(frozen=True, slots=True)
class OrderedTopic:
    """An epoch of an ordered topic as it is now; None is the newest."""

    log: Callable[[], Log]
    topic: str
    may_repeat: bool = False
    epoch: int | None = None

    def pieces(self) -> list[Piece]:
        """See `History.pieces`."""
        first, end = self._bounds()
        return [
            TopicPiece(self.log, self.topic, start, min(end, start + _PIECE_RECORDS))
            for start in range(first, end, _PIECE_RECORDS)
        ]

    def at(self, epoch: int) -> OrderedTopic:
        """Return the history of an epoch."""
        return replace(self, epoch=epoch)

    def headers(self) -> None:
        """Return None: which attributes there are is known of each record alone."""

    def fingerprint(self) -> str:
        """Return the topic's name and where it begins."""
        return f"{self.topic}@{self._bounds()[0]}"

    def newest_epoch(self) -> int:
        """Return the number of the newest epoch; 0 of a topic without records.

        Raises:
            UnreadableStreamError: there is no such topic.
        """
        with self._opened() as (reader, place, end):
            newest = newest_before(reader, place, end)
        return 0 if newest is None else newest.epoch

    def unit(self) -> TimeUnit:
        """Return what times count, as the topic's first record says.

        Raises:
            UnreadableStreamError: the topic has no records.
        """
        first, end = self._bounds()
        reader = self.log().reader(None)
        try:
            for record in between(reader, TopicPartition(self.topic, 0), first, end):
                return ordered.header(record.headers).unit
        except (PoisonRecordError, TransientError) as error:
            message = f"{self.topic}: {error}"
            raise UnreadableStreamError(message) from error
        finally:
            reader.close()
        message = f"{self.topic} is empty"
        raise UnreadableStreamError(message)

    def _bounds(self) -> tuple[int, int]:
        """Return the offset of the epoch's first record, and the one after its last."""
        with self._opened() as (reader, place, end):
            newest = newest_before(reader, place, end)
            epoch = self.epoch if self.epoch is not None else 0 if newest is None else newest.epoch
            first = reader.ends([place])[place][0] if epoch == 0 else first_since(reader, place, _start_of(epoch), end)
            is_over = newest is not None and newest.epoch > epoch
            return first, first_since(reader, place, _start_of(epoch + 1), end) if is_over else end

    @contextmanager
    def _opened(self) -> Iterator[tuple[LogReader, TopicPartition, int]]:
        """Give a reader of the topic, its partition and its end.

        Raises:
            UnreadableStreamError: there is no such topic, or the log does not answer.
        """
        place = TopicPartition(self.topic, 0)
        reader = self.log().reader(None)
        try:
            if place not in reader.partitions(self.topic):
                message = f"there is no topic {self.topic}"
                raise UnreadableStreamError(message)
            yield reader, place, reader.ends([place])[place][1]
        except TransientError as error:
            message = f"{self.topic}: {error}"
            raise UnreadableStreamError(message) from error
        finally:
            reader.close()


def _start_of(epoch: int) -> Instant:
    return Instant(epoch, MIN_EVENT_TIME)
