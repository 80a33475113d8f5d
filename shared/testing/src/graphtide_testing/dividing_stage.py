"""A stream in parts over a log in memory: who divides it, who puts each part in order and merges them; all can be killed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphtide_core.errors import TransientError
from graphtide_core.merged_streams import merge_parts, name_part, parts_of
from graphtide_core.ports.log import Message
from graphtide_ingestion.application.dividing_worker import DividingWorker
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.memory import MemoryLog
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.statements import Statement
from graphtide_query import parse_streams
from graphtide_wire import dead_letters, ordered, raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key

from graphtide_testing.clock import ManualClock
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.registrations import registering, registration
from graphtide_testing.sequencing_stage import FLOWS, IDLE, MOST_ATTEMPTS, TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record
    from graphtide_serving.loop import Worker
    from graphtide_wire.dead_letters import DeadLetterRecord
    from graphtide_wire.ordered import OrderedHeader


@dataclass
class DividingStage:
    """A stream that its statement divides, and its workers."""

    statement: str
    partitions: int = 1
    lateness: int = 0
    most_records: int = 2
    log: Log = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)
    fuse: Fuse = field(default_factory=Fuse)
    kills: int = 0
    absent: set[str] = field(default_factory=set)
    """Names of workers that do nothing."""

    def __post_init__(self) -> None:
        """Make the topics, state the statement, and put the workers together."""
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=self.partitions)])
        self.writer = self.log.writer()
        (definition,) = parse_streams(self.statement)
        record = StatementRecord.of(self.statement, definition, 1, self.clock.now())
        division = Statement(record).division
        assert division is not None, "the statement divides the stream"
        self.division = division
        for key in (statement_key(FLOWS), version_key(FLOWS, 1)):
            self.write(Message(TOPICS.statements, key, encode_statement(record)))
        self.parts = parts_of(FLOWS, division.parts)
        self.dividers = tuple(f"{FLOWS}/{number}" for number in range(self.partitions))
        names = (*self.dividers, *self.parts, merge_parts(FLOWS, division.parts))
        self._workers: dict[str, Worker | None] = dict.fromkeys(names)

    def write(self, *messages: Message) -> None:
        """Write messages to the log."""
        self.writer.write(messages)
        self.writer.flush(5)

    def send(self, value: bytes, partition: int = 0, **more: Any) -> None:
        """Write a record of edges."""
        self.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(value, **more))._replace(partition=partition))

    def register(self, text: str, **more: Any) -> None:
        """Register a pattern."""
        self.write(registering(TOPICS, registration(text, self.clock.now(), **more)))

    def run(self, rounds: int = 8) -> DividingStage:
        """Let every worker do rounds; a killed one is replaced by another, and then all do them again.

        One that cannot open tries again, some times: who makes its topics may have been killed before.
        """
        left, attempts = rounds, 0
        while left:
            left -= 1
            for name in [each for each in self._workers if each not in self.absent]:
                try:
                    self._opened(name).step()
                except KilledError:
                    self._workers[name] = None
                    self.kills += 1
                    left = rounds
                except TransientError:
                    attempts += 1
                    if self._workers[name] is not None or attempts > MOST_ATTEMPTS * len(self._workers):
                        raise
                    left = rounds
            self.clock.sleep(0.2)
        return self

    def fall_silent(self) -> DividingStage:
        """Let everything be read, and then nothing come."""
        for _ in range(2):
            self.run()
            self.clock.sleep(IDLE + 1)
        return self.run()

    def ordered(self, stream: StreamName) -> Iterator[tuple[OrderedHeader, bytes]]:
        """Yield the ordered records of a part, or of the merged parts, in their order."""
        for record in self.read(TOPICS.ordered(stream)):
            yield ordered.header(record.headers), record.value or b""

    def letters(self) -> list[DeadLetterRecord]:
        """Return the dead letters."""
        return [dead_letters.decode(record) for record in self.read(TOPICS.dead_letters(FLOWS))]

    def read(self, topic: str) -> list[Record]:
        """Return all records of a topic."""
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        found = reader.poll(0.0, 100_000)
        reader.close()
        return found

    def _opened(self, name: str) -> Worker:
        worker = self._workers[name]
        if worker is None:
            worker = self._new(name)
            worker.open()
            self._workers[name] = worker
        return worker

    def _new(self, name: str) -> Worker:
        mortal: Any = Mortal(self.log, self.fuse)
        options = Sequencing(
            ordering=Ordering(self.lateness, IDLE), linger_seconds=0.0, most_records=self.most_records, poll_seconds=0.0
        )
        if name in self.dividers:
            partition = self.dividers.index(name)
            return DividingWorker(mortal, TOPICS, self.division, self.clock, options, partition=partition)
        if name in self.parts:
            return SequencingWorker(
                mortal, TOPICS, name_part(FLOWS, self.parts.index(name), len(self.parts)), self.clock, options
            )
        merged = merge_parts(FLOWS, len(self.parts))
        by_vertex = frozenset({FLOWS} if self.division.key.is_vertex else ())
        merging = Merging(linger_seconds=0.0, poll_seconds=0.0, by_vertex=by_vertex)
        return MergingWorker(mortal, TOPICS, merged, self.clock, merging)
