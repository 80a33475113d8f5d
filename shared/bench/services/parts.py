"""What an edge costs in a stream of 1 to 16 parts, by stage, and how many edges a second some processes put through.

`python shared/bench/services/parts.py [BOOTSTRAP|memory] [--parts 1 2 4 8 16] [--processes 1 2 4]` measures in memory, or over
the Kafka at that address. The stages are the division of raw records, the order of each part, and a local pattern in each part.
Without parts, a sequencer reads the raw records and one matcher the stream. Each stage runs alone, one part after the other,
in one thread: its processor time is that of all parts together. With Kafka, processes then share the order of the parts. There
the time counts that passes from when all are open. Matches are counted, and must be as many in each case.
"""

from __future__ import annotations

import multiprocessing
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import structlog
from graphtide_bench.frame.script import Row, Script
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import parts_of
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import TimeUnit
from graphtide_ingestion.application.dividing_worker import DividingWorker
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.memory import MemoryLog
from graphtide_native.matcher import Matcher
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_ordering.progress_reports import dividers_of
from graphtide_ordering.statements import Statement
from graphtide_query import parse, parse_streams
from graphtide_query.planner import plan
from graphtide_serving.clock import SystemClock
from graphtide_testing.flow_lines import flow_lines
from graphtide_testing.registrations import registering, registration
from graphtide_wire import ordered, raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.synchronize import Barrier

    from graphtide_core.ports.log import Log
    from graphtide_ordering.division import Division
    from graphtide_serving.loop import Worker

EDGES = 400_000
RECORD = 4_000
FLOWS = StreamName("flows")
PATTERN = "PATTERN p MATCH (a)-[x:tcp]->(b), (a)-[y:tcp]->(c) ORDER x < y ON flows WINDOW 100000"


class Stages(NamedTuple):
    """Microseconds of the processor an edge, and matches."""

    divide: float
    order: float
    match: float
    matches: int


def fill(log: Log, parts: int) -> tuple[Topics, Division | None]:
    """Write raw records, a pattern, and with parts a statement; return the topics, and how the stream is divided."""
    topics = Topics(f"bench-{uuid.uuid4().hex[:8]}")
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(FLOWS, partitions=1)])
    writer, division = log.writer(), None
    writer.write([registering(topics, registration(PATTERN, datetime.now(UTC)))])
    if parts:
        text = f"STREAM flows PARTITION BY src PARTS {parts}"
        (definition,) = parse_streams(text)
        record = StatementRecord.of(text, definition, 1, datetime.now(UTC))
        division = Statement(record).division
        keys = (statement_key(FLOWS), version_key(FLOWS, 1))
        writer.write([Message(topics.statements, key, encode_statement(record)) for key in keys])
    for first in range(0, EDGES, RECORD):
        writer.write([raw.encode(topics.raw(FLOWS), RawEdges(flow_lines(first, RECORD)))._replace(partition=0)])
    writer.flush(60)
    writer.close()
    return topics, division


def read_to_the_end(worker: Worker, log: Log, place: TopicPartition, group: str | None = None) -> float:
    """Run a worker until it has committed all of a raw partition; return the seconds of the processor that it took.

    It commits for a group, or for that of its name.
    """
    last = last_record(log, place)
    begun = time.process_time()
    worker.open()
    step_past(worker, log, place, last, group)
    return time.process_time() - begun


def last_record(log: Log, place: TopicPartition) -> int:
    """Return the offset of the last record in a partition; -1 without any."""
    with closing(log.reader(None)) as reader:
        reader.assign({place: 0})
        last = -1
        while not reader.at_end():
            last = max([last, *(record.offset for record in reader.poll(0.2, 1000))])
    return last


def step_past(worker: Worker, log: Log, place: TopicPartition, last: int, group: str | None = None) -> None:
    """Let an open worker commit all records up to one, and close it."""
    with closing(log.reader(group or worker.name)) as reader:
        while True:
            worker.step()
            position = reader.committed([place])[place]
            if position is not None and position.offset > last:
                break
    worker.close()


def match(log: Log, topics: Topics, stream: StreamName) -> tuple[float, int]:
    """Return the seconds of the processor that a pattern takes on an ordered stream, and its matches."""
    (pattern,) = parse(PATTERN)
    place = TopicPartition(topics.ordered(stream), 0)
    reader = log.reader(None)
    end = reader.ends([place])[place][1]
    reader.assign({place: 0})
    begun, found = time.process_time(), 0
    symbols, projected = Symbols(), columns([pattern])
    matcher = Matcher([plan(pattern, "timing")], symbols, projected, unit=TimeUnit.MILLISECOND)
    decoder = ArrowDecoder(symbols, projected, {})
    read = 0
    while read < end:
        records = reader.poll(0.2, 100)
        if not records:
            break
        for record in records:
            read = record.offset + 1
            if ordered.header(record.headers).records:
                found += sum(len(each) for each in matcher.push(decoder.decode(record.value or b"")))
    reader.close()
    return time.process_time() - begun, found


