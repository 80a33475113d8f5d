"""What a host's record costs by the patterns that are registered beside those that want it.

`python shared/bench/services/patterns.py [--patterns 1,1000,10000,50000] [--engine timing] [--records 4000] [--alike label]`

Each count of patterns has a process of its own. A host over a log in memory runs that many patterns of two edges, each with a
label of its own. Or all have one label, and each has a window of its own, or they are equal but for their names. Ordered
records come with one edge and with 4,096, whose labels no pattern has, or one of them. It reports the processor time of a
record, Python and native together. That includes all that the host does in its rounds, also reports of counts and checkpoints.
It reports the memory of a pattern. It reports how long the host takes to adopt all patterns at its start, and one more while
records wait.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_bench.frame.machine import resident_bytes
from graphtide_bench.frame.script import Script
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_serving.clock import SystemClock
from graphtide_testing.ordered_records import ordered_records
from graphtide_wire.topics import Topics
from hosts import make_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import LogWriter

TOPICS: Final = Topics("bench")
STREAM: Final = StreamName("s")
LONG: Final = 4_096
WANTED, UNWANTED = "l0", "unwanted"
_TEXT: Final = "PATTERN p{0} MATCH (a)-[x:l{1}]->(b)-[y:l{1}]->(c) ORDER x < y ON s WINDOW {2}"

_ALIKE: Final = ("nothing", "label", "all")


def main() -> None:
    """Measure, and show a row for each count of patterns."""
    script = Script(__file__, __doc__)
    script.option("--patterns", default="1,1000,10000,50000")
    script.option("--engine", default="timing")
    script.option("--records", type=int, default=4_000)
    script.option("--alike", choices=_ALIKE, default="nothing", help="what patterns have in common but their form")
    script.option("--here", action="store_true", help=argparse.SUPPRESS)
    asked = script.arguments()
    counts = [int(each) for each in asked.patterns.split(",")]
    if asked.here:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
        script.add(Measured(counts[0], asked.engine, asked.alike).reported(asked.records))
    for count in () if asked.here else counts:
        more = ["--engine", asked.engine, "--records", str(asked.records), "--here", "--alike", asked.alike]
        for row in script.apart("--patterns", count, *more):
            script.add(row)
    script.hand_out()


class Measured:
    """A host with patterns, and a writer of records for it."""

    def __init__(self, patterns: int, engine: str, alike: str) -> None:
        """Start the host, and adopt the patterns."""
        self.count, self.engine, self.alike = patterns, engine, alike
        self.log = MemoryLog()
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(STREAM)])
        self.writer: LogWriter = self.log.writer()
        for number in range(patterns):
            self.register(number)
        before, begun = resident_bytes(), time.process_time()
        clock = SystemClock()
        records = HostRecords(TOPICS, "matcher_timing", 0, clock)
        self.host = MatcherHost(self.log, MemoryCheckpoints(), records, clock, HostSettings(linger_seconds=0.001))
        self.host.open()
        self.adopted_s = time.process_time() - begun
        self.bytes_a_pattern = (resident_bytes() - before) / patterns
        self.ts = 0

    def register(self, number: int) -> None:
        """Write the plan of a pattern, as the planner would."""
        text = _TEXT.format(number, number if self.alike == "nothing" else 0, 1000 + number * (self.alike == "label"))
        self.writer.write([make_plan(TOPICS, text, self.engine)])

    def reported(self, records: int) -> dict[str, object]:
        """Measure, and return what was measured."""
        measurements: dict[str, object] = {"patterns": self.count, "engine": self.engine, "adopted_s": round(self.adopted_s, 2)}
        measurements["bytes_a_pattern"] = round(self.bytes_a_pattern)
        for label in (UNWANTED, WANTED):
            for length, times in ((1, records), (LONG, max(1, records // 40))):
                self.microseconds(label, length, max(1, times // 10))
                measurements[f"{label}_{length}_us"] = round(self.microseconds(label, length, times), 1)
        measurements["one_more_ms"] = [round(self.one_more(number), 1) for number in range(self.count, self.count + 5)]
        return measurements

    def microseconds(self, label: str, length: int, records: int) -> float:
        """Return the processor time of one of so many records."""
        self.writer.write(list(ordered_records(TOPICS.ordered(STREAM), list(self.edges(label, length * records)), length)))
        begun = time.process_time()
        self.catch_up()
        return (time.process_time() - begun) / records * 1e6

    def one_more(self, number: int) -> float:
        """Return the milliseconds of the round that adopts one more pattern."""
        self.register(number)
        begun = time.perf_counter()
        self.host.step()
        return (time.perf_counter() - begun) * 1e3

    def catch_up(self) -> None:
        """Let the host take all records that there are."""
        place = TopicPartition(TOPICS.ordered(STREAM), 0)
        reader = self.log.reader("bench.matcher_timing.0")
        _, end = reader.ends([place])[place]
        while (done := reader.committed([place])[place]) is None or done.offset < end:
            self.host.step()
        reader.close()

    def edges(self, label: str, count: int) -> Iterator[Edge]:
        """Yield edges of one label, two a tick."""
        for number in range(count):
            self.ts += number % 2
            ends = VertexId(f"v{number % 1000}"), VertexId(f"w{number % 997}")
            yield Edge(EdgeId(f"e{self.ts}.{number}"), EventTime(self.ts), *ends, label)


if __name__ == "__main__":
    main()
