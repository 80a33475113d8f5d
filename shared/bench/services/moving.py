"""How long a plan takes to move to another host: with the first host's checkpoint, and with the log alone.

`python shared/bench/services/moving.py [--edges 50000,1000000] [--wanted 1,10] [--fresh]`

Two hosts in one process use Kafka and Redis on this machine. The first runs a pattern whose window holds so many edges; one in
so many of them is wanted. Each host runs another pattern of the same edges, the second none with `--fresh`. A tenth as many
edges lie before the window. All are read before anything is measured. It reports how long the first host takes to stop the
plan, its checkpoint included. It reports how long the second takes from reading the plan until it says that it runs. With that
come the number of records of the ordered log that it read, and its longest round meanwhile.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_bench.frame.script import Script
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.redis import RedisCheckpoints
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_serving.clock import SystemClock
from graphtide_testing.deployment import Deployment
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.watched import WatchedLog
from graphtide_wire import control
from graphtide_wire.topics import Topics
from hosts import make_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import Log

STREAM: Final = StreamName("s")
FIRST, SECOND = "matcher_timing", "matcher_sjtree"
MOVED: Final = "moved"
TOGETHER: Final = 500
"""Edges of a record."""
CHUNK: Final = 50_000
"""Edges that are written at once."""
_TEXT: Final = "PATTERN {0} MATCH (a)-[x:wanted]->(b)-[y:wanted]->(c) ORDER x < y ON s WINDOW {1}"


def main() -> None:
    """Measure, and show a row for each way of each count of edges."""
    script = Script(__file__, __doc__)
    script.option("--edges", default="50000,1000000")
    script.option("--wanted", default="1,10", help="one in so many edges is wanted")
    script.option("--fresh", action="store_true", help="the second host runs nothing else")
    asked = script.arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory() as folder:
        for edges in map(int, asked.edges.split(",")):
            for one_in in map(int, asked.wanted.split(",")):
                for way in ("log", "checkpoint"):
                    servers = Deployment(Path(folder, f"{edges}.{one_in}.{way}"))
                    servers.start_servers()
                    moved = Moved(servers, edges, one_in, is_fresh=asked.fresh)
                    script.add(moved.measured(way))
                    moved.close()
                    servers.end()
    script.hand_out()


class Moved:
    """Two hosts, and a stream that they have read."""

    def __init__(self, servers: Deployment, edges: int, one_in: int, *, is_fresh: bool) -> None:
        """Start, and let the hosts read all."""
        self.edges, self.one_in, self.is_fresh = edges, one_in, is_fresh
        self.topics = Topics("bench")
        self.epoch = 0
        self._said: dict[str, control.StatusRecord] = {}
        self.log = KafkaLog(KafkaConnection(servers.kafka.bootstrap))
        self.log.admin().ensure([*self.topics.of_deployment(), *self.topics.of_stream(STREAM)])
        self.watched = WatchedLog(KafkaLog(KafkaConnection(servers.kafka.bootstrap)), self.topics.ordered(STREAM))
        self.writer, self.status = self.log.writer(), self.log.reader(None)
        self.status.assign({TopicPartition(self.topics.status, 0): 0})
        for name, service in ((MOVED, FIRST), ("first", FIRST), ("second", SECOND)):
            if not (is_fresh and name == "second"):
                self.plan(name, service, start=0)
        self.first = self._host(FIRST, self.log, servers.redis.url)
        self.second = self._host(SECOND, self.watched, servers.redis.url)
        self._write()
        for host in (self.first, self.second):
            self._catch_up(host)

    def plan(self, name: str, service: str, **more: object) -> None:
        """Write the plan of a pattern, as the planner would."""
        self.epoch += 1
        limits = control.LimitsForm(partial_matches=10_000_000, state_bytes=8 << 30)
        asked = {"epoch": self.epoch, "service": service, "limits": limits} | more
        self.writer.write([make_plan(self.topics, _TEXT.format(name, self.edges), "timing", **asked)])
        self.writer.flush(10)

    def measured(self, way: str) -> dict[str, object]:
        """Let the plan move in one of the ways; return what was measured."""
        self.plan(MOVED, FIRST, start=0, desired="stopped")
        leaving, _ = self._until(self.first, "stopped")
        came_from = {"came_from": control.HostName(FIRST, 0)} if way == "checkpoint" else {}
        self.watched.read.clear()
        self.plan(MOVED, SECOND, start=0, reported_to=self._said[MOVED].start, **came_from)
        arriving, longest = self._until(self.second, "running")
        return {
            "edges": self.edges,
            "wanted": f"1 in {self.one_in}",
            "second": "fresh" if self.is_fresh else "busy",
            "from": way,
            "stopped_s": round(leaving, 2),
            "running_s": round(arriving, 2),
            "records_read": len(self.watched.read),
            "longest_round_ms": round(longest * 1e3),
        }

    def close(self) -> None:
        """End the hosts."""
        for each in (self.first, self.second, self.status):
            each.close()

    def _host(self, service: str, log: Log, redis: str) -> MatcherHost:
        clock = SystemClock()
        settings = HostSettings(linger_seconds=0.01, checkpoint_seconds=5.0, counts_seconds=3600.0)
        host = MatcherHost(log, RedisCheckpoints(redis), HostRecords(self.topics, service, 0, clock), clock, settings)
        host.open()
        return host

    def _write(self) -> None:
        edges = self._edges()
        while chunk := [edge for edge, _ in zip(edges, range(CHUNK), strict=False)]:
            self.writer.write(list(ordered_records(self.topics.ordered(STREAM), chunk, TOGETHER)))
        self.writer.flush(60)

    def _edges(self) -> Iterator[Edge]:
        for number in range(self.edges + self.edges // 10):
            ends = VertexId(f"v{number % 10_007}"), VertexId(f"w{number % 9_973}")
            yield Edge(EdgeId(f"e{number}"), EventTime(number), *ends, "wanted" if number % self.one_in == 0 else "other")

    def _catch_up(self, host: MatcherHost) -> None:
        place = TopicPartition(self.topics.ordered(STREAM), 0)
        reader = self.log.reader(host.name)
        _, end = reader.ends([place])[place]
        if host is self.first or not self.is_fresh:
            while (done := reader.committed([place])[place]) is None or done.offset < end - 1:
                host.step()
        for _ in range(20):
            host.step()
        reader.close()

    def _until(self, host: MatcherHost, state: str) -> tuple[float, float]:
        """Let a host work until it says that the plan is in a state; return how long that takes, and its longest round."""
        begun, longest = time.perf_counter(), 0.0
        while (said := self._said.get(MOVED)) is None or said.state != state:
            before = time.perf_counter()
            host.step()
            longest = max(longest, time.perf_counter() - before)
            self._listen()
        return time.perf_counter() - begun, longest

    def _listen(self) -> None:
        """Take note of what hosts said."""
        for record in self.status.poll(0, 1000):
            said = control.decode_status(record.value)
            self._said[said.name] = said


if __name__ == "__main__":
    main()
