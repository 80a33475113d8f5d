"""How many edges a second the Spark job puts in order on this machine, and how long a batch takes.

`python shared/bench/services/preprocess.py BOOTSTRAP` fills topics of a Kafka and lets the job read them to their end in
`local[2]`. Rates are those of full batches but the first of a query, which loads processes and classes. Every number is
the median of some runs, with the least and the greatest; results are checked. Log, job and Java share the machine.

`--parts 1 2 4` measures the stream in so many parts instead, beside the stream as a whole and the built-in sequencer. The
sequencer's processor time is that of its process, and its rate is that of one core which does nothing else.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Row, Script
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_preprocess.adapters.query import ordering_query
from graphtide_preprocess.adapters.raw_source import Reading
from graphtide_preprocess.adapters.session import session
from graphtide_preprocess.application.divided import make_parts, read_division
from graphtide_preprocess.application.micro_batch import OrderingTask
from graphtide_preprocess.application.offsets import Pace
from graphtide_preprocess.domain.registered import ordered_names
from graphtide_query import parse_streams
from graphtide_serving.clock import SystemClock
from graphtide_testing.flow_lines import flow_lines
from graphtide_wire import ordered, raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

FLOWS = StreamName("flows")
BATCHES_OF_LATENCY = 30
_LOOK_SECONDS = 1
EDGES_OF_A_BATCH = {4_000: 400_000, 1: 400_000}
"""By edges of a record: the batch that the job's own bounds give."""


class Bench:
    """Topics, and the job over them."""

    def __init__(self, bootstrap: str, spark: SparkSession, folder: Path) -> None:
        """Use this Kafka and this session."""
        self.connection = KafkaConnection(bootstrap)
        self.log = KafkaLog(self.connection)
        self.spark = spark
        self.folder = folder

    def filled(self, edges: int, edges_in_a_record: int, partitions: int, parts: int = 0) -> Topics:
        """Return topics with so many edges, in order over all partitions; a statement divides them into parts, if any."""
        topics = Topics(f"bench-{uuid.uuid4().hex[:8]}")
        self.log.admin().ensure([*topics.of_deployment(), *topics.of_stream(FLOWS, partitions=partitions)])
        writer = self.log.writer()
        if parts:
            text = f"STREAM flows PARTITION BY src PARTS {parts}"
            record = encode_statement(StatementRecord.of(text, parse_streams(text)[0], 1, datetime.now(UTC)))
            keys = statement_key(FLOWS), version_key(FLOWS, 1)
            writer.write([Message(topics.statements, key, record) for key in keys])
        for number, first in enumerate(range(0, edges, edges_in_a_record)):
            message = raw.encode(topics.raw(FLOWS), RawEdges(flow_lines(first, min(edges_in_a_record, edges - first))))
            writer.write([message._replace(partition=number % partitions)])
        writer.flush(120)
        return topics

    def run(self, topics: Topics, records: int, tasks: int = 0) -> tuple[list[float], float]:
        """Read to the end; return the seconds of each batch, and those of the processor after the first one."""
        pace = Pace(records, 256 * 1024 * 1024, 5_000)
        checkpoint = str(self.folder / topics.prefix)
        task, division = OrderingTask(topics, FLOWS), read_division(self.log, topics, FLOWS)
        if division is not None:
            make_parts(self.log, topics, division, None)
        reading = Reading(self.connection, topics, FLOWS, task.source, pace, tasks, division)
        query = ordering_query(self.spark, reading, task, checkpoint).trigger(availableNow=True).start()
        while query.lastProgress is None and not query.awaitTermination(_LOOK_SECONDS):
            pass
        before = processor_seconds()
        query.awaitTermination()
        taken = processor_seconds() - before
        progress = [each for each in query.recentProgress if "addBatch" in each.durationMs]
        return [each.durationMs["triggerExecution"] / 1000 for each in progress], taken

    def ordered(self, topics: Topics) -> int:
        """Return how many edges are in the ordered stream, or in its parts."""
        reader = self.log.reader(None)
        names = ordered_names(FLOWS, read_division(self.log, topics, FLOWS))
        reader.assign({TopicPartition(topics.ordered(name), 0): 0 for name in names})
        found = 0
        while not reader.at_end():
            found += sum(ordered.header(record.headers).records for record in reader.poll(1.0, 1000))
        reader.close()
        return found


