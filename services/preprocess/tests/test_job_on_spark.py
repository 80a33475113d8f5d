"""On Spark and a real log, the job gives what the built-in sequencer gives, and says clearly when it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_core.time import TimeUnit
from graphtide_preprocess.entrypoints.stream_query import StreamQuery
from graphtide_statistics.domain.counting import Counting as ServiceCounting
from graphtide_testing.clock import ManualClock
from graphtide_testing.raw_streams import RawStream
from graphtide_testing.sequenced import last_statistics, letters, ordered_edges, records_of
from graphtide_wire import control
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLOWS = StreamName("flows")
WINDOW = 20


def registration(topics: Topics) -> Message:
    now = ManualClock().now()
    text = f"PATTERN p MATCH (v)-[e:http]->(w) ON flows WINDOW {WINDOW}"
    return Message(
        topics.patterns, b"p", control.encode_pattern(control.PatternRecord("p", 1, text, "flows", "active", now, now, "1"))
    )


def random_stream(seed: int) -> tuple[RawStream, int]:
    """Return a stream of one partition, and a lateness, by a number."""
    producers = ((), ("p", "q"), ("p",))[seed % 3]
    disorder, bad, with_ids = (0, 5, 20)[seed % 3], (0.1, 0.5)[seed % 2], (0.0, 0.8, 1.0)[seed // 2 % 3]
    return RawStream(seed, producers, disorder=disorder, bad=bad, with_ids=with_ids), (0, 3, 8)[seed // 3 % 3]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 21))])
def test_the_job_equals_the_built_in_sequencer(
    spark_stage: Callable[..., Any], sequenced: Callable[..., Any], seed: int
) -> None:
    stream, lateness = random_stream(seed)
    stage = spark_stage(lateness)
    messages = [registration(stage.topics), *stream.messages(stage.topics, FLOWS, 250)]
    stage.send(messages)
    stage.run()
    stage.fall_silent()
    expected = sequenced(messages, stage.topics, stage.ordering)
    found = ordered_edges(stage.log, stage.topics, FLOWS)
    assert found == ordered_edges(expected, stage.topics, FLOWS)
    assert letters(stage.log, stage.topics, FLOWS) == letters(expected, stage.topics, FLOWS)
    counting = ServiceCounting(FLOWS, WINDOW, TimeUnit.MILLISECOND)
    for record in records_of(expected, stage.topics.ordered(FLOWS)):
        counting.take(record.value or b"")
    counted, published = counting.publish(None), last_statistics(stage.log, stage.topics, FLOWS)
    assert counted is not None
    assert published is not None
    assert replace(published.snapshot, version=1) == counted.snapshot


def test_several_partitions_give_the_same_edges(spark_stage: Callable[..., Any], sequenced: Callable[..., Any]) -> None:
    stage = spark_stage(1000, partitions=3)
    messages = RawStream(30, partitions=3).messages(stage.topics, FLOWS, 300)
    stage.send(messages)
    stage.run()
    stage.fall_silent()
    expected = sequenced(messages, stage.topics, stage.ordering, 3)
    assert sorted(ordered_edges(stage.log, stage.topics, FLOWS)) == sorted(ordered_edges(expected, stage.topics, FLOWS))
    assert sorted(letters(stage.log, stage.topics, FLOWS), key=repr) == sorted(letters(expected, stage.topics, FLOWS), key=repr)


def test_a_stream_without_topics_is_named(spark_stage: Callable[..., Any]) -> None:
    stage = spark_stage()
    missing = replace(stage, topics=Topics("none"))
    with pytest.raises(FatalError, match=r"there is no topic none\.in\.flows\.v1: make the stream first"):
        run_as_worker(missing)


def test_a_checkpoint_that_cannot_be_written_is_named(spark_stage: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    stage = replace(spark_stage(), folder=tmp_path / "a file")
    with pytest.raises(FatalError, match="a file"):
        run_as_worker(stage)


def test_a_checkpoint_of_other_topics_is_refused_and_writes_nothing(spark_stage: Callable[..., Any]) -> None:
    stage = spark_stage()
    stage.send(RawStream(31).messages(stage.topics, FLOWS, 50))
    stage.run()
    written = ordered_edges(stage.log, stage.topics, FLOWS)
    another = replace(stage, folder=stage.folder / "another", records_in_a_batch=30)
    with pytest.raises(FatalError, match="do not belong together"):
        run_as_worker(another)
    assert ordered_edges(stage.log, stage.topics, FLOWS) == written


def run_as_worker(stage: Any) -> None:
    """Run the job as its process does, until it fails."""
    query = StreamQuery("job", stage.prepared, stage.folder.parent / "stop")
    try:
        query.open()
        while True:
            query.step()
    finally:
        query.close()
