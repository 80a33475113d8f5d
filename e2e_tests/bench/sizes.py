"""What edges and patterns take: bytes on disk, in Redis and in a matcher's memory, by one matcher on real Kafka and Redis.

`python e2e_tests/bench/sizes.py [--edges 500000]`

Three deployments one after the other differ in the window or the number of patterns alone, so that a difference of theirs is
what an edge of the window, or a pattern, takes. Patterns want every label, so every edge of the window is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse_subgraphs, print_pattern
from graphtide_query.estimates.crowd import Crowd
from graphtide_query.planner import plan
from graphtide_runtime.kafka import KafkaConnection, KafkaLog
from graphtide_testing.deployment import Deployment
from graphtide_wire import control, ordered
from graphtide_wire.plan_forms import form_of
from redis import Redis

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

STREAM = StreamName("s")
LABELS = 100
VERTICES = 20_000
TOGETHER = 4096
"""Edges of a record."""
SETTLE_SECONDS = 20.0
"""How long a matcher has after the last record until its memory is taken: it saves checkpoints and gives back what it freed."""


class Case(NamedTuple):
    """What a deployment has."""

    patterns: int
    window: int


SMALL, WIDE, CROWDED = Case(100, 20_000), Case(100, 400_000), Case(2_100, 20_000)


class Sizes(NamedTuple):
    """What a deployment takes, in bytes."""

    matcher: int
    redis: int
    disk: int
    raw: int


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=500_000)
    edges = parser.parse_args().edges
    small, wide, crowded = (sizes(case, edges) for case in (SMALL, WIDE, CROWDED))
    more_edges, more_patterns = WIDE.window - SMALL.window, CROWDED.patterns - SMALL.patterns
    found = {
        "matcher_bytes": small.matcher,
        "matcher_bytes_an_edge_of_the_window": round((wide.matcher - small.matcher) / more_edges),
        "matcher_bytes_a_pattern": round((crowded.matcher - small.matcher) / more_patterns),
        "redis_bytes_an_edge_of_the_window": round((wide.redis - small.redis) / more_edges),
        "raw_bytes_an_edge": round(small.raw / edges),
        "ordered_bytes_an_edge": round(small.disk / edges),
    }
    sys.stdout.write(json.dumps({"edges": edges, **found}, indent=2) + "\n")


def sizes(case: Case, edges: int) -> Sizes:
    """Run one deployment."""
    with tempfile.TemporaryDirectory() as folder:
        deployment = Deployment(Path(folder))
        try:
            deployment.start_servers()
            log = KafkaLog(KafkaConnection(deployment.kafka.bootstrap))
            log.admin().ensure([*deployment.topics.of_deployment(), *deployment.topics.of_stream(STREAM)])
            register(log, deployment, case)
            raw, disk = fill(log, deployment, edges)
            place = TopicPartition(deployment.topics.ordered(STREAM), 0)
            reader = log.reader(f"{deployment.topics.prefix}.matcher_timing.0")
            _, end = reader.ends([place])[place]
            matcher = deployment.service("matcher_timing")
            matcher.start()
            while (at := reader.committed([place])[place]) is None or at.offset < end:
                time.sleep(0.1)
            time.sleep(SETTLE_SECONDS)
            redis = Redis.from_url(deployment.redis.url)
            kept = sum(redis.memory_usage(key, samples=0) or 0 for key in redis.scan_iter())
            return Sizes(matcher.usage().resident_bytes, kept, disk, raw)
        finally:
            deployment.end()


def register(log: Log, deployment: Deployment, case: Case) -> None:
    """Give the matcher plans; those past the labels ask for a vertex, too."""
    writer = log.writer()
    for number in range(case.patterns):
        first, second = number % LABELS, (number + 1) % LABELS
        where = "" if number < LABELS else f' WHERE a.id = "{number}"'
        text = f"PATTERN p{number} MATCH (a)-[x:l{first}]->(b)-[y:l{second}]->(c){where} ORDER x < y ON s WINDOW {case.window}"
        (pattern,) = parse_subgraphs(text)
        made = plan(pattern, "auto", crowd=Crowd.of(case.patterns))
        record = control.PlanRecord(
            name=pattern.name,
            version=1,
            epoch=1,
            engine=made.engine,
            service="matcher_timing",
            shard=0,
            plan=form_of(made.physical),
            pattern=control.PatternText(print_pattern(pattern)),
            desired="running",
            start=0,
        )
        writer.write([Message(deployment.topics.plans, pattern.name.encode(), control.encode_plan(record))])
    writer.flush(60)
    writer.close()


def fill(log: Log, deployment: Deployment, edges: int) -> tuple[int, int]:
    """Write the ordered stream; return its bytes as JSON and as ordered records."""
    writer, symbols, state, raw, disk = log.writer(), Symbols(), 1, 0, 0
    for start in range(0, edges, TOGETHER):
        lines = []
        for number in range(start, min(start + TOGETHER, edges)):
            state = state * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
            source, target, label = (state >> 33) % VERTICES, (state >> 17) % VERTICES, (state >> 45) % LABELS
            lines.append(f'{{"ts":{number},"src":"{source}","dst":"{target}","label":"l{label}","id":"{number}"}}\n')
        text = "".join(lines).encode()
        batch = JsonLinesDecoder(symbols, [], {}).decode(text)
        first, last = EventTime(start), EventTime(start + len(lines) - 1)
        figures = ordered.OrderedFigures(first, last, len(lines), start, last, TimeUnit.MILLISECOND)
        message = ordered.encode(deployment.topics.ordered(STREAM), figures, batch.to_arrow())
        raw, disk = raw + len(text), disk + len(message.value or b"")
        writer.write([message])
    writer.flush(60)
    writer.close()
    return raw, disk


if __name__ == "__main__":
    main()
