"""From ordered edges to committed matches: one matcher, real Kafka and Redis.

`python e2e_tests/bench/throughput.py [--patterns 1] [--edges 1000000] [--together 4096]`

The ordered topic is filled first; then the matcher starts. Its start-up is told apart: the rate is that between the first
commit of its positions and the last.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

STREAM = StreamName("s")
LABELS = 100
"""Edge labels of the stream; pattern n follows label n to label n + 1."""
VERTICES = 20_000


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--patterns", type=int, default=1)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--together", type=int, default=4096, help="edges in a record")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        deployment = Deployment(Path(folder))
        try:
            deployment.start_servers()
            log = KafkaLog(KafkaConnection(deployment.kafka.bootstrap))
            log.admin().ensure([*deployment.topics.of_deployment(), *deployment.topics.of_stream(STREAM)])
            register(log, deployment, asked.patterns)
            fill(log, deployment, asked.edges, asked.together)
            found = measure(log, deployment, asked.edges)
        finally:
            deployment.end()
    sys.stdout.write(json.dumps({"patterns": asked.patterns, "together": asked.together, **found}) + "\n")


def register(log: Log, deployment: Deployment, count: int) -> None:
    """Give the matcher so many plans; those past the labels ask for a vertex, too."""
    writer = log.writer()
    for number in range(count):
        first, second = number % LABELS, (number + 1) % LABELS
        where = "" if number < LABELS else f' WHERE a.id = "{number}"'
        text = f"PATTERN p{number} MATCH (a)-[x:l{first}]->(b)-[y:l{second}]->(c){where} ORDER x < y ON s WINDOW 20000"
        (pattern,) = parse_subgraphs(text)
        made = plan(pattern, "auto", crowd=Crowd.of(count))
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


def fill(log: Log, deployment: Deployment, edges: int, together: int) -> None:
    """Write the ordered stream."""
    writer, symbols, state = log.writer(), Symbols(), 1
    for start in range(0, edges, together):
        lines = []
        for number in range(start, min(start + together, edges)):
            state = state * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
            source, target, label = (state >> 33) % VERTICES, (state >> 17) % VERTICES, (state >> 45) % LABELS
            lines.append(f'{{"ts":{number},"src":"{source}","dst":"{target}","label":"l{label}","id":"{number}"}}\n')
        batch = JsonLinesDecoder(symbols, [], {}).decode("".join(lines).encode())
        first, last = EventTime(start), EventTime(start + len(lines) - 1)
        figures = ordered.OrderedFigures(first, last, len(lines), start, last, TimeUnit.MILLISECOND)
        writer.write([ordered.encode(deployment.topics.ordered(STREAM), figures, batch.to_arrow())])
    writer.flush(60)
    writer.close()


def measure(log: Log, deployment: Deployment, edges: int) -> dict[str, float]:
    """Start the matcher, watch its positions, and count what it reported."""
    place = TopicPartition(deployment.topics.ordered(STREAM), 0)
    reader = log.reader(f"{deployment.topics.prefix}.matcher_timing.0")
    _, end = reader.ends([place])[place]
    matcher = deployment.service("matcher_timing")
    begun = time.monotonic()
    matcher.start()
    seen: list[tuple[float, int]] = []
    while not seen or seen[-1][1] < end:
        at = reader.committed([place])[place]
        if at is not None:
            seen.append((time.monotonic() - begun, at.offset))
        time.sleep(0.02)
    (first, offset), (last, _) = seen[0], seen[-1]
    reader.assign({TopicPartition(deployment.topics.matches, 0): 0})
    matches = 0
    while not reader.at_end():
        matches += len(reader.poll(5, 10_000))
    reader.close()
    rate = edges * (end - offset) / end / max(last - first, 1e-9)
    return {"edges": edges, "start_seconds": round(first, 2), "edges_per_second": round(rate), "matches": matches}


if __name__ == "__main__":
    main()
