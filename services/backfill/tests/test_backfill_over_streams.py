"""A backfill over the histories of several streams finds what one pass over the streams by name does."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.named_streams import NamedStreams
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.ordered_topic import OrderedTopic
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.application.backfill import Asked, Backfill, RunTotals
from graphtide_backfill.application.manifest import OtherRunError
from graphtide_backfill.bootstrap import OverTheLog, ordered_topics
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.task import Task, refusals
from graphtide_core.edge import Edge
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ids import StreamName
from graphtide_core.match import IntervalMatch
from graphtide_core.ports.log import TopicPartition
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.memory import MemoryLog
from graphtide_query import parse
from graphtide_testing.graph_results import find_expected
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
from graphtide_wire import ordered, ordered_body
from graphtide_wire.operations import OperationRecord
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from graphtide_backfill.application.pieces import History
    from graphtide_core.graph_query import GraphQuery

Streams = dict[str, tuple[Edge, ...]]
BIG = Machine(2, 2 << 30)
SHAPE = GraphQueryShape(streams=("one", "other"), kinds=(WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW), paths=False)
STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, negative_ts=False, max_records=30)
CHAIN = """
QUERY q CONSTRUCT (u)-[:r]->(w) MATCH (u)-[:a]->(v) ON one WINDOW(40) MATCH (v)-[:b]->(w) ON other WINDOW(60) SLIDE(2)
"""


def history_of(folder: Path, streams: Streams) -> NamedStreams:
    """Write the streams to files; return these as history."""
    for name, edges in streams.items():
        (folder / f"{name}.jsonl").write_bytes(to_json_lines(edges))
    return NamedStreams({name: Files(str(folder / f"{name}.jsonl"), "jsonl") for name in streams})


def side_by_side(*streams: Sequence[Edge]) -> Streams:
    """Return two streams that begin at one time."""
    return {
        name: tuple(replace(edge, ts=EventTime(edge.ts - edges[0].ts)) for edge in edges)
        for name, edges in zip(("one", "other"), streams, strict=True)
    }


def run(task: Task, history: History, folder: Path, asked: Asked) -> tuple[RunTotals, list[str]]:
    results = ResultFolder(folder)
    made = Backfill(
        task, history, OneProcess(BIG), results, asked, on_progress=lambda _: None, is_wanted=lambda: True
    )  # fmt: skip
    totals = made.run(made.prepare())
    return totals, [each.record.decode() for number in results.finished() for each in results.records(number)]


def in_one_pass(patterns: str | GraphQuery, folder: Path, names: Iterable[str]) -> list[str]:
    files = {name: folder / f"{name}.jsonl" for name in names}
    found = graphtide.match(patterns, graphtide.Inputs(files))
    return [each.to_json() for each in found if isinstance(each, IntervalMatch)]


def test_random_queries_over_two_streams(tmp_path: Path) -> None:
    emitted = of_both = retracted = 0
    for seed in seeds(16):
        rng = random.Random(seed)
        query = random_graph_query(rng, SHAPE)
        streams = {str(name): random_stream(rng, STREAM) for name in query.streams}
        if not all(streams.values()):
            continue
        folder = tmp_path / str(seed)
        folder.mkdir()
        task = Task((query,), streams=frozenset(streams))
        totals, found = run(task, history_of(folder, streams), folder / "run", Asked(slice_length=rng.choice((3, 17, 10**6))))
        assert sorted(found) == sorted(in_one_pass(query, folder, streams))
        assert len(found) == expected_by_oracle(query, streams)
        emitted += len(found)
        of_both += len(found) if len(streams) == 2 else 0
        retracted += totals.retractions
    assert emitted > 15
    assert of_both > 3, "cases must have results of several streams"
    assert retracted > 1


def expected_by_oracle(query: GraphQuery, streams: Streams) -> int:
    oracle = GraphQueryOracle(query)
    merged = sorted((int(edge.ts), str(name), place) for name, edges in streams.items() for place, edge in enumerate(edges))
    return sum(len(list(find_expected(query, oracle.push(streams[name][place], name)))) for _, name, place in merged)


@pytest.mark.parametrize("is_nameless", [False, True])
def test_each_stream_has_ids_and_duplicates_of_its_own(tmp_path: Path, *, is_nameless: bool) -> None:
    rng = random.Random(4)
    shape = StreamShape(labels=("a", "b"), vertices=3, negative_ts=False, max_records=200, nameless=is_nameless)
    streams = side_by_side(random_stream(rng, shape), random_stream(rng, shape))
    assert {each.id for each in streams["one"]} & {each.id for each in streams["other"]}
    task = Task(parse(CHAIN), streams=frozenset(streams))
    totals, found = run(task, history_of(tmp_path, streams), tmp_path / "run", Asked(slice_length=13))
    assert sorted(found) == sorted(in_one_pass(CHAIN, tmp_path, streams))
    assert totals.matches > 20
    assert totals.retractions > 0


def test_other_streams_are_another_run(tmp_path: Path) -> None:
    streams = {name: random_stream(random.Random(seed), STREAM) for seed, name in enumerate(("one", "other"))}
    task = Task(parse(CHAIN), streams=frozenset(streams))
    run(task, history_of(tmp_path, streams), tmp_path / "run", Asked())
    (tmp_path / "other.jsonl").write_bytes(to_json_lines(streams["other"][:-1]))
    changed = NamedStreams({name: Files(str(tmp_path / f"{name}.jsonl"), "jsonl") for name in streams})
    with pytest.raises(OtherRunError, match="history"):
        run(task, changed, tmp_path / "run", Asked())


def test_patterns_that_history_cannot_be_searched_for_are_named_with_the_reason() -> None:
    text = f"{CHAIN} PATTERN p MATCH (a)-[x]->(b) ON one WINDOW 9 QUERY lone r2(x, y) <- a(x, y). ON third WINDOW(9)"
    assert refusals(parse(text), {"one", "other"}) == {
        "p": "pattern 'p' reads one stream, not streams by name: only streaming graph queries do",
        "lone": "query 'lone' reads the stream 'third', which history is not of",
    }


# Topics

TOPICS = Topics("t")


def log_of(streams: Streams) -> MemoryLog:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    for name, edges in streams.items():
        log.admin().ensure(TOPICS.of_stream(StreamName(name)))
        log.writer().write(list(ordered_records(TOPICS.ordered(StreamName(name)), edges)))
    return log


def test_an_operation_over_several_streams_reads_the_topic_of_each(tmp_path: Path) -> None:
    shape = replace(STREAM, max_records=100, duplicates=False, nameless=False)
    streams = side_by_side(*(random_stream(random.Random(seed), shape) for seed in range(2)))
    log = log_of(streams)
    history_of(tmp_path, streams)
    asked = OperationRecord("aaaaaaaa", "q", 1, CHAIN, "one.other", "done", datetime(2024, 1, 1, tzinfo=UTC))
    work = OverTheLog(lambda: log, TOPICS, tmp_path / "folder", lambda: nullcontext(OneProcess(BIG)))
    work(asked, lambda _: None, Event())
    reader = log.reader(None)
    reader.assign({TopicPartition(TOPICS.matches, 0): 0})
    found = [record.value.decode() for record in reader.poll(0, 1_000_000) if record.value is not None]
    assert sorted(found) == sorted(in_one_pass(CHAIN, tmp_path, streams))
    assert found


def test_an_operation_over_a_stream_that_is_not_there_fails_with_the_reason(tmp_path: Path) -> None:
    log = log_of({"one": random_stream(random.Random(1), StreamShape(duplicates=False, negative_ts=False))})
    asked = OperationRecord("aaaaaaaa", "q", 1, CHAIN, "one.other", "done", datetime(2024, 1, 1, tzinfo=UTC))
    work = OverTheLog(lambda: log, TOPICS, tmp_path / "folder", lambda: nullcontext(OneProcess(BIG)))
    with pytest.raises(UnreadableStreamError, match="there is no topic"):
        work(asked, lambda _: None, Event())


def test_topics_are_read_in_the_newest_epoch_that_all_began(tmp_path: Path) -> None:
    shape = replace(STREAM, max_records=60, duplicates=False, nameless=False)
    streams = side_by_side(*(random_stream(random.Random(seed), shape) for seed in range(2)))
    log, later = log_of(streams), TOPICS.ordered(StreamName("other"))
    log.writer().write(
        [ordered.encode_beginning(later, 1, len(streams["other"]), TimeUnit.MILLISECOND, ordered_body.encode_none())]
    )
    topics = {name: OrderedTopic(lambda: log, TOPICS.ordered(StreamName(name))) for name in streams}
    assert [each.newest_epoch() for each in topics.values()] == [0, 1]
    history_of(tmp_path, streams)
    task = Task(parse(CHAIN), streams=frozenset(streams))
    _, found = run(task, ordered_topics(topics), tmp_path / "run", Asked())
    assert sorted(found) == sorted(in_one_pass(CHAIN, tmp_path, streams))
    assert found
