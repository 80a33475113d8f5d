"""From an edge's send to its match's receipt, through every service and real servers, at a steady rate.

`python shared/bench/services/latency.py [--rate 20000] [--seconds 20] [--profile throughput|low-latency] [--together 20]
[--stages] [--http] [--registering 1000]`

Every hundredth edge is a match by itself. Edges are written to the raw topic, some together in a record, or sent over HTTP,
some together in a request. Their ids are the times of their sending. Plain consumers read matches, and with `--stages` what
comes before them. With `--registering` as many patterns more that want the same edges are registered meanwhile, each as soon as
the one before runs. The run lasts until the last does. Everything runs on one machine, the clock too. The first edges are sent
before any counts, so that the broker's code is compiled and every client has its connections.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from graphtide_bench.frame.script import Script
from graphtide_core.ids import StreamName
from graphtide_testing.whole import Whole
from stages import Stage, Watch, in_match, stages_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from stages import Seen

PATTERN = "PATTERN hit MATCH (a)-[x:hit]->(b) ON s WINDOW 10s"
MORE = "PATTERN more{0} MATCH (a)-[x:hit]->(b)-[y:more{0}]->(c) ORDER x < y ON s WINDOW 10s"
"""Patterns that are registered meanwhile: they keep what matches the first."""
STREAM = StreamName("s")
EVERY = 100
"""Among so many edges one matches."""
FIRST = 1 << 40
"""Number of the first edge that counts."""
WARM_SECONDS = 8.0
SERVICES = ("ingestion", "matcher_timing", "matcher_sjtree")
AS_OPERATED = {"CHECKPOINT_SECONDS": "5.0", "COUNTS_SECONDS": "2.0", "LINGER_SECONDS": "0.2"}
"""What tests set otherwise."""


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--rate", type=int, default=20_000)
    script.option("--seconds", type=float, default=20.0)
    script.option("--profile", default="throughput", choices=["throughput", "low-latency"])
    script.option("--together", type=int, default=20, help="edges in a record or request")
    script.option("--stages", action="store_true", help="print where the time goes, too")
    script.option("--http", action="store_true", help="send over HTTP")
    script.option("--registering", type=int, default=0, help="patterns that are registered meanwhile")
    asked = script.arguments()
    settings = {name: {"PROFILE": asked.profile, **(AS_OPERATED if "matcher" in name else {})} for name in SERVICES}
    with tempfile.TemporaryDirectory() as folder:
        whole = Whole(Path(folder), settings)
        try:
            whole.start()
            whole.register(PATTERN)
            handing_over = over_http(whole) if asked.http else to_kafka(whole)
            registering = Registering(whole, asked.registering)
            found = measure(whole, handing_over, registering, asked)
        finally:
            whole.end()
    reported = {"profile": asked.profile, "rate": asked.rate, "together": asked.together}
    script.add({**reported, **found})
    script.hand_out()


class Registering(Thread):
    """Registers patterns one by one, each as soon as the one before runs."""

    def __init__(self, whole: Whole, patterns: int) -> None:
        """Register so many over HTTP, once it is started."""
        super().__init__(daemon=True)
        self._whole, self._patterns = whole, patterns
        self.seconds = 0.0

    def run(self) -> None:
        """Register."""
        begun = time.monotonic()
        for number in range(self._patterns):
            self._whole.register(MORE.format(number))
        self.seconds = time.monotonic() - begun


def measure(
    whole: Whole, handing_over: Callable[[bytes], None], registering: Registering, asked: argparse.Namespace
) -> dict[str, object]:
    """Send for so many seconds; return milliseconds by quantile, and seconds of processor time by process."""
    rate, together, stages = asked.rate, asked.together, asked.stages
    topics, bootstrap = whole.deployment.topics, whole.deployment.kafka.bootstrap
    last = Stage("match, committed", topics.matches, True, in_match)
    watches = [Watch(bootstrap, stage) for stage in [*(stages_of(topics, STREAM) if stages else []), last]]
    send(handing_over, rate, together, 0, lambda passed: passed < WARM_SECONDS)
    begun, before = time.time(), whole.usage()
    registering.start()
    took, count = send(handing_over, rate, together, FIRST, lambda passed: passed < asked.seconds or registering.is_alive())
    after = whole.usage()
    time.sleep(2)
    seen = [watch.end() for watch in watches]
    sent = {id: int(id.split("-")[0]) / 1e9 for id in seen[-1]}
    counted = {id: at for id, at in sent.items() if at >= begun}
    found: dict[str, object] = {
        "edges_per_second": round(count / took),
        "matches": len(counted),
        "expected": -(-(FIRST + count) // EVERY) + -FIRST // EVERY,
        **quantiles(counted, seen[-1]),
        "cpu_seconds": {name: round(after[name].cpu_seconds - before[name].cpu_seconds, 2) for name in after},
    }
    if asked.registering:
        found["registering"] = {"patterns": asked.registering, "seconds": round(registering.seconds, 1)}
    if stages:
        froms = [counted, *seen]
        found["stages"] = {
            watch.stage.name: quantiles({id: source[id] for id in counted if id in source}, target)
            for watch, source, target in zip(watches, froms, seen, strict=False)
        }
    return found


def quantiles(earlier: Mapping[str, float], later: Seen) -> dict[str, float]:
    """Return the milliseconds from one time to the other of the edges that have both."""
    passed = sorted((later[id] - at) * 1000 for id, at in earlier.items() if id in later)
    return {
        "p50_ms": round(statistics.median(passed), 1),
        "p95_ms": round(passed[int(len(passed) * 0.95)], 1),
        "p99_ms": round(passed[int(len(passed) * 0.99)], 1),
        "greatest_ms": round(passed[-1], 1),
    }


def send(
    handing_over: Callable[[bytes], None], rate: int, together: int, first: int, continues: Callable[[float], bool]
) -> tuple[float, int]:
    """Send edges in time, while `continues` holds for the seconds passed; return the time that it took and the edges sent."""
    begun, count = time.perf_counter(), 0
    while continues(passed := time.perf_counter() - begun):
        if count > passed * rate:
            time.sleep(0.0005)
            continue
        now = time.time_ns()
        handing_over("".join(edge(number, now) for number in range(first + count, first + count + together)).encode())
        count += together
    return time.perf_counter() - begun, count


def to_kafka(whole: Whole) -> Callable[[bytes], None]:
    """Return what writes edges to the raw topic."""
    topic = whole.deployment.topics.raw(STREAM)
    producer = Producer({"bootstrap.servers": whole.deployment.kafka.bootstrap, "linger.ms": 5})

    def write(lines: bytes) -> None:
        producer.produce(topic, lines, partition=0)
        producer.poll(0)

    return write


def over_http(whole: Whole) -> Callable[[bytes], None]:
    """Return what sends edges over one connection, and waits for each answer."""
    connection = HTTPConnection(whole.edges.base_url.host, whole.edges.base_url.port or 80)

    def post(lines: bytes) -> None:
        connection.request("POST", f"/api/v1/streams/{STREAM}/edges", lines, {"content-type": "application/x-ndjson"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 202:
            raise SystemExit(str(answer.status))

    return post


def edge(number: int, now: int) -> str:
    """Return a line of the raw topic."""
    label = "hit" if number % EVERY == 0 else "other"
    return f'{{"id":"{now}-{number}","ts":{now // 1_000_000},"src":"a{number % 997}","dst":"b","label":"{label}"}}\n'


if __name__ == "__main__":
    main()
