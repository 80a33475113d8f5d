"""On a real broker, edges of several streams are merged once each, in order, though who merges them crashes again and again."""

from __future__ import annotations

import random
import time
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.merged_streams import merge
from graphtide_core.time import EventTime
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_serving.clock import SystemClock
from graphtide_testing.contracts.log import PATIENCE
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.registrations import registering, registration
from graphtide_wire import ordered_body
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import LogReader, Message

A, B = StreamName("a"), StreamName("b")
END = 10**9
KILLS = 6


def edge(ts: int, id: str) -> Edge:
    return Edge(EdgeId(id), EventTime(ts), VertexId("v"), VertexId("w"), "x")


def out_of(reader: LogReader) -> Iterator[tuple[int, str, str]]:
    for record in reader.poll(0.2, 1000):
        table = ordered_body.decode(record.value or b"")
        if table.num_rows:
            columns = (table.column(name).to_pylist() for name in ("ts", ordered_body.STREAM, "id"))
            yield from zip(*columns, strict=True)


@pytest.mark.slow
def test_streams_are_merged_once_each_though_who_merges_them_crashes(kafka: str) -> None:
    topics, log, fuse = Topics(f"test-{uuid.uuid4().hex[:12]}"), KafkaLog(KafkaConnection(kafka)), Fuse()
    stream = merge([A, B])
    log.admin().ensure([*topics.of_deployment(), *(spec for name in (A, B) for spec in topics.of_stream(name))])
    seeded, writer = random.Random(7), log.writer()
    text = "PATTERN p MATCH (v)-[e:x]->(w) ON a WINDOW 1"
    reads = ReadsForm((A, B), LookbackForm("4000000000000000000"), None, ())
    writer.write([registering(topics, registration(text, datetime(2026, 1, 1, tzinfo=UTC), reads=reads))])
    messages: list[Message] = []
    expected: list[tuple[int, str, str]] = []
    for name in (A, B):
        times = [*sorted(seeded.randrange(1000) for _ in range(300)), END]
        messages += ordered_records(topics.ordered(name), [edge(ts, f"{name}{row}") for row, ts in enumerate(times)], 7)
        expected += [(ts, str(name), f"{name}{row}") for row, ts in enumerate(times)]
    expected.sort(key=lambda each: each[:2])
    # More of the first stream may come at the end.
    expected.pop()
    reader: LogReader | None = None
    found: list[tuple[int, str, str]] = []
    kills, deadline = 0, time.monotonic() + 3 * PATIENCE
    options, mortal = Merging(linger_seconds=0.0, most_edges=16, most_records=2, poll_seconds=0.05), Mortal(log, fuse)
    while len(found) < len(expected) and time.monotonic() < deadline:
        writer.write([messages.pop(0) for _ in range(min(6, len(messages)))])
        writer.flush(PATIENCE)
        fuse.length = seeded.randint(80, 200) if kills < KILLS else 0
        worker = new_worker(mortal, topics, stream, options)
        try:
            worker.open()
            for _ in range(40):
                worker.step()
        except KilledError:
            kills += 1
        fuse.length = 0
        worker.close()
        if reader is None and (places := log.reader(None).partitions(topics.ordered(stream))):
            reader = log.reader(None)
            reader.assign(dict.fromkeys(places, 0))
        found += [] if reader is None else list(out_of(reader))
    assert found == expected
    assert kills == KILLS
    writer.close()


def new_worker(log: Any, topics: Topics, stream: StreamName, options: Merging) -> MergingWorker:
    return MergingWorker(log, topics, stream, SystemClock(), options)
