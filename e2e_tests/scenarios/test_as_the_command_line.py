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
from graphtide_testing.command_line import by_command_line, ids
from graphtide_testing.data import stream_or_stand_in
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("servers"), pytest.mark.timeout(600)]

IOT = """
PATTERN beaconing
MATCH (bot:host)-[a:irc]->(c2:host), (bot)-[b:irc]->(c2)
WHERE a.dst_port = b.dst_port
ORDER a < b
ON flows WINDOW 1m
---
PATTERN scan_then_connect
MATCH (bot:host)-[probe:tcp]->(victim:host), (bot)-[other]->(third:host), (bot)-[hit]->(victim)
WHERE probe.conn_state = "S0" AND other.conn_state = "S0" AND hit.src_bytes > 0
ORDER probe < hit, other < hit
ON flows WINDOW 1m
"""
CHUNK = 2_000


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    made = Whole(tmp_path)
    made.start()
    yield made
    made.end()


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
    assert ids(whole.matches()) == expected


COUNTING = """
PATTERN onwards
MATCH (a)-[x]->(b)-[y]->(c)
ORDER x < y
ON flows WINDOW 30 EDGES
---
PATTERN around
MATCH (a)-[x]->(b)-[y]->(c)
UNDER DUAL SIMULATION REPORT INSTANCES
ON flows WINDOW 12 EDGES
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
        assert whole.send("flows", lines.encode())["rejected"] == 0
    whole.settle("flows")

    expected = by_command_line(tmp_path, COUNTING, stream)
    assert sum(expected.values()) > 100
    assert ids(whole.matches()) == expected


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
        whole.send("flows", b"\n".join(lines[start : min(start + CHUNK, half)]) + b"\n")
    whole.settle("flows")
    producer = Producer({"bootstrap.servers": whole.deployment.kafka.bootstrap})
    for line in lines[half:]:
        producer.produce(whole.deployment.topics.raw(StreamName("flows")), line, key=b"sensor", partition=0)
        producer.poll(0)
    producer.flush(60)
    whole.settle("flows")

    expected = by_command_line(tmp_path, IOT, stream)
    assert sum(expected.values()) > 100
    assert ids(whole.matches()) == expected


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
