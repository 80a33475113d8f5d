"""What views of partial matches cost a host: edges a second with them and without, in pairs.

`python shared/bench/services/partial_matches.py [--edges 200000] [--pairs 5] [--seconds 0.25] [--kafka]`

A host in this process reads an ordered stream from a log in memory, and shares views in a Redis on this machine. So matching
and little else is measured; with `--kafka` the stream is in Kafka, as in a deployment. Patterns under two engines store partial
matches, and another two search. Each pair runs a new host with views and a new one without, in alternating order. `ratio` is
edges a second with views over those without. The other ratio is the same by processor time of all threads, which other programs
disturb less. `views` is the processor time that looking and sending took by the time that passed. `ViewSettings.share` bounds
it.
"""

from __future__ import annotations

import random
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple
from unittest.mock import patch

import structlog
from graphtide_bench.frame.script import Script
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.memory import MemoryLog
from graphtide_log.partial_matches.redis import RedisPartialMatches
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.partial_matches import PartialMatchViews, Publisher, ViewSettings
from graphtide_matcher_host.records import HostRecords
from graphtide_serving.clock import SystemClock
from graphtide_testing.many_patterns import SERVICE
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.servers.kafka import KafkaServer
from graphtide_testing.servers.redis import RedisServer
from graphtide_wire.topics import Topics
from hosts import make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from graphtide_core.ports.log import Log, LogReader
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from graphtide_matcher_host.stream_work import StreamWork

STREAM: Final = StreamName("s")
TOGETHER: Final = 500
"""Edges of a record."""
VERTICES: Final = 3_000
WINDOW: Final = 20_000
_BETWEEN_LOOKS: Final = 0.1
"""Seconds between two looks at how far a host is: Kafka is asked for each."""
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
    script.option("--kafka", action="store_true", help="read from Kafka")
    asked = script.arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    edges = draw_edges(asked.edges)
    with tempfile.TemporaryDirectory() as folder, servers(Path(folder), is_kafka=asked.kafka) as (log_of, store):
        pairs: list[tuple[Run, Run]] = []
        for pair in range(asked.pairs):
            ways = (True, False) if pair % 2 == 0 else (False, True)
            found = {
                is_on: run(log_of(), Topics(f"bench{pair}{is_on}".lower()), edges, store if is_on else None, asked.seconds)
                for is_on in ways
            }
            pairs.append((found[True], found[False]))
            row = {"pair": pair + 1, "on": round(asked.edges / found[True].wall), "off": round(asked.edges / found[False].wall)}
            script.add(row | _ratios(pairs[-1:]))
        script.add({"pair": "median"} | _ratios(pairs))
    script.hand_out()


class Run(NamedTuple):
    """Seconds that a host took, those of the processor in all threads, and those of them that views took."""

    wall: float
    processor: float
    views: float


@contextmanager
def servers(folder: Path, *, is_kafka: bool) -> Iterator[tuple[Callable[[], Log], PartialMatchStore]]:
    """Give what makes a log, in memory or in one Kafka, and a store of views."""
    with ExitStack() as stack:
        redis = RedisServer(folder / "redis")
        redis.start()
        stack.callback(redis.kill)
        store = RedisPartialMatches(redis.url)
        stack.callback(store.close)
        if not is_kafka:
            yield MemoryLog, store
            return
        kafka = KafkaServer(folder / "kafka")
        kafka.start()
        stack.callback(kafka.kill)
        yield lambda: KafkaLog(KafkaConnection(kafka.bootstrap)), store


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


def _ratios(pairs: Sequence[tuple[Run, Run]]) -> dict[str, float]:
    return {
        "ratio": round(median(off.wall / on.wall for on, off in pairs), 3),
        "ratio_of_processor_time": round(median(off.processor / on.processor for on, off in pairs), 3),
        "views": round(median(on.views / on.wall for on, _ in pairs), 4),
    }


def _has_read(reader: LogReader, place: TopicPartition, end: int) -> bool:
    done = reader.committed([place])[place]
    return done is not None and done.offset >= end


@contextmanager
def meter_views(spent: list[float]) -> Iterator[None]:
    """Collect the seconds of the processor that views take."""
    look, take_spent = PartialMatchViews.look, Publisher.take_spent

    def look_metered(views: PartialMatchViews, works: Iterable[StreamWork]) -> None:
        begun = time.thread_time()
        look(views, works)
        spent.append(time.thread_time() - begun)

    def take_metered(publisher: Publisher) -> float:
        spent.append(found := take_spent(publisher))
        return found

    with patch.object(PartialMatchViews, "look", look_metered), patch.object(Publisher, "take_spent", take_metered):
        yield


def run(log: Log, topics: Topics, edges: Sequence[Edge], store: PartialMatchStore | None, seconds: float) -> Run:
    """Let a new host read the stream, and measure it."""
    clock = SystemClock()
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(STREAM)])
    writer = log.writer()
    engines = ("timing", "sj-tree", "re-search", "filtering")
    for number, engine in enumerate(engines, start=1):
        for name, match in TEXTS.items():
            text = f"PATTERN {name}_{number} {match} ON {STREAM} WINDOW {WINDOW}"
            writer.write([make_plan(topics, text, engine, epoch=number, start=0)])
    writer.write(ordered_records(topics.ordered(STREAM), edges, TOGETHER))
    writer.flush(60.0)
    settings = HostSettings(checkpoint_seconds=3600.0)
    views = None if store is None else (store, ViewSettings(seconds))
    host = MatcherHost(log, MemoryCheckpoints(), HostRecords(topics, SERVICE, 0, clock), clock, settings, partial_matches=views)
    host.open()
    place = TopicPartition(topics.ordered(STREAM), 0)
    reader = log.reader(host.name)
    _, end = reader.ends([place])[place]
    spent: list[float] = []
    with meter_views(spent):
        begun, processor = time.perf_counter(), time.process_time()
        while not _has_read(reader, place, end):
            asked = time.monotonic()
            while time.monotonic() < asked + _BETWEEN_LOOKS:
                host.step()
        found = Run(time.perf_counter() - begun, time.process_time() - processor, sum(spent))
    host.close()
    reader.close()
    return found


if __name__ == "__main__":
    main()
