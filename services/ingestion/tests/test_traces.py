"""Edges of traced requests are known again in the ordered stream, however they were put in order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.memory import MemoryLog
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.traces import MOST_RECORDS
from graphtide_testing.clock import ManualClock
from graphtide_testing.telemetry import spans_in_memory
from graphtide_wire import headers, ordered, ordered_body
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_core.ports.log import Record

TOPICS = Topics("test")
FLOWS = StreamName("flows")
FIRST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
AGAIN = "00-0af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
SECOND = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = "00-1cf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


def trace_of(traceparent: str) -> str:
    return traceparent.split("-")[1]


@dataclass
class Stage:
    """A stream of one partition with its sequencer."""

    lateness: int = 0
    log: MemoryLog = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=1)])
        self.writer, self.reader = self.log.writer(), self.log.reader(None)
        self.reader.assign(dict.fromkeys(self.reader.partitions(TOPICS.ordered(FLOWS)), 0))
        self.open()

    def open(self) -> None:
        """Put a new sequencer in the place of the one that was."""
        options = Sequencing(ordering=Ordering(self.lateness), linger_seconds=0.0, poll_seconds=0.0)
        self.worker = SequencingWorker(self.log, TOPICS, FLOWS, self.clock, options)
        self.worker.open()

    def write(self, *times: int, trace: str | None = None) -> None:
        """Write edges as one raw record; the id of each is its time."""
        lines = (json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "id": str(ts)}) for ts in times)
        carried = () if trace is None else ((headers.TRACEPARENT, trace.encode()),)
        self.writer.write([Message(TOPICS.raw(FLOWS), None, "\n".join(lines).encode(), carried, partition=0)])

    def ordered(self) -> list[Record]:
        """Let the sequencer do a round; return the ordered records that came."""
        self.worker.step()
        return self.reader.poll(0.0, 100)

    def traced(self) -> dict[str, str]:
        """Return the traces of the edges that came, of those that are in one."""
        found: dict[str, str] = {}
        for record in self.ordered():
            ids = ordered_body.decode(record.value or b"")["id"].to_pylist()
            for run in ordered.header(record.headers).traces:
                found |= dict.fromkeys(ids[run.first : run.first + run.rows], trace_of(run.traceparent))
        return found


def test_edges_of_several_requests_keep_their_traces_where_their_order_mixes_them() -> None:
    stage = Stage(lateness=10)
    stage.write(1, 4, 5, trace=FIRST)
    stage.write(2, 3, 9)
    stage.write(6, 7, 8, trace=SECOND)
    stage.write(100)
    assert stage.traced() == {**dict.fromkeys("145", trace_of(FIRST)), **dict.fromkeys("678", trace_of(SECOND))}


def test_a_transaction_is_one_span_in_one_trace_with_links_to_all() -> None:
    with spans_in_memory() as spans:
        stage = Stage()
        stage.write(1, trace=SECOND)
        stage.write(2, trace=FIRST)
        stage.write(3, trace=AGAIN)
        stage.write(4, trace=UNSAMPLED)
        (record,) = stage.ordered()
        (span,) = spans.ended()
    assert (span.name, span.traceparent[3:35], span.parent_id) == ("sequence test.in.flows.v1", AGAIN[3:35], AGAIN[36:52])
    assert span.links == tuple(each[36:52] for each in (SECOND, FIRST, AGAIN))
    runs = [(run.first, run.rows, run.traceparent) for run in ordered.header(record.headers).traces]
    assert runs == [(0, 1, SECOND), (1, 2, span.traceparent)]
    assert headers.text(headers.by_name(record.headers), headers.TRACEPARENT) == span.traceparent
    assert (span.attributes["graphtide.edges"], span.attributes["messaging.batch.message_count"]) == (4, 4)


def test_without_a_traced_edge_nothing_is_said_and_no_span_is_made() -> None:
    with spans_in_memory() as spans:
        stage = Stage()
        stage.write(1)
        stage.write(2, trace=UNSAMPLED)
        stage.write(3, trace="damaged-01")
        (record,) = stage.ordered()
        assert spans.ended() == []
    assert {ordered.TRACES, headers.TRACEPARENT}.isdisjoint(name for name, _ in record.headers)


def test_an_edge_that_waits_keeps_its_trace_also_after_a_crash() -> None:
    stage = Stage(lateness=10)
    stage.write(1, 20, trace=FIRST)
    assert stage.traced() == {"1": trace_of(FIRST)}
    stage.worker.close()
    stage.open()
    stage.write(40)
    assert stage.traced() == {"20": trace_of(FIRST)}


def test_traced_records_past_the_bound_are_in_no_trace_and_those_that_have_gone_make_room() -> None:
    stage = Stage(lateness=10)
    for number in range(MOST_RECORDS):
        stage.write(number, trace=FIRST)
    stage.write(MOST_RECORDS, trace=SECOND)
    stage.write(1000)
    assert stage.traced() == dict.fromkeys(map(str, range(MOST_RECORDS)), trace_of(FIRST))
    stage.write(1001, trace=SECOND)
    stage.write(2000)
    assert stage.traced() == {"1001": trace_of(SECOND)}


def test_neighbours_of_one_trace_are_one_run() -> None:
    stage = Stage()
    for number, trace in enumerate((FIRST, AGAIN, SECOND, FIRST)):
        stage.write(2 * number, 2 * number + 1, trace=trace)
    (record,) = stage.ordered()
    assert [(run.first, run.rows) for run in ordered.header(record.headers).traces] == [(0, 4), (4, 2), (6, 2)]
