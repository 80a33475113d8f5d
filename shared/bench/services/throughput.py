"""From ordered edges to committed matches: one matcher, real Kafka and Redis.

`python shared/bench/services/throughput.py [--patterns 1] [--edges 1000000] [--together 4096]`

The ordered topic is filled first; then the matcher starts. Its start-up is told apart: the rate is that between the first
commit of its positions and the last.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_bench.frame.script import Script
from graphtide_core.ports.log import TopicPartition
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_testing.crowd import SERVICE, STREAM, fill, register
from graphtide_testing.deployment import Deployment

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

WINDOW = 20_000
"""Of the patterns, in milliseconds, each of which has an edge."""


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--patterns", type=int, default=1)
    script.option("--edges", type=int, default=1_000_000)
    script.option("--together", type=int, default=4096, help="edges in a record")
    asked = script.arguments()
    with tempfile.TemporaryDirectory() as folder:
        deployment = Deployment(Path(folder))
        try:
            deployment.start_servers()
            log = KafkaLog(KafkaConnection(deployment.kafka.bootstrap))
            log.admin().ensure([*deployment.topics.of_deployment(), *deployment.topics.of_stream(STREAM)])
            register(log, deployment.topics, asked.patterns, WINDOW)
            fill(log, deployment.topics, asked.edges, asked.together)
            found = measure(log, deployment, asked.edges)
        finally:
            deployment.end()
    script.add({"patterns": asked.patterns, "together": asked.together, **found})
    script.hand_out()


def measure(log: Log, deployment: Deployment, edges: int) -> dict[str, float]:
    """Start the matcher, watch its positions, and count what it reported."""
    place = TopicPartition(deployment.topics.ordered(STREAM), 0)
    reader = log.reader(f"{deployment.topics.prefix}.{SERVICE}.0")
    _, end = reader.ends([place])[place]
    matcher = deployment.service(SERVICE)
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
