"""From an edge's send to its match's receipt, through every service and real servers, at a steady rate.

`python e2e_tests/bench/latency.py [--rate 20000] [--seconds 20] [--profile throughput|low-latency]`

Every hundredth edge is a match by itself. Edges are written to the raw topic one a record; their ids are the times of their
sending. A plain consumer reads matches. Everything runs on one machine, the clock too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread

from confluent_kafka import Consumer, Producer
from graphtide_core.ids import StreamName
from graphtide_testing.whole import Whole

PATTERN = "PATTERN hit MATCH (a)-[x:hit]->(b) ON s WINDOW 10s"
EVERY = 100
"""Edges of which one matches."""


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--profile", default="throughput", choices=["throughput", "low-latency"])
    asked = parser.parse_args()
    settings = {"ingestion": {"PROFILE": asked.profile}}
    with tempfile.TemporaryDirectory() as folder:
        whole = Whole(Path(folder), settings)
        try:
            whole.start()
            whole.register(PATTERN)
            found = measure(whole, asked.rate, asked.seconds)
        finally:
            whole.end()
    sys.stdout.write(json.dumps({"profile": asked.profile, "rate": asked.rate, **found}) + "\n")


def measure(whole: Whole, rate: int, seconds: float) -> dict[str, float]:
    """Send for so many seconds, the first fifth of which does not count; return milliseconds by quantile."""
    latencies: list[float] = []
    over = Event()
    thread = Thread(target=receive, args=(whole, latencies, over))
    thread.start()
    begun, count = send(whole, rate, seconds)
    time.sleep(3)
    over.set()
    thread.join()
    warm = len(latencies) // 5
    kept = sorted(latencies[warm:])
    return {
        "edges_per_second": round(count / begun),
        "matches": len(latencies),
        "expected": count // EVERY,
        "p50_ms": round(statistics.median(kept), 1),
        "p95_ms": round(kept[int(len(kept) * 0.95)], 1),
        "p99_ms": round(kept[int(len(kept) * 0.99)], 1),
        "greatest_ms": round(kept[-1], 1),
    }


def send(whole: Whole, rate: int, seconds: float) -> tuple[float, int]:
    """Send edges in time; return how long it took and how many there were."""
    topic = whole.deployment.topics.raw(StreamName("s"))
    producer = Producer({"bootstrap.servers": whole.deployment.kafka.bootstrap, "linger.ms": 1})
    step = 0.002
    batch = max(1, int(rate * step))
    begun, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - begun) < seconds:
        if count > passed * rate:
            time.sleep(step / 4)
            continue
        for _ in range(batch):
            label = "hit" if count % EVERY == 0 else "other"
            now = time.time_ns()
            line = f'{{"id":"{now}-{count}","ts":{now // 1_000_000},"src":"a{count % 997}","dst":"b","label":"{label}"}}'
            producer.produce(topic, line.encode(), partition=0)
            count += 1
        producer.poll(0)
    producer.flush(30)
    return time.perf_counter() - begun, count


def receive(whole: Whole, latencies: list[float], over: Event) -> None:
    """Note how old matches are when they come."""
    consumer = Consumer(
        {
            "bootstrap.servers": whole.deployment.kafka.bootstrap,
            "group.id": "latency",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 5,
        }
    )
    consumer.subscribe([whole.deployment.topics.matches])
    while not over.is_set():
        message = consumer.poll(0.1)
        if message is None or message.error() is not None:
            continue
        now = time.time_ns()
        sent = int(json.loads(message.value() or b"{}")["edges"]["x"].split("-")[0])
        latencies.append((now - sent) / 1e6)
    consumer.close()


if __name__ == "__main__":
    main()
