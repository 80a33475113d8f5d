"""What the services merge of several streams, a query answers as it does where one process reads them by name."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import graphtide
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import merge
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import TimeUnit
from graphtide_core.window import longest
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.memory import MemoryLog
from graphtide_native.matcher import Matcher
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_ordering.ordering import Ordering
from graphtide_query.families.algebra.planning import plan_graph_query
from graphtide_query.families.planner_options import PlannerOptions
from graphtide_testing.clock import ManualClock
from graphtide_testing.graph_results import sort_matches
from graphtide_testing.records import to_json_lines
from graphtide_testing.registrations import registering, registration
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.edge import Edge
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.match import Match
    from graphtide_serving.loop import Worker

TOPICS = Topics("test")
UNIT = TimeUnit.MILLISECOND
SHAPE = GraphQueryShape(streams=("one", "other"), kinds=(WindowKind.EXTERNAL, WindowKind.INTERNAL), paths=False)
STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, negative_ts=False, max_records=14)


def in_services(query: GraphQuery, streams: Mapping[StreamName, tuple[Edge, ...]]) -> list[Match]:
    """Put each stream in order, merge them, and answer the query on what is merged."""
    log, clock, name = MemoryLog(), ManualClock(), merge(streams)
    log.admin().ensure([*TOPICS.of_deployment(), *(spec for each in streams for spec in TOPICS.of_stream(each, partitions=1))])
    reads = ReadsForm(tuple(streams), LookbackForm(str(longest([query.extent(UNIT)])[0])), None, ())
    record = registration("PATTERN q MATCH (v)-[e]->(w) ON one WINDOW 1", datetime(2026, 1, 1, tzinfo=UTC), reads=reads)
    writer = log.writer()
    writer.write([registering(TOPICS, record)])
    writer.write([Message(TOPICS.raw(each), None, to_json_lines(edges), partition=0) for each, edges in streams.items()])
    writer.flush(5)
    ordering = Ordering(idle_seconds=1.0, live=1000)
    workers: list[Worker] = [
        SequencingWorker(log, TOPICS, each, clock, Sequencing(ordering=ordering, linger_seconds=0.0, poll_seconds=0.0))
        for each in streams
    ]
    workers.append(MergingWorker(log, TOPICS, name, clock, Merging(linger_seconds=0.0, poll_seconds=0.0)))
    for worker in workers:
        worker.open()
    for _ in range(6):
        for worker in workers:
            worker.step()
        clock.sleep(100.0)
    reader = log.reader(None)
    reader.assign({TopicPartition(TOPICS.ordered(name), 0): 0})
    symbols, projected = Symbols(), columns([query])
    matcher = Matcher([plan_graph_query(query, PlannerOptions())], symbols, projected, unit=UNIT, deletions=True)
    decoder = ArrowDecoder(symbols, projected, {})
    batches = [decoder.decode(record.value or b"") for record in reader.poll(0.0, 1000)]
    return [found for batch in batches for matches in matcher.push(batch) for found in matches]


def in_one_process(query: GraphQuery, streams: Mapping[StreamName, tuple[Edge, ...]]) -> list[Match]:
    """Answer the query over streams by name."""
    records = {str(name): [json.loads(line) for line in to_json_lines(edges).splitlines()] for name, edges in streams.items()}
    return list(graphtide.match(query, graphtide.Inputs(**records)))


def test_a_query_over_several_streams_is_answered_alike_merged_by_the_services_and_in_one_process() -> None:
    emitted = 0
    for seed in seeds(50):
        drawn = random.Random(seed)
        query = random_graph_query(drawn, SHAPE)
        if len(query.streams) < 2:
            continue
        streams = {StreamName(name): random_stream(drawn, STREAM) for name in ("one", "other")}
        if not all(streams.values()):
            continue
        found = sort_matches(in_services(query, streams))
        assert found == sort_matches(in_one_process(query, streams)), seed
        emitted += len(found)
    assert emitted > 30, "cases must have results"
