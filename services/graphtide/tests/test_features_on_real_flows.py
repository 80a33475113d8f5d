"""A beacon and a scan among real flows, each found by a pattern of one edge over a feature."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from typing import TYPE_CHECKING, Final

import graphtide
from graphtide_testing.data import real_stream

if TYPE_CHECKING:
    from pathlib import Path

STATED: Final = """STREAM flows
FEATURE calls = count(*) PER src, dst, dst_port OVER 1h
FEATURE burst = count(*) PER src, dst, dst_port OVER 10s
FEATURE fan_out = count(DISTINCT dst) PER src, dst_port OVER 1m
"""
BEACON: Final = (
    "PATTERN beacon MATCH (a)-[e]->(b) WHERE e.calls >= 200 AND e.burst <= 10 RETURN e.truth_detail AS truth ON flows WINDOW 1m"
)
SCAN: Final = "PATTERN scan MATCH (a)-[e]->(b) WHERE e.fan_out >= 20 RETURN e.id AS id ON flows WINDOW 1m"
PROBED: Final = 25


def flows() -> list[dict[str, str]]:
    """Return a day of flows of an infected device, with which of them are malicious."""
    with gzip.open(real_stream("iot23_34_1.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, records: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def test_a_beacon_is_calls_that_are_many_in_an_hour_and_few_at_a_time(tmp_path: Path) -> None:
    records = flows()
    options = graphtide.MatchOptions(stream=STATED)
    truth = Counter(each.fields["truth"] for each in graphtide.match(BEACON, write(tmp_path / "flows.csv", records), options))
    # Nearly all calls of its controller, and nothing else.
    assert set(truth) == {"C&C"}
    assert truth["C&C"] > 0.9 * sum(each["truth_detail"] == "C&C" for each in records)


def test_a_scan_is_the_twentieth_host_within_a_minute(tmp_path: Path) -> None:
    records = flows()
    begin = int(records[len(records) // 2]["ts"])
    probes = [
        {**dict.fromkeys(records[0], ""), "ts": str(begin + 1_000 * number), "src": "192.168.1.77", "label": "tcp"}
        | {"dst": f"192.168.1.{number}", "dst_port": "23", "id": f"probe{number}"}
        for number in range(PROBED)
    ]
    mixed = sorted([*records, *probes], key=lambda each: int(each["ts"]))
    found = graphtide.match(SCAN, write(tmp_path / "flows.csv", mixed), graphtide.MatchOptions(stream=STATED))
    assert [each.fields["id"] for each in found] == [f"probe{number}" for number in range(19, PROBED)]
