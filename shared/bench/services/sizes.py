"""What edges and patterns take: bytes on disk, in Redis and in a matcher's memory, by one matcher on real Kafka and Redis.

`python shared/bench/services/sizes.py [--edges 500000]`

Three deployments one after the other differ in the window or the number of patterns alone.
So a difference between them is what an edge of the window, or a pattern, takes. Patterns want every label, so every edge of the
window is kept.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from graphtide_bench.frame.script import Script
from hosts import fill_window
from redis import Redis

TOGETHER = 4096
"""Edges of a record."""
SETTLE_SECONDS = 20.0
"""How long a matcher has after the last record until its memory is taken: it saves checkpoints and gives back what it freed."""


class Case(NamedTuple):
    """What a deployment has."""

    patterns: int
    window: int


SMALL, WIDE, MANY = Case(100, 20_000), Case(100, 400_000), Case(2_100, 20_000)


class Sizes(NamedTuple):
    """What a deployment takes, in bytes."""

    matcher: int
    redis: int
    disk: int
    raw: int


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--edges", type=int, default=500_000)
    edges = script.arguments().edges
    small, wide, many = (sizes(case, edges) for case in (SMALL, WIDE, MANY))
    more_edges, more_patterns = WIDE.window - SMALL.window, MANY.patterns - SMALL.patterns
    found = {
        "matcher_bytes": small.matcher,
        "matcher_bytes_an_edge_of_the_window": round((wide.matcher - small.matcher) / more_edges),
        "matcher_bytes_a_pattern": round((many.matcher - small.matcher) / more_patterns),
        "redis_bytes_an_edge_of_the_window": round((wide.redis - small.redis) / more_edges),
        "raw_bytes_an_edge": round(small.raw / edges),
        "ordered_bytes_an_edge": round(small.disk / edges),
    }
    script.add({"edges": edges, **found})
    script.hand_out()


def sizes(case: Case, edges: int) -> Sizes:
    """Run one deployment."""
    with fill_window(case.patterns, case.window, edges, TOGETHER) as stream:
        stream.matcher.start()
        while (at := stream.committed) is None or at < stream.end:
            time.sleep(0.1)
        time.sleep(SETTLE_SECONDS)
        redis = Redis.from_url(stream.deployment.redis.url)
        kept = sum(redis.memory_usage(key, samples=0) or 0 for key in redis.scan_iter())
        return Sizes(stream.matcher.usage().resident_bytes, kept, stream.written.ordered, stream.written.raw)


if __name__ == "__main__":
    main()
