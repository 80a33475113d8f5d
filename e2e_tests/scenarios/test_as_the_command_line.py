"""The whole system finds what the command line finds: real processes, real servers, plain clients."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from graphtide_core.ids import StreamName
from graphtide_query import parse
from graphtide_testing.command_line import by_command_line, ids
from graphtide_testing.data import stream_or_stand_in
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

IOT = """
PATTERN beaconing
MATCH (bot:host)-[a:irc]->(c2:host), (bot)-[b:irc]->(c2)
WHERE a.dst_port = b.dst_port
ORDER a < b
ON iot WINDOW 1m
---
PATTERN scan_then_connect
MATCH (bot:host)-[probe:tcp]->(victim:host), (bot)-[other]->(third:host), (bot)-[hit]->(victim)
WHERE probe.conn_state = "S0" AND other.conn_state = "S0" AND hit.src_bytes > 0
ORDER probe < hit, other < hit
ON iot WINDOW 1m
"""
CHUNK = 2_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """All services, for tests that have a stream each."""
    made = Whole(tmp_path_factory.mktemp("whole"))
    made.start()
    yield made
    made.end()


def emitted_by(whole: Whole, patterns: str) -> Counter[str]:
    """Return the ids of the matches of these patterns."""
    names = {str(pattern.name) for pattern in parse(patterns.replace("---", ""))}
    return ids(record for record in whole.matches() if json.loads(record)["query"] in names)


def test_generated_flows_over_http(whole: Whole, tmp_path: Path) -> None:
    stream, pattern = tmp_path / "flows.csv", tmp_path / "flows.gtp"
    command = [sys.executable, "-m", "graphtide", "generate", "network", "--records", "20000", "--planted", "8"]
    subprocess.run([*command, "--output", str(stream), "--pattern", str(pattern)], capture_output=True, check=True)
    patterns = pattern.read_text()
    with stream.open() as source:
        rows = list(csv.DictReader(source))
    name = whole.register(patterns)["stream"]
    for start in range(0, len(rows), CHUNK):
        lines = "".join(json.dumps(convert_numbers(row)) + "\n" for row in rows[start : start + CHUNK])
        answer = whole.send(name, lines.encode())
        assert answer["rejected"] == 0
    whole.settle(name)

    expected = by_command_line(tmp_path, patterns, stream)
    assert sum(expected.values()) == 8
    assert emitted_by(whole, patterns) == expected


COUNTING = """
PATTERN onwards
MATCH (a)-[x]->(b)-[y]->(c)
ORDER x < y
ON counted WINDOW 30 EDGES
---
PATTERN around
MATCH (a)-[x]->(b)-[y]->(c)
UNDER DUAL SIMULATION REPORT INSTANCES
ON counted WINDOW 12 EDGES
"""


@pytest.mark.slow
def test_windows_that_count_edges_over_http(whole: Whole, tmp_path: Path) -> None:
    stream = tmp_path / "flows.csv"
    command = [sys.executable, "-m", "graphtide", "generate", "network", "--records", "6000", "--planted", "4"]
    subprocess.run([*command, "--output", str(stream)], capture_output=True, check=True)
    with stream.open() as source:
        rows = list(csv.DictReader(source))
    for text in COUNTING.split("---"):
        whole.register(text)
    for start in range(0, len(rows), CHUNK):
        lines = "".join(json.dumps(convert_numbers(row)) + "\n" for row in rows[start : start + CHUNK])
        assert whole.send("counted", lines.encode())["rejected"] == 0
    whole.settle("counted")

    expected = by_command_line(tmp_path, COUNTING, stream)
    assert sum(expected.values()) > 100
    assert emitted_by(whole, COUNTING) == expected


def test_iot_flows_over_http_and_kafka(whole: Whole, tmp_path: Path) -> None:
    with gzip.open(stream_or_stand_in("iot23_34_1.csv.gz"), "rt") as source:
        rows = list(islice(csv.DictReader(source), 20_000))
    stream = tmp_path / "iot.csv"
    with stream.open("w", newline="") as target:
        writer = csv.DictWriter(target, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    for text in IOT.split("---"):
        whole.register(text)
    half = len(rows) // 2
    lines = [json.dumps(convert_numbers(row)).encode() for row in rows]
    for start in range(0, half, CHUNK):
        whole.send("iot", b"\n".join(lines[start : min(start + CHUNK, half)]) + b"\n")
    whole.settle("iot")
    producer = Producer({"bootstrap.servers": whole.deployment.kafka.bootstrap})
    for line in lines[half:]:
        producer.produce(whole.deployment.topics.raw(StreamName("iot")), line, key=b"sensor", partition=0)
        producer.poll(0)
    producer.flush(60)
    whole.settle("iot")

    expected = by_command_line(tmp_path, IOT, stream)
    assert sum(expected.values()) > 100
    assert emitted_by(whole, IOT) == expected


def convert_numbers(row: dict[str, str]) -> dict[str, object]:
    """Return a CSV record as JSON has it: with numbers, without what is missing."""
    names = {"src", "dst", "label", "src_label", "dst_label", "id", "op"}
    return {key: value if key in names else number(value) for key, value in row.items() if value != ""}


def number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
