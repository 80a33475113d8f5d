"""How many edges a second the service takes over HTTP, how many its sequencer puts in order, and how many it merges.

`python shared/bench/services/ingestion.py [BOOTSTRAP|memory] [CASE...] [--repeats 5]` measures in memory, or over the Kafka at
that address. Every rate is the median of some runs, with the least and the greatest. Beside it is the processor time of the
service, without senders and broker. Results are checked. Sender and service share the machine. Cases are picked by their
beginnings.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import threading
import time
import uuid
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import structlog
import uvicorn
from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Row, Script
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import merge
from graphtide_core.ports.log import TopicPartition
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.memory import MemoryLog
from graphtide_serving.clock import SystemClock
from graphtide_serving.running import configuration
from graphtide_testing.flow_lines import flow_lines
from graphtide_testing.registrations import registering, registration
from graphtide_wire import ordered, raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.synchronize import Event

    from graphtide_core.ports.log import Log

SENDERS = 2
EDGES = 400_000
FLOWS = StreamName("flows")


class Taken(NamedTuple):
    """What all edges took: seconds that passed, and seconds of the processor in this process."""

    seconds: float
    processor: float


class Stopwatch:
    """Measures from when it is made."""

    def __init__(self) -> None:
        """Begin."""
        self._begun = time.perf_counter(), time.process_time()

    def taken(self) -> Taken:
        """Return what was taken since."""
        passed, processor = self._begun
        return Taken(time.perf_counter() - passed, time.process_time() - processor)


def send(port: int, bodies: list[bytes], start: Event) -> None:
    """Send the bodies one after the other over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    start.wait()
    for body in bodies:
        connection.request("POST", "/api/v1/streams/flows/edges", body, {"content-type": "application/x-ndjson"})
        answer = connection.getresponse()
        document = json.loads(answer.read())
        if answer.status != 202 or document["rejected"]:
            raise SystemExit(str(document))


def over_http(log: Log, edges_in_a_body: int, *, sequence: bool) -> Taken:
    """Return what it takes from the first request to the last answer, or to the last edge in order.

    Where the order counts there is one sender, so that no edge is late.
    """
    settings = Settings(
        prefix=f"bench-{uuid.uuid4().hex[:8]}",
        streams=("flows",),
        port=0,
        lateness=0,
        roles=frozenset({"http", "sequencer"} if sequence else {"http"}),
        insecure=True,
        requests_per_second=1e6,
        burst=1_000_000,
    )
    service = bootstrap(log, settings)
    server = uvicorn.Server(configuration(service.app))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    bodies = [flow_lines(first, edges_in_a_body) for first in range(0, EDGES, edges_in_a_body)]
    start = multiprocessing.Event()
    connections = 1 if sequence else SENDERS
    senders = [multiprocessing.Process(target=send, args=(port, bodies[n::connections], start)) for n in range(connections)]
    for sender in senders:
        sender.start()
    time.sleep(0.5)
    watch = Stopwatch()
    start.set()
    for sender in senders:
        sender.join()
    if any(sender.exitcode for sender in senders):
        raise SystemExit(1)
    if sequence:
        wait_for(log, Topics(settings.prefix))
    taken = watch.taken()
    server.should_exit = True
    thread.join()
    return taken


def wait_for(log: Log, topics: Topics) -> None:
    """Return when every edge is in order."""
    reader = log.reader(None)
    reader.assign({TopicPartition(topics.ordered(FLOWS), 0): 0})
    found = 0
    while found < EDGES:
        found += sum(ordered.header(record.headers).records for record in reader.poll(0.05, 100))
    reader.close()


def sequencing(log: Log, edges_in_a_record: int) -> Taken:
    """Return what one sequencer takes to put edges in order, its topic filled before."""
    topics = Topics(f"bench-{uuid.uuid4().hex[:8]}")
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(FLOWS, partitions=1)])
    writer = log.writer()
    for first in range(0, EDGES, edges_in_a_record):
        writer.write([raw.encode(topics.raw(FLOWS), RawEdges(flow_lines(first, edges_in_a_record)))])
    writer.flush(60)
    worker = SequencingWorker(log, topics, FLOWS, SystemClock(), Sequencing())
    watch = Stopwatch()
    worker.open()
    while worker.sequencer.ordered < EDGES:
        worker.step()
    taken = watch.taken()
    worker.close()
    return taken


def merging(log: Log, edges_in_a_record: int) -> Taken:
    """Return what it takes to merge two streams whose edges alternate, their ordered topics filled before."""
    topics = Topics(f"bench-{uuid.uuid4().hex[:8]}")
    streams = [StreamName("one"), StreamName("other")]
    log.admin().ensure([*topics.of_deployment(), *(spec for name in streams for spec in topics.of_stream(name, partitions=1))])
    writer = log.writer()
    for name in streams:
        for first in range(0, EDGES // 2, edges_in_a_record):
            writer.write([raw.encode(topics.raw(name), RawEdges(flow_lines(first, edges_in_a_record)))])
        writer.flush(60)
        sequencer = SequencingWorker(log, topics, name, SystemClock(), Sequencing())
        sequencer.open()
        while sequencer.sequencer.ordered < EDGES // 2:
            sequencer.step()
        sequencer.close()
    reads = ReadsForm(tuple(streams), LookbackForm(str(2**62)), None, ())
    text = "PATTERN p MATCH (v)-[e]->(w) ON one WINDOW 1"
    writer.write([registering(topics, registration(text, datetime.now(UTC), reads=reads))])
    writer.flush(60)
    worker = MergingWorker(log, topics, merge(streams), SystemClock(), Merging())
    watch = Stopwatch()
    worker.open()
    # Of the last time, the first stream may have more.
    while worker.merger.ordered < EDGES - 1:
        worker.step()
    taken = watch.taken()
    worker.close()
    return taken


def row(what: str, log: Callable[[], Log], measure: Callable[[Log], Taken], runs: int) -> Row:
    """Return rates and processor times of some runs, each over a log of its own."""
    found = [measure(log()) for _ in range(runs)]
    rates, times = ([EDGES / each.seconds for each in found], [each.processor / EDGES * 1e6 for each in found])
    return {"case": what, "edges/s": Spread.of(rates).rounded(0), "us an edge": Spread.of(times).rounded(2)}


def main() -> None:
    """Measure all."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))

    script = Script(__file__, __doc__)
    script.option("log", nargs="?", default="memory", help="address of a Kafka, or memory")
    script.option("cases", nargs="*", default=[""], help="beginnings of the cases to measure")
    script.option("--repeats", type=int, default=5)
    asked = script.arguments()

    def log() -> Log:
        return MemoryLog() if asked.log == "memory" else KafkaLog(KafkaConnection(asked.log))

    cases: dict[str, Callable[[Log], Taken]] = {}
    for size in (4000, 100, 1):
        cases[f"sequencer, raw records of {size} edges"] = partial(sequencing, edges_in_a_record=size)
    for size in (4000, 100):
        cases[f"merger, raw records of {size} edges"] = partial(merging, edges_in_a_record=size)
    for size in (1_000, 10_000):
        cases[f"HTTP, bodies of {size} edges"] = partial(over_http, edges_in_a_body=size, sequence=False)
        cases[f"HTTP to ordered, bodies of {size} edges"] = partial(over_http, edges_in_a_body=size, sequence=True)
    for what, measure in cases.items():
        if what.startswith(tuple(asked.cases)):
            script.add(row(what, log, measure, asked.repeats))
    script.hand_out()


if __name__ == "__main__":
    main()
