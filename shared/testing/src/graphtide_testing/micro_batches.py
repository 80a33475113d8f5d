"""The job on Spark without Spark: micro-batches of a stream, or of its parts, over a log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from graphtide_preprocess.application.committing import MicroBatchWriter
from graphtide_preprocess.application.micro_batch import Arrived, OrderingTask, StreamOrder
from graphtide_preprocess.application.offsets import Found, Offsets, Pace, following
from graphtide_preprocess.domain.blocks import BlockReader
from graphtide_preprocess.domain.registered import last_statement, ordered_names, statement_of

from graphtide_testing.sequenced import records_of

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log
    from graphtide_ordering.division import Division

IDLE = 5.0
"""Seconds after which a silent source is not waited for."""


@dataclass
class InMemory:
    """A `KeptBlocks`."""

    blocks: dict[int, bytes] = field(default_factory=dict)

    def get(self, number: int) -> bytes:
        """Return a block."""
        return self.blocks[number]

    def put(self, number: int, block: bytes) -> None:
        """Keep a block."""
        self.blocks[number] = block

    def remove(self, number: int) -> None:
        """Keep it no longer."""
        del self.blocks[number]


@dataclass
class KeptInMemory:
    """A `Kept`."""

    waiting: InMemory = field(default_factory=InMemory)
    sent: InMemory = field(default_factory=InMemory)
    values: dict[str, bytes] = field(default_factory=dict)

    def head(self) -> bytes | None:
        """Return the head."""
        return self.values.get("head")

    def keep_head(self, head: bytes) -> None:
        """Keep a head."""
        self.values["head"] = head

    def published(self) -> bytes | None:
        """Return the statistics that were published last."""
        return self.values.get("published")

    def keep_published(self, record: bytes) -> None:
        """Keep statistics."""
        self.values["published"] = record


@dataclass
class Job:
    """The job over a log: batches that each take a while; `forgets` gives every batch to a new process.

    With a division the stream is put in order in parts; then other tasks decode its records.
    """

    decodes_apart: ClassVar[bool] = True
    log: Log
    task: OrderingTask
    forgets: bool = False
    records_in_a_batch: int = 10
    milliseconds_of_a_batch: int = 10
    kept: dict[StreamName, KeptInMemory] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=lambda: Offsets({}))
    now: int = 1000
    reads: tuple[str, ...] = ()
    division: Division | None = None

    def __post_init__(self) -> None:
        """Start with nothing in memory."""
        self.names = ordered_names(self.task.stream, self.division)
        self._forget()

    @property
    def order(self) -> StreamOrder:
        """The order of the stream, or of its first part."""
        return self._orders[self.names[0]]

    def micro_batch(self, arrived: Arrived) -> None:
        """Take a micro-batch, and commit it."""
        if self.forgets:
            self._forget()
        for part, name in enumerate(self.names):
            blocks = [block for block in arrived.blocks if block.part == part]
            given = self._orders[name].micro_batch(self.kept.setdefault(name, KeptInMemory()), replace(arrived, blocks=blocks))
            if given is not None:
                self._writers[name].commit(*given)

    def run(self) -> None:
        """Do all there is, and once more after all have been silent for long enough."""
        self.read()
        self.now += int((IDLE + 1) * 1000)
        self.read()

    def read(self) -> None:
        """Take batches until there is nothing to do."""
        topics, stream = self.task.topics, self.task.stream
        pace = Pace(self.records_in_a_batch, 2**40, int(IDLE * 1000))
        patterns = [((record.key or b"").decode(), record.value) for record in records_of(self.log, topics.patterns)]
        statements = records_of(self.log, topics.statements)
        raw = records_of(self.log, topics.raw(stream))
        records = {
            str(number): [each for each in raw if each.partition == number] for number in {each.partition for each in raw}
        }
        ends = {number: len(each) for number, each in records.items()}
        while True:
            start = self.offsets
            stop = following(start, Found(ends, len(patterns), self.now, len(statements)), self.now, pace, {})
            if stop == start:
                return
            given = [each[start.raw.get(number, 0) : stop.raw[number]] for number, each in records.items()]
            statement = statement_of(last_statement(statements[: stop.statements], stream))
            changes = patterns[start.patterns : stop.patterns]
            arrived = Arrived(stop.at, stop.as_of if stop.is_complete else None, (), changes, statement)
            if self.decodes_apart or self.division is not None:
                readers = [(each, BlockReader(None, lambda: self.reads, statement, self.division)) for each in given]
                self.micro_batch(replace(arrived, blocks=[block for each, reader in readers for block in reader.blocks(each)]))
            else:
                self.micro_batch(replace(arrived, records={each[0].partition: iter(each) for each in given if each}))
            self.offsets = stop
            self.now += self.milliseconds_of_a_batch

    def _forget(self) -> None:
        topics, source = self.task.topics, self.task.source.name
        self._orders = {name: StreamOrder(replace(self.task, stream=name)) for name in self.names}
        self._writers = {name: MicroBatchWriter(self.log, topics, name, source) for name in self.names}