def measure(log: Log, parts: int) -> Stages:
    """Return what the stages of a stream in so many parts take; 0 is an undivided stream."""
    topics, division = fill(log, parts)
    clock, options = SystemClock(), Sequencing()
    divide = 0.0
    streams: Sequence[StreamName] = (FLOWS,)
    if division is not None:
        streams = parts_of(FLOWS, parts)
        worker = DividingWorker(log, topics, division, clock, options, partition=0)
        divide = read_to_the_end(worker, log, TopicPartition(topics.raw(FLOWS), 0), dividers_of(topics, FLOWS))
    order = sum(order_part(log, topics, stream) for stream in streams)
    matched = [match(log, topics, stream) for stream in streams]
    scale = 1e6 / EDGES
    return Stages(divide * scale, order * scale, sum(each for each, _ in matched) * scale, sum(each for _, each in matched))


def order_part(log: Log, topics: Topics, stream: StreamName) -> float:
    """Put a part in order; return the seconds of the processor that it took."""
    worker = SequencingWorker(log, topics, stream, SystemClock(), Sequencing())
    return read_to_the_end(worker, log, TopicPartition(topics.raw(stream), 0))


def order_parts(kafka: str, topics: Topics, streams: Sequence[StreamName], begin: Barrier) -> None:
    """Put some parts in order side by side, from when all processes are ready: the work of one process."""
    log = KafkaLog(KafkaConnection(kafka))
    workers = [SequencingWorker(log, topics, stream, SystemClock(), Sequencing()) for stream in streams]
    places = [TopicPartition(topics.raw(stream), 0) for stream in streams]
    lasts = [last_record(log, place) for place in places]
    with ThreadPoolExecutor(len(workers)) as threads:
        for opening in [threads.submit(worker.open) for worker in workers]:
            opening.result()
        begin.wait()
        each_part = zip(workers, places, lasts, strict=True)
        done = [threads.submit(step_past, worker, log, place, last) for worker, place, last in each_part]
        for each in done:
            each.result()


def through_processes(kafka: str, parts: int, processes: int) -> float:
    """Return the edges a second that processes put in order, which share the parts of a divided stream."""
    log = KafkaLog(KafkaConnection(kafka))
    topics, division = fill(log, parts)
    if division is None:
        message = "a stream without parts is not shared"
        raise ValueError(message)
    worker = DividingWorker(log, topics, division, SystemClock(), Sequencing(), partition=0)
    read_to_the_end(worker, log, TopicPartition(topics.raw(FLOWS), 0), dividers_of(topics, FLOWS))
    streams = parts_of(FLOWS, parts)
    context = multiprocessing.get_context("spawn")
    begin = context.Barrier(processes + 1)
    own = [context.Process(target=order_parts, args=(kafka, topics, streams[n::processes], begin)) for n in range(processes)]
    for each in own:
        each.start()
    begin.wait()
    begun = time.perf_counter()
    for each in own:
        each.join()
    if any(each.exitcode for each in own):
        raise SystemExit(1)
    return EDGES / (time.perf_counter() - begun)


def main() -> None:
    """Measure all."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    script = Script(__file__, __doc__)
    script.option("log", nargs="?", default="memory", help="address of a Kafka, or memory")
    script.option("--parts", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    script.option("--processes", type=int, nargs="+", default=[1, 2, 4])
    asked = script.arguments()
    counts: set[int] = set()
    for parts in (0, *asked.parts):
        log: Log = MemoryLog() if asked.log == "memory" else KafkaLog(KafkaConnection(asked.log))
        found = measure(log, parts)
        counts.add(found.matches)
        whole = found.divide + found.order + found.match
        row: Row = {"case": f"{parts or 'no'} parts", "divide us": round(found.divide, 2), "order us": round(found.order, 2)}
        script.add({**row, "match us": round(found.match, 2), "us an edge": round(whole, 2), "matches": found.matches})
    if len(counts) > 1:
        message = f"the parts have other matches than the whole: {sorted(counts)}"
        raise SystemExit(message)
    if asked.log != "memory":
        for processes in asked.processes:
            rate = through_processes(asked.log, max(asked.parts), processes)
            script.add({"case": f"{max(asked.parts)} parts, {processes} processes", "edges/s": round(rate)})
    script.hand_out()


if __name__ == "__main__":
    main()
