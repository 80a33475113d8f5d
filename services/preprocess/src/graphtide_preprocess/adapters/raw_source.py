"""The stream's raw topic as a streaming source of Spark, in Python: executors read and decode, the driver says how far.

Spark's own connector hands every record over as a row, through the Java machine. Here a record stays what the log gives until
the task that read it has decoded it; what travels are blocks. Offsets are kept by Spark in its checkpoint, so a batch that is
run again reads the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.errors import FatalError, TransientError
from graphtide_core.lookbacks import Lookbacks
from graphtide_core.ports.log import TopicPartition
from graphtide_log.window_log import between
from graphtide_wire import control
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.adapters.log_ranges import log_of, records_between
from graphtide_preprocess.application.committing import read_begun, read_mark
from graphtide_preprocess.application.offsets import Found, Offsets, Pace, following
from graphtide_preprocess.domain.blocks import BlockReader
from graphtide_preprocess.domain.registered import division_of, last_statement, ordered_names, statement_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import LogReader
    from graphtide_log.kafka import KafkaConnection
    from graphtide_ordering.division import Division
    from graphtide_ordering.raw_decoding import Ahead
    from graphtide_wire.topics import Topics
    from pyspark.sql.types import StructType

    from graphtide_preprocess.domain.source_topic import SourceTopic

_BLOCKS_AT_ONCE: Final = 8
_RECORDS_OF_A_TASK: Final = 64
"""Fewer records are not worth a task of their own."""

_BACKLOG: Final = 256
"""With more records than this it is looked how large they are."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read, and how.

    Attributes:
        connection: where the log is.
        topics: names of topics.
        stream: its name.
        source: the topic of its records.
        pace: how much at once.
        tasks: that may read and decode at once; with 0 the task that orders the stream does. If the stream has parts, there are
            as many as parts.
        division: how the stream is divided into parts; None if it is not.
        keys: of the rows for each part, in the order of the parts; those of a stream without parts have its name.
        stop_file: once there is such a file on the driver, there is nothing more to read.
        ahead: how far ahead of the clock an edge may be; None is any time.
        tables: folder of the tables that statements join.
    """

    connection: KafkaConnection
    topics: Topics
    stream: StreamName
    source: SourceTopic
    pace: Pace
    tasks: int = 0
    division: Division | None = None
    keys: tuple[str, ...] = ()
    stop_file: str | None = None
    ahead: Ahead | None = None
    tables: str | None = None

    @property
    def readers(self) -> int:
        """How many tasks read a batch beside those that order it.

        Where blocks begin decides which edges of a stream in parts are late. So it follows from the parts, not from a setting:
        a batch that is run again is read by as many tasks.
        """
        return self.tasks if self.division is None else self.division.parts


class RawRange(InputPartition):
    """Offsets of one partition of the raw topic, the offset before which patterns hold for them, and the statement's record."""

    def __init__(self, partition: int, start: int, stop: int, patterns: int, statement: bytes | None) -> None:
        """Name records from `start` to before `stop`."""
        self.partition, self.start, self.stop, self.patterns = partition, start, stop, patterns
        self.statement = statement


class BatchRange(InputPartition):
    """The instant of the batch, offsets of the registered patterns, and the raw records that no other task reads."""

    def __init__(self, start: int, stop: int, instant: rows.Instant, raw: Mapping[int, tuple[int, int]]) -> None:
        """Name patterns from `start` to before `stop`, and such ranges of partitions of the raw topic."""
        self.start, self.stop, self.instant, self.raw = start, stop, instant, raw


class RawReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says on the driver how far to read, and reads on executors."""

    def __init__(self, reading: Reading) -> None:
        """Open nothing: this travels to executors."""
        self._reading = reading
        self._reader: LogReader | None = None
        self._target: Found | None = None
        self._statement: tuple[int, bytes | None] = (0, None)

    def initialOffset(self) -> dict[str, object]:
        """Begin before everything: Spark does not keep this, so the end of the first batch says where that one begins."""
        return _as_dict(Offsets({}))

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:  # noqa: ARG002 - the pace is ours
        """Return where the next batch ends."""
        begin = msgspec.convert(start, Offsets)
        stop_file = self._reading.stop_file
        if stop_file is not None and Path(stop_file).exists():
            return start
        found = self._found() if self._target is None else self._target
        self._check_division(found.statements)
        if not begin.raw:
            begin = Offsets(self._first())
            stop = following(begin, found, _now(), self._reading.pace, self._sizes(begin, found))
            return start if stop == begin else _as_dict(msgspec.structs.replace(stop, first=begin.raw))
        return _as_dict(following(begin, found, _now(), self._reading.pace, self._sizes(begin, found)))

    def prepareForTriggerAvailableNow(self) -> None:
        """Read no further than what is there now."""
        self._target = self._found()

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        """Return the parts that tasks read."""
        begin, stop = msgspec.convert(start, Offsets), msgspec.convert(end, Offsets)
        statement = self._statement_before(stop.statements)
        instant = rows.Instant(stop.at, stop.as_of if stop.is_complete else None, statement)
        starts = begin.raw or stop.first
        raw = {int(number): (starts.get(number, 0), offset) for number, offset in stop.raw.items()}
        raw = {number: (first, offset) for number, (first, offset) in raw.items() if first < offset}
        if not self._reading.readers:
            return [BatchRange(begin.patterns, stop.patterns, instant, raw)]
        size = max(_RECORDS_OF_A_TASK, -(-sum(end - start for start, end in raw.values()) // self._reading.readers))
        parts: list[InputPartition] = [BatchRange(begin.patterns, stop.patterns, instant, {})]
        for number, (beginning, offset) in raw.items():
            for first in range(beginning, offset, size):
                parts.append(RawRange(number, first, min(first + size, offset), stop.patterns, statement))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read and decode on an executor."""
        found = self._rows(partition)
        while part := list(islice(found, _BLOCKS_AT_ONCE)):
            yield rows.read_batch(part)

    def stop(self) -> None:
        """Give back the driver's reader."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _rows(self, partition: InputPartition) -> Iterator[rows.ReadRow]:
        reading = self._reading
        if isinstance(partition, RawRange):
            place = TopicPartition(reading.source.name, partition.partition)
            records = reading.source.records(records_between(reading.connection, place, partition.start, partition.stop))
            read = partial(_attributes_read, reading.connection, reading.topics, reading.stream, partition.patterns)
            statement = statement_of(partition.statement, reading.tables)
            reader = BlockReader(reading.ahead, read, statement, reading.division)
            yield from (rows.block_row(reading.keys[block.part], block) for block in reader.blocks(records))
        elif isinstance(partition, BatchRange):
            yield from (rows.instant_row(key, partition.instant) for key in reading.keys)
            yield from (rows.range_row(reading.keys[0], number, *each) for number, each in partition.raw.items())
            place = TopicPartition(reading.topics.patterns, 0)
            for record in records_between(reading.connection, place, partition.start, partition.stop):
                for key in reading.keys:
                    yield rows.ReadRow(key, rows.PATTERN, record.offset, record.key or b"", record.value)

    def _check_division(self, stop: int) -> None:
        """Read no batch whose statement divides the stream in another way than the query does.

        Raises:
            TransientError: it does, and another query can go on from here.
        """
        statement, stream = statement_of(self._statement_before(stop), self._reading.tables), self._reading.stream
        if division_of(statement) != self._reading.division:
            message = f"version {statement and statement.version} of the statement divides stream {stream!r} in another way"
            raise TransientError(message)

    def _statement_before(self, stop: int) -> bytes | None:
        """Return the record of the stream's last statement before an offset of the statements; None if there is none."""
        if stop != self._statement[0]:
            place = TopicPartition(self._reading.topics.statements, 0)
            reader = log_of(self._reading.connection).reader(None)
            try:
                self._statement = stop, last_statement(between(reader, place, 0, stop), self._reading.stream)
            finally:
                reader.close()
        return self._statement[1]

    def _opened(self) -> LogReader:
        if self._reader is None:
            self._reader = log_of(self._reading.connection).reader(None)
        return self._reader

    def _ends(self) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return the first and the next offset of every partition of the raw topic.

        Raises:
            FatalError: there is no such topic.
        """
        reader, topic = self._opened(), self._reading.source.name
        places = reader.partitions(topic)
        if not places:
            advice = "name one that is there" if self._reading.source.is_foreign else "make the stream first"
            message = f"there is no topic {topic}: {advice}"
            raise FatalError(message)
        return reader.ends(places)

    def _first(self) -> dict[str, int]:
        """Return where the query begins: at the first records, or where another division of the stream ended."""
        reading, ends = self._reading, self._ends()
        log, own = log_of(reading.connection), ordered_names(reading.stream, reading.division)[0]
        begun = {} if read_mark(log, reading.topics, own) is not None else read_begun(log, reading.topics, reading.stream, ends)
        return {str(place.partition): max(first, begun.get(place, 0)) for place, (first, _) in ends.items()}

    def _found(self) -> Found:
        at = _now()
        raw = {str(place.partition): ends[1] for place, ends in self._ends().items()}
        place = TopicPartition(self._reading.topics.patterns, 0)
        if place not in self._opened().partitions(place.topic):
            message = f"there is no topic {place.topic}: make the deployment's topics first"
            raise FatalError(message)
        statements = TopicPartition(self._reading.topics.statements, 0)
        has_statements = statements in self._opened().partitions(statements.topic)
        ends = self._opened().ends([place, statements] if has_statements else [place])
        return Found(raw, ends[place][1], at, ends[statements][1] if has_statements else 0)

    def _sizes(self, begin: Offsets, found: Found) -> dict[str, int]:
        """Return the size of the next record of each partition that has many."""
        topic = self._reading.source.name
        sizes: dict[str, int] = {}
        for number, end in found.raw.items():
            start = begin.raw.get(number, 0)
            if end - start > _BACKLOG:
                place = TopicPartition(topic, int(number))
                first = next(records_between(self._reading.connection, place, start, end), None)
                sizes[number] = len(first.value or b"") if first is not None else 0
        return sizes


class RawSource(DataSource):
    """The source; `of` makes one that knows what to read."""

    reading: Reading

    @classmethod
    def name(cls) -> str:
        """Return what readers call it."""
        return f"graphtide-raw-{cls.reading.topics.prefix}-{cls.reading.stream}"

    def schema(self) -> str:
        """Return what rows are."""
        return rows.READ

    def streamReader(self, schema: StructType) -> RawReader:  # noqa: ARG002 - Spark's name
        """Return the reader."""
        return RawReader(self.reading)

    @classmethod
    def of(cls, reading: Reading) -> type[RawSource]:
        """Return the source that reads this; its settings are not options, because Spark shows those."""
        return type("RawSource", (cls,), {"reading": reading})


@lru_cache(maxsize=64)
def _attributes_read(connection: KafkaConnection, topics: Topics, stream: StreamName, stop: int) -> frozenset[str]:
    """Return the attributes that the patterns before an offset read; a process reads them once."""
    place = TopicPartition(topics.patterns, 0)
    lookbacks = Lookbacks()
    # One of its own: the task is in the middle of its range with the process's reader.
    reader = log_of(connection).reader(None)
    try:
        for record in between(reader, place, 0, stop):
            lookbacks.take((record.key or b"").decode(errors="replace"), control.registered_reads(record.value))
    finally:
        reader.close()
    return lookbacks.attributes(stream)


def _now() -> int:
    """Return milliseconds of the wall clock."""
    return int(time.time() * 1000)


def _as_dict(offsets: Offsets) -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(offsets)
    return found
