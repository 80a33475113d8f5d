"""A matcher that is killed, or whose servers are: no match is lost, none comes twice.

The test writes the ordered stream, a little at a time, while things are killed at random times. It compares what a plain
consumer reads with the oracle.
"""

from __future__ import annotations

import time
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse_subgraphs, print_pattern
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.deployment import Deployment
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.waiting import wait_until
from graphtide_wire import control, ordered
from graphtide_wire.plans import form_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from graphtide_core.pattern import SubgraphPattern

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

STREAM = StreamName("s")
PATTERNS = """
PATTERN two MATCH (a)-[x:x]->(b)-[y:y]->(c) ON s WINDOW 40
PATTERN ordered MATCH (a)-[x:x]->(b), (b)-[y:x]->(c) ORDER x < y ON s WINDOW 25
PATTERN one MATCH (a)-[x:y]->(b) ON s WINDOW 10
"""
PATIENCE = 60.0


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    made.start_servers()
    yield made
    made.end()


class Story:
    """A stream that continues while a matcher is treated badly."""

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self.deployment = deployment
        self.rng = Random(seed)
        self.log = KafkaLog(KafkaConnection(deployment.kafka.bootstrap))
        self.log.admin().ensure([*deployment.topics.of_deployment(), *deployment.topics.of_stream(STREAM)])
        self.writer = self.log.writer()
        self.symbols = Symbols()
        self.patterns = parse_subgraphs(PATTERNS)
        self.sent: list[Edge] = []
        self.matcher = deployment.service(
            "matcher_timing", {"CHECKPOINT_SECONDS": "0.2", "COUNTS_SECONDS": "0.2", "LINGER_SECONDS": "0.05"}
        )
        for epoch, pattern in enumerate(self.patterns, start=1):
            self.plan(pattern, epoch)

    def plan(self, pattern: SubgraphPattern, epoch: int) -> None:
        engine = self.rng.choice(FAMILIES["isomorphism"].names)
        record = control.PlanRecord(
            name=pattern.name,
            version=1,
            epoch=epoch,
            engine=engine,
            service="matcher_timing",
            shard=0,
            plan=form_of(plan(pattern, engine).physical),
            pattern=control.PatternText(print_pattern(pattern)),
            desired="running",
            start=0,
        )
        self.writer.write([Message(self.deployment.topics.plans, pattern.name.encode(), control.encode_plan(record))])

    def send(self, edges: Sequence[Edge]) -> None:
        batch = JsonLinesDecoder(self.symbols, [], {}).decode(to_json_lines(edges))
        first, last = edges[0].ts, edges[-1].ts
        header = ordered.OrderedHeader(first, last, len(edges), len(self.sent), last, TimeUnit.MILLISECOND)
        self.writer.write([ordered.encode(self.deployment.topics.ordered(STREAM), header, batch.to_arrow())])
        self.sent += edges

    def send_stream(self, edges: int, happens: Callable[[], None], every: int) -> None:
        """Send a stream in small records; something happens after every so many."""
        stream = some_edges(self.rng, edges, start=len(self.sent))
        for place in range(0, len(stream), 5):
            self.send(stream[place : place + 5])
            time.sleep(self.rng.random() * 0.03)
            if place // 5 % every == every - 1:
                happens()

    def settle(self) -> float:
        """Wait until the matcher has read everything; return how long that took, in seconds."""
        self.writer.flush(PATIENCE)
        place = TopicPartition(self.deployment.topics.ordered(STREAM), 0)
        reader = self.log.reader(f"{self.deployment.topics.prefix}.matcher_timing.0")
        end = reader.ends([place])[place][1]

        def is_read() -> bool:
            at = reader.committed([place])[place]
            return at is not None and at.offset >= end

        took = wait_until(is_read, PATIENCE, lambda: self.matcher.output.read_text()[-2000:])
        reader.close()
        return took

    def consumed(self) -> Counter[str]:
        """Return what a consumer that is not ours reads."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.deployment.kafka.bootstrap,
                "group.id": "anyone",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([self.deployment.topics.matches])
        found: Counter[str] = Counter()
        quiet = time.monotonic() + 8
        while time.monotonic() < quiet:
            for message in consumer.consume(1000, 0.5):
                assert message.error() is None
                found.update(map(repr, keys_in_json_lines(message.value() or b"")))
                quiet = time.monotonic() + 2
        consumer.close()
        return found

    def expected(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for pattern in self.patterns:
            oracle = SubgraphOracle(pattern)
            found.update(repr(match) for edge in self.sent for match in oracle.push(edge))
        return found


def some_edges(rng: Random, count: int, start: int) -> list[Edge]:
    """Return edges between a few vertices, equal times among them, every tenth record a deletion."""
    edges = []
    for number in range(start, start + count):
        ts, ends = EventTime(number * 2 // 3), rng.sample("abcdef", 2)
        deletes = rng.random() < 0.1 and number > 10
        identity = EdgeId(f"e{rng.randrange(number - 10, number) if deletes else number}")
        operation = Operation.DELETE if deletes else Operation.INSERT
        edges.append(Edge(identity, ts, VertexId(ends[0]), VertexId(ends[1]), rng.choice("xy"), operation=operation))
    return edges


def killed_and_started(story: Story) -> None:
    story.matcher.kill()
    story.matcher.start()
    # Somewhere between its first import and its hundredth round.
    time.sleep(story.rng.random() * 2.5)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_a_matcher_killed_at_random_times(deployment: Deployment, seed: int) -> None:
    story = Story(deployment, seed)
    story.matcher.start()
    story.send_stream(400, lambda: killed_and_started(story), every=12)
    story.settle()
    assert story.consumed() == story.expected()


def test_a_redis_that_comes_back_empty(deployment: Deployment) -> None:
    story = Story(deployment, 5)
    story.matcher.start()

    def emptied() -> None:
        deployment.redis.kill()
        deployment.redis.forget()
        if story.rng.random() < 0.5:
            story.matcher.kill()
        deployment.redis.start()
        if not story.matcher.is_running():
            story.matcher.start()

    story.send_stream(300, emptied, every=20)
    story.settle()
    assert story.consumed() == story.expected()


@pytest.mark.slow
def test_a_broker_that_is_restarted(deployment: Deployment) -> None:
    story = Story(deployment, 6)
    story.matcher.start()

    def restarted() -> None:
        story.writer.flush(PATIENCE)
        deployment.kafka.kill()
        time.sleep(story.rng.random())
        deployment.kafka.start()

    story.send_stream(300, restarted, every=30)
    story.settle()
    assert story.consumed() == story.expected()


@pytest.mark.slow
def test_two_matchers_of_one_shard(deployment: Deployment) -> None:
    story = Story(deployment, 7)
    story.matcher.start()
    story.send_stream(100, lambda: None, every=50)
    story.settle()
    other = deployment.service("matcher_timing", {"LINGER_SECONDS": "0.05"}, instance="-other")
    other.start()
    story.send_stream(200, lambda: None, every=50)
    story.settle()
    wait_until(lambda: "fenced by a newer instance" in story.matcher.output.read_text(), PATIENCE)
    assert other.is_running()
    other.kill()
    story.send_stream(100, lambda: None, every=50)
    story.settle()
    assert story.matcher.is_running()
    assert story.consumed() == story.expected()
