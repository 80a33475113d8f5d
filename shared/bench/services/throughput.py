"""From ordered edges to committed matches: one matcher, real Kafka and Redis.

`python shared/bench/services/throughput.py [--patterns 1] [--edges 1000000] [--together 4096]`

The ordered topic is filled first; then the matcher starts. Its start-up is reported apart: the rate is that between the first
commit of its positions and the last.
"""

from __future__ import annotations

import time

from graphtide_bench.frame.script import Script
from graphtide_core.ports.log import TopicPartition
from hosts import Filled, fill_window

WINDOW = 20_000
"""Milliseconds; each has an edge."""


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--patterns", type=int, default=1)
    script.option("--edges", type=int, default=1_000_000)
    script.option("--together", type=int, default=4096, help="edges in a record")
    asked = script.arguments()
    with fill_window(asked.patterns, WINDOW, asked.edges, asked.together) as stream:
        found = measure(stream, asked.edges)
    script.add({"patterns": asked.patterns, "together": asked.together, **found})
    script.hand_out()


def measure(stream: Filled, edges: int) -> dict[str, float]:
    """Start the matcher, watch its positions, and count what it reported."""
    begun = time.monotonic()
    stream.matcher.start()
    seen: list[tuple[float, int]] = []
    while not seen or seen[-1][1] < stream.end:
        at = stream.committed
        if at is not None:
            seen.append((time.monotonic() - begun, at))
        time.sleep(0.02)
    (first, offset), (last, _) = seen[0], seen[-1]
    stream.reader.assign({TopicPartition(stream.deployment.topics.matches, 0): 0})
    matches = 0
    while not stream.reader.at_end():
        matches += len(stream.reader.poll(5, 10_000))
    rate = edges * (stream.end - offset) / stream.end / max(last - first, 1e-9)
    return {"edges": edges, "start_seconds": round(first, 2), "edges_per_second": round(rate), "matches": matches}


if __name__ == "__main__":
    main()