def processor_seconds() -> float:
    """Return the processor's seconds that Java and its Python processes took so far; the log's are not among them."""
    parents, seconds = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = entry.read_text().rpartition(")")[2].split()
            parents[int(entry.parent.name)] = int(fields[1])
            seconds[int(entry.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    java = {pid for pid, parent in parents.items() if parent == os.getpid() and _is_spark(pid)}
    ours = set(java)
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(seconds[pid] for pid in ours)


def _is_spark(pid: int) -> bool:
    return b"pyspark-shell" in Path(f"/proc/{pid}/cmdline").read_bytes()


def throughput(
    bench: Bench, edges: int, edges_in_a_record: int, partitions: int, *, tasks: int = 0, parts: int = 0
) -> tuple[float, float]:
    """Return edges a second of the full batches after the first, and microseconds of the processor an edge after that."""
    topics = bench.filled(edges, edges_in_a_record, partitions, parts)
    records = EDGES_OF_A_BATCH[edges_in_a_record] // edges_in_a_record
    batches, taken = bench.run(topics, records, tasks)
    full = edges // edges_in_a_record // records
    waiting = 0 if partitions == 1 else edges_in_a_record * (partitions - 1)
    if not edges - waiting <= (found := bench.ordered(topics)) <= edges:
        raise SystemExit(f"{found} of {edges} edges are in order")  # noqa: EM102 - the end of a script
    return records * edges_in_a_record * (full - 1) / sum(batches[1:full]), taken / (edges - records * edges_in_a_record) * 1e6


def sequencer(bench: Bench, edges: int) -> tuple[float, float]:
    """Return edges a second of a core of the built-in sequencer, and microseconds of the processor an edge."""
    topics = bench.filled(edges, 4_000, 1)
    worker = SequencingWorker(bench.log, topics, FLOWS, SystemClock(), Sequencing())
    before = time.process_time()
    worker.open()
    while worker.sequencer.ordered < edges - 1:
        worker.step()
    worker.close()
    taken = (time.process_time() - before) / edges
    return 1 / taken, taken * 1e6


def latency(bench: Bench) -> list[float]:
    """Return the seconds of small batches, the first ones left out."""
    topics = bench.filled(100 * (BATCHES_OF_LATENCY + 5), 10, 1)
    batches, _ = bench.run(topics, 10)
    return sorted(batches[5:])


def row(what: str, found: list[tuple[float, float]]) -> Row:
    """Return rates, and the median of the processor time."""
    rates, times = zip(*found, strict=True)
    return {"case": what, "edges/s": Spread.of(rates).rounded(0), "us an edge": round(Spread.of(times).median, 1)}


def main() -> None:
    """Measure all."""
    script = Script(__file__, __doc__)
    script.option("bootstrap", help="address of a Kafka")
    script.option("--repeats", type=int, default=5)
    script.option("--edges", type=int, default=4_000_000, help="of a run, half of that in records of one edge")
    script.option("--parts", type=int, nargs="*", default=(), help="numbers of parts")
    asked = script.arguments()
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        spark = session(
            "local[2]", {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.local.dir": folder}
        )
        spark.sparkContext.setLogLevel("ERROR")
        bench = Bench(asked.bootstrap, spark, Path(folder))
        throughput(bench, 800_000, 4_000, 2)
        for found in in_parts(bench, asked.edges, asked.repeats, asked.parts) if asked.parts else as_a_whole(bench, asked):
            script.add(found)
        spark.stop()
    script.hand_out()


def in_parts(bench: Bench, edges: int, repeats: int, numbers: Sequence[int]) -> Iterator[Row]:
    """Measure a stream as a whole, in so many parts, and in the built-in sequencer; the cases take turns."""
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(repeats):
        for parts in (0, *numbers):
            what = f"{parts} parts" if parts else "the stream as a whole"
            found.setdefault(what, []).append(throughput(bench, edges, 4_000, 2, parts=parts))
        found.setdefault("the built-in sequencer", []).append(sequencer(bench, edges // 4))
    yield from (row(what, each) for what, each in found.items())


def as_a_whole(bench: Bench, asked: Namespace) -> Iterator[Row]:
    """Measure a stream as a whole: how it is read, and small batches."""
    for size, partitions, tasks in ((4_000, 2, 0), (4_000, 1, 0), (4_000, 2, 2), (1, 2, 0)):
        edges = asked.edges if size > 1 else asked.edges // 2
        what = f"records of {size} edges, {partitions} partitions, {tasks} tasks to read"
        yield row(what, [throughput(bench, edges, size, partitions, tasks=tasks) for _ in range(asked.repeats)])
    found = latency(bench)
    p95 = round(found[int(len(found) * 0.95)], 2)
    yield {"case": "a batch of 100 edges", "seconds": round(Spread.of(found).median, 2), "p95 seconds": p95}


if __name__ == "__main__":
    main()
