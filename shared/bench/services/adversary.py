"""How long ordinary patterns wait beside an adversary on one shard.

`python shared/bench/services/adversary.py [--engine re-search] [--policy shed] [--rate 2000] [--seconds 30]`

Twenty ordinary patterns run on a host over a log in memory, with the limits that services have by default. They run alone and
then beside a pattern whose search would never end (`graphtide_testing.adversary`). Edges come at a steady rate, some in a
record. The time from writing a record to its matches being committed is measured, from the first record on.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from typing import TYPE_CHECKING

import structlog
from graphtide_bench.frame.script import Script
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_serving.clock import SystemClock
from graphtide_testing.adversary import ADVERSARY, edges, ordinary
from graphtide_testing.ordered_records import ordered_records
from graphtide_wire import control
from graphtide_wire.topics import Topics
from hosts import make_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPICS = Topics("bench")
STREAM = StreamName("s")
TOGETHER = 20
"""Edges in a record."""


def main() -> None:
    """Measure, and show a row for each run."""
    script = Script(__file__, __doc__)
    script.option("--engine", default="re-search")
    script.option("--policy", default="shed", choices=["fail", "pause", "shed"])
    script.option("--rate", type=int, default=2_000)
    script.option("--seconds", type=float, default=30.0)
    asked = script.arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    for texts in (ordinary(), (*ordinary(), ADVERSARY)):
        found = measure(texts, asked.engine, asked.policy, asked.rate, asked.seconds)
        script.add({"engine": asked.engine, "patterns": len(texts), "rate": asked.rate, **found})
    script.hand_out()


def measure(texts: Sequence[str], engine: str, policy: str, rate: int, seconds: float) -> dict[str, object]:
    """Return how many milliseconds matches took, and what was said of the adversary."""
    log, clock = MemoryLog(), SystemClock()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(STREAM)])
    writer = log.writer()
    limits = control.LimitsForm(policy=policy)  # type: ignore[arg-type]  # one of the three
    writer.write([make_plan(TOPICS, text, engine, limits=limits) for text in texts])
    settings = HostSettings(linger_seconds=0.01)
    host = MatcherHost(log, MemoryCheckpoints(), HostRecords(TOPICS, "matcher_timing", 0, clock), clock, settings)
    host.open()
    records = list(ordered_records(TOPICS.ordered(STREAM), list(edges(0, int(rate * seconds))), TOGETHER))
    sent: list[float] = []

    def send() -> None:
        begun = time.perf_counter()
        for number, record in enumerate(records):
            time.sleep(max(0.0, begun + number * TOGETHER / rate - time.perf_counter()))
            sent.append(time.perf_counter())
            writer.write([record])

    sender = threading.Thread(target=send)
    sender.start()
    reader, passed = log.reader(None), []
    reader.assign({TopicPartition(TOPICS.matches, 0): 0})
    idle = 0
    while idle < 5:
        host.step()
        now = time.perf_counter()
        matches = [json.loads(record.value or b"{}") for record in reader.poll(0, 100_000)]
        passed += [now - sent[match["last_ts"] // TOGETHER] for match in matches if match["query"] != "adversary"]
        idle = 0 if sender.is_alive() or matches else idle + 1
    sender.join()
    passed.sort()
    return {
        "matches": len(passed),
        "p50_ms": round(statistics.median(passed) * 1000, 1),
        "p99_ms": round(passed[int(len(passed) * 0.99)] * 1000, 1),
        "greatest_ms": round(passed[-1] * 1000, 1),
        "adversary": _read_log(log),
    }


def _read_log(log: MemoryLog) -> str | None:
    reader = log.reader(None)
    reader.assign({TopicPartition(TOPICS.status, 0): 0})
    said = [control.decode_status(record.value) for record in reader.poll(0, 10**6) if record.value]
    return next((f"{each.state}: {each.reason}" for each in reversed(said) if each.name == "adversary"), None)


if __name__ == "__main__":
    main()
