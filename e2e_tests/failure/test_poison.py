"""Random and damaged records in every topic, and damaged checkpoints: every worker opens again and continues.

A deployment of all workers over a log in memory has done some work. Then a record of random bytes comes, or one of the topic
with changed bytes or JSON values. Its key is in use or new. All workers end and are opened again. None of them may fail; and
what others register and send afterwards is matched.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from graphtide_admin_api.application.matches import MatchFeed, RecentMatches
from graphtide_admin_api.application.view import View, Viewer
from graphtide_admin_api.domain.registration import Moment, PatternRequest, register
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import Duration
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.committed_offset_check import MOST_REFUSALS
from graphtide_log.memory import MemoryLog
from graphtide_matcher_host.checkpointing import Checkpointer
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_ordering.ordering import Ordering
from graphtide_planner.application.planner import Planner, Rounds
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_query.families import SERVICES
from graphtide_serving.clock import SystemClock
from graphtide_statistics.application.counter import Counter, CounterSettings
from graphtide_testing.flawed import FLAWED, FlawedLog
from graphtide_testing.poison import damage, strange_record
from graphtide_wire import control, ordered_body, raw
from graphtide_wire.dead_letters import SOURCE_OFFSET
from graphtide_wire.raw import RawEdges
from graphtide_wire.topics import Topics
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.ports.log import Record
    from graphtide_serving.loop import Worker

TOPICS, STREAM = Topics("test"), StreamName("s")
CONTROL = (TOPICS.patterns, TOPICS.plans, TOPICS.status, TOPICS.statistics, TOPICS.matches)
QUICK = HostSettings(linger_seconds=0.0, most_records=4, checkpoint_seconds=0.0, counts_seconds=0.0)
AT: Final = datetime(2024, 1, 1, tzinfo=UTC)
TRACE: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TEXT: Final = f"PATTERN {{name}} MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON {STREAM} WINDOW 100"
OF_OTHER_FAMILIES: Final = {
    "ddst": (
        f"PATTERN {{name}} MATCH (a)-[x:k]->(b)-[y:k]->(c) UNDER DUAL SIMULATION REPORT INSTANCES ON {STREAM} WINDOW 100",
        "auto",
    ),
    "asked": (f"QUERY {{name}} two(a, c) <- k(a, b), k(b, c). ON {STREAM} WINDOW(100)", "auto"),
    "seen": (f"PATTERN {{name}} SEQ(x:k, y:k) ON {STREAM} WITHIN 1", "auto"),
}
"""Patterns of the families beside isomorphism; each edge after the first completes a match of each."""

# What is drawn depends on what the deployment wrote, in any order: Hypothesis is to know of the seed alone.
CHOICES = st.integers(0, 2**32 - 1).map(Random)

# Dozens of deployments a test, of all services each.
FEW = settings(max_examples=settings().max_examples // 2)
pytestmark = pytest.mark.timeout(1800)


class Deployment:
    """All workers, over one log."""

    def __init__(self) -> None:
        self.log: Any = FlawedLog(MemoryLog())
        self.checkpoints = MemoryCheckpoints()
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(STREAM, partitions=1)])
        self.writer, self.sent = self.log.writer(), 0
        self.workers: list[Worker] = []
        for number, engine in enumerate(("timing", "sj-tree", "filtering", "re-search")):
            self.register(f"p{number}", engine)
        for name, (text, engine) in OF_OTHER_FAMILIES.items():
            self.register(name, engine, text)
        for _ in range(3):
            self.open()
            self.send()
            self.run()

    def open(self) -> None:
        """End all workers without a word, and open others in their places."""
        clock, log = SystemClock(), self.log
        self.view, self.recent = View(TOPICS), RecentMatches()
        hosts = [
            MatcherHost(log, self.checkpoints, HostRecords(TOPICS, service, 0, clock), clock, QUICK)
            for service in sorted(set(SERVICES.values()))
        ]
        sequencing = Sequencing(ordering=Ordering(idle_seconds=0.0), linger_seconds=0.0, poll_seconds=0.0, patterns_seconds=0.0)
        counting = CounterSettings(Duration(1000, "s"), publish_seconds=0.0, linger_seconds=0.0)
        self.workers = [
            Viewer(log, TOPICS, clock, self.view, linger_seconds=0.0),
            MatchFeed(log, TOPICS, clock, self.recent, linger_seconds=0.0),
            Planner(log, TOPICS, clock, PlanningPolicy(), Rounds(0.0, 50)),
            SequencingWorker(log, TOPICS, STREAM, clock, sequencing),
            Counter(log, TOPICS, clock, counting),
            *hosts,
        ]
        for worker in self.workers:
            open_worker(worker)

    def run(self, rounds: int = 8) -> None:
        """Let every worker do rounds."""
        for _ in range(rounds):
            for worker in self.workers:
                worker.step()

    def register(self, name: str, engine: str = "auto", text: str = TEXT) -> None:
        """Register a pattern from where the stream ends."""
        place = TopicPartition(TOPICS.ordered(STREAM), 0)
        end = self.log.reader(None).ends([place])[place][1]
        record = register(
            PatternRequest(text.format(name=name), control.LimitsForm(), engine, "active"), 1, Moment(AT, {STREAM: end})
        )
        self.writer.write([Message(TOPICS.patterns, name.encode(), control.encode_pattern(record))])

    def send(self, edges: int = 4) -> None:
        """Send edges that each continue the one before."""
        lines = [
            {"id": f"e{number}", "ts": number, "src": f"v{number}", "dst": f"v{number + 1}", "label": "k"}
            for number in range(self.sent, self.sent + edges)
        ]
        self.sent += edges
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        message = raw.encode(TOPICS.raw(STREAM), RawEdges(body, traceparent=TRACE))
        self.writer.write([message._replace(partition=0)])

    def read(self, topic: str) -> list[Record]:
        """Return the records of a topic."""
        reader = self.log.reader(None)
        reader.assign({TopicPartition(topic, 0): 0})
        found: list[Record] = reader.poll(0, 10**6)
        return found

    def ordered_or_rejected(self) -> set[str]:
        """Return the ids of edges that are in the ordered topic, or are named by a dead letter."""
        found: set[str] = set()
        for record in self.read(TOPICS.ordered(STREAM)):
            with suppress(PoisonRecordError):
                found |= set(ordered_body.decode(record.value or b"").column("id").to_pylist())
        letters = b" ".join(record.value or b"" for record in self.read(TOPICS.dead_letters(STREAM)))
        return found | set(re.findall(r"e\d+", letters.decode("utf-8", "replace")))

    def matched(self, name: str) -> int:
        """Return how many matches of a pattern there are."""
        return sum(record.key == name.encode() for record in self.read(TOPICS.matches))


def open_worker(worker: Worker) -> None:
    """Open a worker; a strange record may contradict committed positions, which are refused a few times."""
    for _ in range(MOST_REFUSALS):
        with suppress(TransientError):
            worker.open()
            return
    worker.open()


def poison(deployment: Deployment, topic: str, rng: Random) -> None:
    """Write a record that no process of the deployment would write."""
    deployment.writer.write([strange_record(topic, deployment.read(topic), rng)._replace(partition=0)])


@pytest.mark.parametrize("topic", [*CONTROL[:2], *(pytest.param(topic, marks=pytest.mark.slow) for topic in CONTROL[2:])])
@FEW
@given(CHOICES)
def test_strange_records_of_control_topics_stop_nobody_and_others_are_matched(topic: str, rng: Random) -> None:
    deployment = Deployment()
    for _ in range(rng.randint(1, 4)):
        poison(deployment, topic, rng)
    deployment.run(3)
    deployment.open()
    deployment.register("probe")
    deployment.run()
    deployment.send()
    deployment.run(12)
    assert deployment.matched("probe") == 4


@pytest.mark.parametrize("topic", [TOPICS.raw(STREAM), TOPICS.ordered(STREAM)])
@FEW
@given(CHOICES)
def test_strange_records_of_a_stream_stop_nobody(topic: str, rng: Random) -> None:
    deployment = Deployment()
    for _ in range(rng.randint(1, 4)):
        poison(deployment, topic, rng)
    deployment.run(3)
    deployment.open()
    deployment.send()
    deployment.run()
    assert {f"e{number}" for number in range(deployment.sent)} <= deployment.ordered_or_rejected()


@pytest.mark.parametrize("topic", [*CONTROL, TOPICS.raw(STREAM), TOPICS.ordered(STREAM), TOPICS.hosts])
def test_a_record_whose_headers_cannot_be_read_stops_nobody_in_any_topic(topic: str) -> None:
    deployment = Deployment()
    known = deployment.read(topic)
    value, key = (known[-1].value, known[-1].key) if known else (b"", None)
    for copy in (value, b"", None, b"\0" * 100, b"x" * 900_000):
        deployment.writer.write([Message(topic, key, copy, FLAWED, partition=0)])
    deployment.run(3)
    deployment.open()
    deployment.register("probe")
    deployment.run()
    deployment.send()
    deployment.run(12)
    assert deployment.matched("probe") == 4
    # Each host that reads an ordered record writes a letter of it.
    letters = {dict(record.headers)[SOURCE_OFFSET] for record in deployment.read(TOPICS.dead_letters(STREAM))}
    assert len(letters) == (5 if topic in {TOPICS.raw(STREAM), TOPICS.ordered(STREAM)} else 0)


@FEW
@given(CHOICES)
def test_a_checkpoint_that_is_damaged_anywhere_costs_time_alone(rng: Random) -> None:
    deployment = Deployment()
    spoil(deployment.checkpoints, rng)
    deployment.open()
    deployment.send()
    deployment.run()
    # The first edge completes nothing.
    assert [deployment.matched(f"p{number}") for number in range(4)] == [deployment.sent - 1] * 4


def spoil(checkpoints: MemoryCheckpoints, rng: Random) -> None:
    """Damage the manifest or a segment of every checkpoint."""
    for service in ("matcher_timing", "matcher_sjtree"):
        key = f"{TOPICS.prefix}.{service}.0.{STREAM}"
        saved = checkpoints.manifest(key)
        found = Checkpointer(checkpoints, key).load()
        assert saved is not None
        assert found is not None
        names = [segment.name for segment in (found.contents.manifest.forms, *found.contents.manifest.segments)]
        segments = dict(zip(names, checkpoints.segments(key, names) or [], strict=True))
        if rng.random() < 0.7:
            name = rng.choice(names)
            segments[name] = damage(segments[name], rng)
        else:
            saved = damage(saved, rng)
        checkpoints.save(key, saved, segments, [])
