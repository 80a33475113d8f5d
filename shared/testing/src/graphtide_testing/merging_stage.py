"""A merger over a log in memory, with the streams that it merges, and what went out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import merge
from graphtide_core.ports.log import Message
from graphtide_core.time import MIN_EVENT_TIME, EventTime, TimeUnit
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_log.memory import MemoryLog
from graphtide_native.records import ArrowDecoder, JsonLinesDecoder, Symbols
from graphtide_wire import dead_letters, ordered, ordered_body
from graphtide_wire.ordered import OrderedHeader, TracedRows
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

from graphtide_testing.clock import ManualClock
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.registrations import registering, registration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.dead_letters import DeadLetterRecord

TOPICS = Topics("test")
HEARTBEAT = 1.0
FOREVER = str(2**62)
A, B, C = map(StreamName, ("a", "b", "c"))
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Out(NamedTuple):
    """An edge as it went out: epoch, time, stream, id."""

    epoch: int
    ts: int
    stream: str
    id: str


@dataclass
class Source:
    """Writes the ordered records of a stream, as its sequencer would."""

    log: Log
    name: StreamName
    epoch: int = 0
    ordinal: int = 0
    number: int = 0
    newest: int = MIN_EVENT_TIME
    sent: list[Out] = field(default_factory=list)

    def send(self, *times: int, watermark: int | None = None, traces: tuple[TracedRows, ...] = (), **more: object) -> None:
        """Send edges as one record; each has a number as its id."""
        first = self.ordinal
        edges = [
            {"ts": ts, "src": "v", "dst": "w", "label": "x", "id": f"{first + row}", **more} for row, ts in enumerate(times)
        ]
        decoder = JsonLinesDecoder(Symbols(), sorted(more), {})
        body = decoder.decode("".join(f"{dumps(edge)}\n" for edge in edges).encode()).to_arrow()
        self.sent += [Out(self.epoch, ts, self.name, f"{first + row}") for row, ts in enumerate(times)]
        self.newest = times[-1]
        self._write(len(times), times[0], times[-1] if watermark is None else watermark, body, traces)
        self.ordinal, self.number = self.ordinal + len(times), self.number + len(times)

    def beat(self, watermark: int) -> None:
        """Write a heartbeat: how far the stream is."""
        self._write(0, self.newest, watermark, ordered_body.encode_none())

    def reset(self) -> None:
        """Begin another epoch."""
        self.epoch, self.newest = self.epoch + 1, MIN_EVENT_TIME
        self._write(0, MIN_EVENT_TIME, MIN_EVENT_TIME, ordered_body.encode_none())

    def write(self, value: bytes | None, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
        """Write anything."""
        writer = self.log.writer()
        writer.write([Message(TOPICS.ordered(self.name), None, value, headers, partition=0)])
        writer.flush(5)
        writer.close()

    def _write(self, records: int, first: int, watermark: int, body: bytes, traces: tuple[TracedRows, ...] = ()) -> None:
        header = OrderedHeader(
            EventTime(first),
            EventTime(self.newest),
            records,
            self.ordinal,
            EventTime(watermark),
            TimeUnit.MILLISECOND,
            epoch=self.epoch,
            number=self.number,
            traces=traces,
            traceparent=TRACE if traces else None,
        )
        message = ordered.encode(TOPICS.ordered(self.name), header, body)
        self.write(message.value, message.headers)


def dumps(value: object) -> str:
    """Return a value as JSON."""
    return msgspec.json.encode(value).decode()


@dataclass
class MergingStage:
    """A log with streams, and who merges them, who can be killed."""

    names: tuple[StreamName, ...] = (A, B)
    most_edges: int = 100
    most_bytes: int = 1 << 20
    most_records: int = 3
    log: Any = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)
    fuse: Fuse = field(default_factory=Fuse)
    more_fuses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the topics, and what merges them."""
        self.stream = merge(self.names)
        self.log.admin().ensure(TOPICS.of_deployment())
        for name in self.names:
            self.log.admin().ensure(TOPICS.of_stream(name))
        self.sources = {name: Source(self.log, name) for name in self.names}
        self.register("all", FOREVER)
        self.restart()

    def register(self, name: str, lookback: str, **more: Any) -> None:
        """Register a pattern that reads all streams so far back."""
        reads = ReadsForm(tuple(self.names), LookbackForm(lookback), None, ())
        text = f"PATTERN {name} MATCH (v)-[e:x]->(w) ON {self.names[0]} WINDOW 1"
        writer = self.log.writer()
        writer.write([registering(TOPICS, registration(text, self.clock.now(), reads=reads, **more))])
        writer.flush(5)
        writer.close()

    def restart(self) -> None:
        """Begin anew with what was committed."""
        self.worker, self.is_open = self.new_worker(self.log), False

    def new_worker(self, log: Log) -> MergingWorker:
        """Return a merger over a log."""
        options = Merging(
            linger_seconds=0.0,
            heartbeat_seconds=HEARTBEAT,
            most_edges=self.most_edges,
            most_bytes=self.most_bytes,
            most_records=self.most_records,
            poll_seconds=0.0,
        )
        mortal: Any = Mortal(log, self.fuse)
        return MergingWorker(mortal, TOPICS, self.stream, self.clock, options)

    def run(self, rounds: int = 12) -> MergingStage:
        """Do rounds; another replaces a killed merger, with the next fuse. Time passes: positions are committed."""
        left = rounds
        while left:
            try:
                if not self.is_open:
                    self.worker.open()
                    self.is_open = True
                self.worker.step()
                self.clock.sleep(HEARTBEAT / 2)
                left -= 1
            except KilledError:
                self.restart()
                self.fuse.length = self.more_fuses.pop() if self.more_fuses else 0
                left = rounds
        return self

    def read(self, topic: str) -> list[Record]:
        """Return the records of a topic."""
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        found: list[Record] = reader.poll(0.0, 100_000)
        reader.close()
        return found

    def records(self) -> list[Record]:
        """Return the records of the merged stream."""
        return self.read(TOPICS.ordered(self.stream))

    def out(self, left_out: int = 0) -> list[Out]:
        """Edges as they went out; headers are checked. `left_out` of them had numbers, and were rejected."""
        found: list[Out] = []
        epoch, passed, edges = 0, MIN_EVENT_TIME, 0
        for record in self.records():
            header = ordered.header(record.headers)
            assert header.ordinal == len(found)
            assert edges <= (header.number or 0) <= edges + left_out
            decoder = ArrowDecoder(Symbols(), [], {})
            batch = decoder.decode(record.value or b"")
            assert len(batch) == header.records
            if not header.records and header.epoch > epoch:
                epoch, passed = header.epoch, MIN_EVENT_TIME
                continue
            assert header.epoch == epoch
            if not header.records:
                assert header.watermark > passed, "a heartbeat raises the watermark"
                assert header.last_ts == found[-1].ts
                passed = header.watermark
                continue
            assert passed <= header.first_ts <= header.last_ts <= header.watermark
            rows = batch.to_records()
            assert (header.first_ts, header.last_ts) == (rows[0]["ts"], rows[-1]["ts"])
            passed = header.last_ts
            found += [Out(epoch, each["ts"], each["stream"], each["id"]) for each in rows]
            edges += batch.edges
        return found

    def expected(self) -> list[Out]:
        """The oracle: a plain sort, which keeps the order of equals."""
        sent = [edge for source in self.sources.values() for edge in source.sent]
        return sorted(sent, key=lambda edge: (edge.epoch, edge.ts, edge.stream))

    def letters(self) -> list[DeadLetterRecord]:
        """Return the dead letters of the merged stream."""
        return [dead_letters.decode(record) for record in self.read(TOPICS.dead_letters(self.stream))]

    def end(self) -> MergingStage:
        """Let every stream write a heartbeat past all edges, in an epoch that all have reached."""
        last = max(source.epoch for source in self.sources.values())
        for source in self.sources.values():
            while source.epoch < last:
                source.reset()
            source.beat(10**6)
        return self.run()


def ids(edges: Sequence[Out]) -> list[str]:
    """Return the streams and ids of edges."""
    return [f"{edge.stream}{edge.id}" for edge in edges]


def decode(record: Record) -> list[dict[str, Any]]:
    """Return the edges of an ordered record."""
    return ArrowDecoder(Symbols(), [], {}).decode(record.value or b"").to_records()
