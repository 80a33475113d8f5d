"""A stream, the sequencer that puts it in order, and what tests do to both."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphtide_core.errors import TransientError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.memory import MemoryLog
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.statements import StatementSurroundings
from graphtide_query import parse_streams
from graphtide_wire import dead_letters, ordered, ordered_body, raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics
from hypothesis import strategies as st

from graphtide_testing.clock import ManualClock
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.registrations import registering, registration

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log, Record
    from graphtide_ordering.raw_decoding import Ahead
    from graphtide_wire.dead_letters import DeadLetterRecord

TOPICS = Topics("test")
FLOWS = StreamName("flows")
IDLE = 5.0
LEARNS_WITHIN = 1.5
"""Seconds within which a sequencer looks for changes of patterns and statements."""
MOST_ATTEMPTS = 5
"""How often a sequencer may find that it cannot open, before it does."""
COLUMNS = {"ts", "src", "dst", "label", "src_label", "dst_label", "id", "op", ordered_body.MADE}


def edge(ts: int, id: str | None = None, **more: object) -> dict[str, object]:
    """Return an edge from a to b."""
    given = {} if id is None else {"id": id}
    return {"ts": ts, "src": "a", "dst": "b", "label": "x", **given, **more}


def lines(*edges: dict[str, object] | str) -> bytes:
    """Return edges, or lines as they are, one a line."""
    return b"".join((each if isinstance(each, str) else json.dumps(each)).encode() + b"\n" for each in edges)


@dataclass
class SequencingStage:
    """A log with one stream, and its sequencer, which can be killed."""

    lateness: int = 0
    partitions: int = 1
    most_pending: int = 1000
    most_edges: int = 100
    linger: float = 0.0
    most_records: int = 2
    ahead: Ahead | None = None
    surroundings: StatementSurroundings = field(default_factory=StatementSurroundings)
    log: Log = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)
    fuse: Fuse = field(default_factory=Fuse)

    def __post_init__(self) -> None:
        """Make the topics, and a sequencer that is not open yet."""
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=self.partitions)])
        self.writer = self.log.writer()
        self.worker = self.new_worker()
        self.is_open = False

    def new_worker(self) -> SequencingWorker:
        """Return a sequencer of the stream; its calls to the log burn the fuse."""
        ordering = Ordering(self.lateness, IDLE, self.most_pending, self.ahead)
        options = Sequencing(
            ordering=ordering,
            linger_seconds=self.linger,
            most_edges=self.most_edges,
            most_records=self.most_records,
            poll_seconds=0.0,
            surroundings=self.surroundings,
        )
        mortal: Any = Mortal(self.log, self.fuse)
        return SequencingWorker(mortal, TOPICS, FLOWS, self.clock, options)

    def send(self, value: bytes, partition: int = 0, producer: str | None = None, line: int | None = None) -> None:
        """Write a record of edges."""
        edges = RawEdges(value, producer=producer, line=line)
        self.write(raw.encode(TOPICS.raw(FLOWS), edges)._replace(partition=partition))

    def write(self, message: Message) -> None:
        """Write a message to the log."""
        self.writer.write([message])
        self.writer.flush(5)

    def register(self, name: str, window: str, stream: str = "flows") -> None:
        """Register a pattern of one edge."""
        text = f"PATTERN {name} MATCH (v)-[e:x]->(w) ON {stream} WINDOW {window}"
        self.write(registering(TOPICS, registration(text, self.clock.now())))

    def state(self, text: str, version: int) -> None:
        """Register a version of the stream's statement, and let a sequencer that runs learn of it."""
        (definition,) = parse_streams(text)
        self._register(StatementRecord.of(text, definition, version, self.clock.now()))

    def unstate(self, version: int) -> None:
        """Register that the stream has no statement any more, as `state` does."""
        self._register(StatementRecord.removed(FLOWS, version, self.clock.now()))

    def _register(self, record: StatementRecord) -> None:
        value, version = encode_statement(record), record.version
        for key in (statement_key(FLOWS), version_key(FLOWS, version)):
            self.write(Message(TOPICS.statements, key, value))
        self.clock.sleep(LEARNS_WITHIN)
        if self.is_open:
            self.run(1)

    def run(self, rounds: int = 12) -> SequencingStage:
        """Do rounds; a killed sequencer is replaced by another; one that cannot open tries again, some times."""
        left, attempts = rounds, 0
        while left:
            try:
                if not self.is_open:
                    self.worker.open()
                    self.is_open = True
                self.worker.step()
                left -= 1
            except KilledError:
                self.restart()
                left = rounds
            except TransientError:
                attempts += 1
                if self.is_open or attempts > MOST_ATTEMPTS:
                    raise
                self.worker.close()
        return self

    def restart(self) -> None:
        """Put another sequencer in the place of this one."""
        self.worker, self.is_open = self.new_worker(), False

    def fall_silent(self) -> SequencingStage:
        """Let everything be read, and then nothing come; twice, since a sequencer that is killed meanwhile waits anew."""
        for _ in range(2):
            self.run()
            self.clock.sleep(IDLE + 1)
        return self.run()

    def read(self, topic: str) -> list[Record]:
        """Return all records of a topic."""
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        found = reader.poll(0.0, 100_000)
        reader.close()
        return found

    def ordered(self) -> list[dict[str, Any]]:
        """Edges as they went out, with all attributes and their epochs; their places and watermarks are checked."""
        edges: list[dict[str, Any]] = []
        begun, passed = 0, MIN_EVENT_TIME
        for record in self.read(TOPICS.ordered(FLOWS)):
            header = ordered.header(record.headers)
            table = ordered_body.decode(record.value or b"")
            decoder = ArrowDecoder(Symbols(), [name for name in table.column_names if name not in COLUMNS], {})
            decoder.start_at(header.ordinal)
            found = decoder.decode(record.value or b"").to_records()
            assert (header.ordinal, header.records) == (len(edges), len(found))
            assert header.number == sum(each["op"] == "insert" for each in edges)
            if not found and header.epoch == begun:
                assert edges[-1]["epoch"] == begun
                assert (header.first_ts, header.last_ts) == (edges[-1]["ts"], edges[-1]["ts"])
                assert header.watermark > passed, "a heartbeat raises the watermark"
                passed = header.watermark
                continue
            if not found:
                assert header.epoch == begun + 1, "it begins an epoch"
                begun, passed = begun + 1, MIN_EVENT_TIME
                continue
            assert (header.first_ts, header.last_ts) == (found[0]["ts"], found[-1]["ts"])
            assert passed <= header.first_ts <= header.last_ts <= header.watermark
            assert header.epoch == begun
            passed = header.last_ts
            edges += [each | {"epoch": header.epoch} for each in found]
        times = [(each["epoch"], each["ts"]) for each in edges]
        assert times == sorted(times)
        return edges

    def ids(self) -> list[str]:
        """Return the ids of the edges that went out, in their order."""
        return [each["id"] for each in self.ordered()]

    def letters(self) -> list[DeadLetterRecord]:
        """Return the dead letters."""
        return [dead_letters.decode(record) for record in self.read(TOPICS.dead_letters(FLOWS))]


def outcome(stage: SequencingStage) -> object:
    """What an uninterrupted run and one with crashes must have in common."""
    letters = [(each.code, each.raw, each.source.offset, each.source.line) for each in stage.letters()]
    return [(each["epoch"], each["ts"], each["id"]) for each in stage.ordered()], letters


SOME_EDGES = st.lists(
    st.one_of(
        st.builds(edge, st.integers(0, 12), st.one_of(st.none(), st.sampled_from("abcde"))),
        st.just("bad"),
    ),
    max_size=4,
)


def attributes(stage: SequencingStage, name: str) -> dict[str, object]:
    """An attribute of the edges that went out and have it, by their ids."""
    found = {each["id"]: each["attributes"].get(name) for each in stage.ordered()}
    return {id: value for id, value in found.items() if value is not None}
