"""What views of partial matches cost a host: edges a second with them and without, in pairs.

`python shared/bench/services/partial_matches.py [--edges 200000] [--pairs 5] [--seconds 0.25]`

A host in this process reads an ordered stream from a log in memory, and shares views in a Redis on this machine. So matching
and little else is measured. Patterns under two engines store partial matches, and another two search. Each pair runs a new host
with views and a new one without, in alternating order. `ratio` is edges a second with views over those without. The other ratio
is the same by processor time of all threads, which other programs disturb less.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_bench.frame.script import Script
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_log.partial_matches.redis import RedisPartialMatches
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.partial_matches import ViewSettings
from graphtide_matcher_host.records import HostRecords
from graphtide_serving.clock import SystemClock
from graphtide_testing.many_patterns import SERVICE
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.servers.redis import RedisServer
from graphtide_wire.topics import Topics
from hosts import make_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Message
    from graphtide_core.ports.partial_matches import PartialMatchStore

STREAM: Final = StreamName("s")
TOPICS: Final = Topics("bench")
TOGETHER: Final = 500
"""Edges of a record."""
VERTICES: Final = 3_000
WINDOW: Final = 20_000
TEXTS: Final = {
    "path": "MATCH (a)-[x:k]->(b)-[y:l]->(c)-[z:m]->(d) ORDER x < y < z",
    "fan": "MATCH (a)-[x:k]->(b), (a)-[y:l]->(c), (a)-[z:m]->(d) ORDER x < y < z",
}


def main() -> None:
    """Measure, and show a row for each pair and one for all."""
    script = Script(__file__, __doc__)
    script.option("--edges", type=int, default=200_000)
    script.option("--pairs", type=int, default=5)
    script.option("--seconds", type=float, default=2.0, help="between two views of a pattern")
    asked = script.arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    records = list(ordered_records(TOPICS.ordered(STREAM), draw_edges(asked.edges), TOGETHER))
    with tempfile.TemporaryDirectory() as folder:
        redis = RedisServer(Path(folder))
        redis.start()
        store = RedisPartialMatches(redis.url)
        try:
            ratios: list[tuple[float, float]] = []
            for pair in range(asked.pairs):
                ways = (True, False) if pair % 2 == 0 else (False, True)
                found = {is_on: run(records, store if is_on else None, asked.seconds) for is_on in ways}
                (wall, processor), (wall_off, processor_off) = found[True], found[False]
                ratios.append((wall_off / wall, processor_off / processor))
                row = {"pair": pair + 1, "on": round(asked.edges / wall), "off": round(asked.edges / wall_off)}
                script.add(row | _ratios([ratios[-1]]))
            script.add({"pair": "median"} | _ratios(ratios))
        finally:
            store.close()
            redis.kill()
    script.hand_out()


def draw_edges(count: int) -> Sequence[Edge]:
    """Return a stream of edges of three kinds, a millisecond apart."""
    rng = random.Random(1)
    return [
        Edge(
            EdgeId(f"e{number}"),
            EventTime(number),
            VertexId(f"v{rng.randrange(VERTICES)}"),
            VertexId(f"v{rng.randrange(VERTICES)}"),
            rng.choice("klm"),
        )
        for number in range(count)
    ]


def _ratios(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    wall, processor = (round(median(each), 3) for each in zip(*pairs, strict=True))
    return {"ratio": wall, "ratio_of_processor_time": processor}


def run(records: Sequence[Message], store: PartialMatchStore | None, seconds: float) -> tuple[float, float]:
    """Let a new host read the stream; return the seconds that takes, and those of the processor, all threads together."""
    log, clock = MemoryLog(), SystemClock()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(STREAM)])
    writer = log.writer()
    engines = ("timing", "sj-tree", "re-search", "filtering")
    for number, engine in enumerate(engines, start=1):
        for name, match in TEXTS.items():
            text = f"PATTERN {name}_{number} {match} ON {STREAM} WINDOW {WINDOW}"
            writer.write([make_plan(TOPICS, text, engine, epoch=number, start=0)])
    writer.write(records)
    settings = HostSettings(linger_seconds=0.0, checkpoint_seconds=3600.0)
    views = None if store is None else (store, ViewSettings(seconds))
    host = MatcherHost(log, MemoryCheckpoints(), HostRecords(TOPICS, SERVICE, 0, clock), clock, settings, partial_matches=views)
    host.open()
    place = TopicPartition(TOPICS.ordered(STREAM), 0)
    reader = log.reader(host.name)
    _, end = reader.ends([place])[place]
    begun, processor = time.perf_counter(), time.process_time()
    while (done := reader.committed([place])[place]) is None or done.offset < end:
        host.step()
    taken = time.perf_counter() - begun, time.process_time() - processor
    host.close()
    reader.close()
    return taken


if __name__ == "__main__":
    main()
