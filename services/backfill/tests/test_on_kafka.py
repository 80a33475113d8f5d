"""On a real Kafka the ordered topic is history, and the matches of a slice are written once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
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
from graphtide_log.follower import Follower
from graphtide_log.kafka import KafkaConnection
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.streams import StreamShape, random_stream
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from graphtide_core.ports.log import Log
    from graphtide_testing.found import Found

TOPICS = Topics("backfill-on-kafka")
EDGES = random_stream(random.Random(5), StreamShape(max_records=300, vertices=6, duplicates=False, negative_ts=False))
TASK = Task(parse_subgraphs("PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 9"))


@pytest.fixture
def place(kafka: str) -> KafkaAt:
    return with_history(kafka, TOPICS)


def with_history(kafka: str, topics: Topics) -> KafkaAt:
    """Make the topics of a deployment, and write the edges to its ordered stream."""
    place = KafkaAt(KafkaConnection(kafka, "test"))
    log = place()
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(StreamName("s"))])
    writer = log.writer()
    writer.write(list(ordered_records(topics.ordered(StreamName("s")), EDGES)))
    writer.flush(10)
    writer.close()
    return place


def read_matches(log: Log) -> list[Found]:
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
    assert read_matches(place()) == Feed(plan(pattern, "timing")).push(*EDGES)


@pytest.mark.parametrize("report", ["INSTANCES", "CHANGES"])
def test_components_of_the_ordered_topic_are_reported_in_one_slice_once_however_often_a_run_is_repeated(
    kafka: str, tmp_path: Path, report: str
) -> None:
    text = f"PATTERN parts MATCH (a)-[x:x]->(b)-[y:y]->(c) UNDER DUAL SIMULATION REPORT {report} ON s WINDOW 9"
    (tmp_path / "s.jsonl").write_bytes(to_json_lines(EDGES))
    (tmp_path / "p.gtp").write_text(text)
    command = [sys.executable, "-m", "graphtide", "match", str(tmp_path / "p.gtp"), str(tmp_path / "s.jsonl")]
    live = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    topics = Topics(f"components-{report.lower()}")
    place = with_history(kafka, topics)
    history, slices = OrderedTopic(place, topics.ordered(StreamName("s"))), []
    for folder in ("one", "the same again"):
        run = backfill(
            Task(parse_subgraphs(text)),
            history,
            OneProcess(Machine(2, 2 << 30)),
            tmp_path / folder,
            Asked(),
            on_progress=lambda _: None,
            stop=Event(),
            to=Published(place(), topics.matches, topics.operations),
        )
        slices.append(run.execute(run.backfill.prepare(), TimeUnit.MILLISECOND).slices)
    follower = Follower(place(), topics.matches)
    found = [record.value or b"" for record in follower.to_the_end()]
    follower.close()
    assert slices == [1, 1]
    assert count_reports(found) == count_reports(live)
    assert found


def count_reports(lines: Iterable[bytes]) -> Counter[tuple[str, str, int]]:
    """Count what was reported, each with its kind and when."""
    return Counter((each["match_id"], each["kind"], each["detected_at"]) for each in map(json.loads, lines))
