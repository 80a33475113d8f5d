"""On a real Kafka the ordered topic is history, and the matches of a slice are written once."""

from __future__ import annotations

import random
from threading import Event
from typing import TYPE_CHECKING

import pytest
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.ordered_topic import OrderedTopic
from graphtide_backfill.application.backfill import Asked
from graphtide_backfill.bootstrap import KafkaAt, Published, backfill
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.task import Task
from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.ids import StreamName
from graphtide_core.time import TimeUnit
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_runtime.follower import Follower
from graphtide_runtime.kafka import KafkaConnection
from graphtide_testing.feeding import Feed
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.strategies.streams import StreamShape, random_stream
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_core.ports.log import Log
    from graphtide_testing.found import Found

TOPICS = Topics("backfill-on-kafka")
EDGES = random_stream(random.Random(5), StreamShape(max_records=300, vertices=6, duplicates=False, negative_ts=False))
TASK = Task(parse_subgraphs("PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 9"))


@pytest.fixture
def place(kafka: str) -> KafkaAt:
    place = KafkaAt(KafkaConnection(kafka, "test"))
    log = place()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(StreamName("s"))])
    writer = log.writer()
    writer.write(list(ordered_records(TOPICS.ordered(StreamName("s")), EDGES)))
    writer.flush(10)
    writer.close()
    return place


def written(log: Log) -> list[Found]:
    follower = Follower(log, TOPICS.matches)
    lines = [record.value or b"" for record in follower.to_the_end()]
    follower.close()
    return keys_in_json_lines(b"\n".join(lines))


def test_matches_of_the_ordered_topic_are_written_once_however_often_a_run_is_repeated(place: KafkaAt, tmp_path: Path) -> None:
    history = OrderedTopic(place, TOPICS.ordered(StreamName("s")))
    assert history.unit() is TimeUnit.MILLISECOND
    # The second knows nothing of the first but what is in the log.
    for folder, slice_length in (("one", 37), ("the same again", 50)):
        run = backfill(
            TASK,
            history,
            OneProcess(Machine(2, 2 << 30)),
            tmp_path / folder,
            Asked(slice_length=slice_length),
            on_progress=lambda _: None,
            stop=Event(),
            to=Published(place(), TOPICS.matches, TOPICS.operations),
        )
        run.execute(run.backfill.prepare(), TimeUnit.MILLISECOND)
    (pattern,) = subgraphs_alone(TASK.patterns)
    assert written(place()) == Feed(plan(pattern, "timing")).push(*EDGES)
