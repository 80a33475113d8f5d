"""What patterns that are registered one by one cost the planner, by how many there are already.

`python shared/bench/services/registering.py [--patterns 1000] [--every 100]`

One process has the planner, a matcher host for each service, and the counter of statistics, over a log in memory. Each pattern
has three edges and a label of its own. Between two registrations an ordered record of 20 edges comes, and every 25th time
statistics are published. It reports the planner's processor time for so many registrations, with all that hosts and
statistics made it do.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_bench.frame.script import Script
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.time import Duration, EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_planner.application.planner import Planner, Rounds
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_serving.clock import SystemClock
from graphtide_statistics.application.counter import Counter, CounterSettings
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.registrations import registering, registration
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_serving.loop import Worker

TOPICS: Final = Topics("bench")
STREAM: Final = StreamName("s")
AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
EDGES, SNAPSHOT_EVERY = 20, 25
_TEXT: Final = "PATTERN p{0} MATCH (a)-[x:l{0}]->(b)-[y:l{0}]->(c)-[z:l{1}]->(d) ORDER x < y ON s WINDOW 1000"


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--patterns", type=int, default=1_000)
    script.option("--every", type=int, default=100)
    asked = script.arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    deployment = Deployment()
    spent = [deployment.register(number) for number in range(asked.patterns)]
    reported = [round(sum(spent[first : first + asked.every]), 2) for first in range(0, asked.patterns, asked.every)]
    script.add({"patterns": asked.patterns, "planner_s": round(sum(spent), 2), "each": reported})
    script.hand_out()


class Deployment:
    """The workers, and a writer of what comes from outside."""

    def __init__(self) -> None:
        """Open all workers."""
        self.log = MemoryLog()
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(STREAM)])
        self.writer, clock = self.log.writer(), SystemClock()
        counting = CounterSettings(Duration(1000, "s"), publish_seconds=0.0, linger_seconds=0.0)
        self.planner = Planner(self.log, TOPICS, clock, PlanningPolicy(), Rounds(0.0, 50))
        self.counter = Counter(self.log, TOPICS, clock, counting)
        self.hosts = [
            MatcherHost(
                self.log, MemoryCheckpoints(), HostRecords(TOPICS, service, 0, clock), clock, HostSettings(linger_seconds=0.0)
            )
            for service in ("matcher_timing", "matcher_sjtree")
        ]
        workers: list[Worker] = [self.planner, self.counter, *self.hosts]
        for worker in workers:
            worker.open()

    def register(self, number: int) -> float:
        """Register a pattern and let edges come; return the seconds of processor time that the planner took."""
        self.writer.write([registering(TOPICS, registration(_TEXT.format(number, number + 1), AT, start=0))])
        self.writer.write(list(ordered_records(TOPICS.ordered(STREAM), edges(number), EDGES)))
        spent = 0.0
        for _ in range(2):
            begun = time.process_time()
            self.planner.step()
            spent += time.process_time() - begun
            for host in self.hosts:
                host.step()
        if number % SNAPSHOT_EVERY == 0:
            self.counter.step()
        return spent


def edges(number: int) -> list[Edge]:
    """Return edges of the labels of some of so many patterns, later than those of fewer."""
    return [
        Edge(
            id=EdgeId(f"e{number}-{each}"),
            ts=EventTime(2 * number + 2 * each // EDGES),
            source=VertexId(f"v{each % 50}"),
            target=VertexId(f"v{(each + 1) % 50}"),
            label=f"l{each % max(1, number)}",
        )
        for each in range(EDGES)
    ]


if __name__ == "__main__":
    main()
