"""Real streams, or their stand-ins: every engine reports the same, and on a prefix what the oracle does."""

from __future__ import annotations

import gzip
from csv import DictReader
from itertools import islice
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide import MatchOptions, Storage, TimeUnit
from graphtide.readers import ReaderOptions, open_stream
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_testing.data import real_stream, stream_or_stand_in
from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle

if TYPE_CHECKING:
    from pathlib import Path

WAYS = (*((engine, Storage.MS_DAG) for engine in FAMILIES["isomorphism"].names), ("timing", Storage.INDEPENDENT))

IOT = """
PATTERN beaconing
MATCH (bot:host)-[a:irc]->(c2:host), (bot)-[b:irc]->(c2)
WHERE a.dst_port = b.dst_port
ORDER a < b
ON flows WINDOW 1m

PATTERN scan_then_connect
MATCH (bot:host)-[probe:tcp]->(victim:host), (bot)-[other]->(third:host), (bot)-[hit]->(victim)
WHERE probe.conn_state = "S0" AND other.conn_state = "S0" AND hit.src_bytes > 0
ORDER probe < hit, other < hit
ON flows WINDOW 1m
"""

QUESTIONS = """
PATTERN help_chain
MATCH (a:user)-[x:a2q]->(b:user), (b)-[y:a2q]->(c:user), (c)-[z:c2a]->(a)
ORDER x < y < z
ON mathoverflow WINDOW 1d

PATTERN answer_discussed
MATCH (asker:user)<-[a:a2q]-(helper:user), (asker)-[b:c2a]->(helper), (helper)-[c:c2a]->(asker)
ORDER a < b < c
ON mathoverflow WINDOW 12h

PATTERN comment_triangle
MATCH (a)-[x:c2q]->(b), (b)-[y:c2q]->(c), (c)-[z:c2q]->(a)
ON mathoverflow WINDOW 7d
"""

STREAMS = [
    ("iot23_34_1.csv.gz", IOT, TimeUnit.MILLISECOND, 20_000, 700),
    ("mathoverflow.csv.gz", QUESTIONS, TimeUnit.SECOND, 1_500, 1_500),
]


def options(engine: str, unit: TimeUnit, storage: Storage = Storage.MS_DAG) -> MatchOptions:
    return MatchOptions(engine=engine, time_unit=unit, storage=storage)


def prefix(path: Path, patterns: str, records: int) -> list[Edge]:
    """Read the first records again, in Python, for the oracle."""
    read = {"dst_port", "conn_state", "src_bytes"}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [
            Edge(
                id=EdgeId(row.get("id") or str(ordinal)),
                ts=EventTime(int(row["ts"])),
                source=VertexId(row["src"]),
                target=VertexId(row["dst"]),
                label=row["label"],
                source_label=row["src_label"],
                target_label=row["dst_label"],
                attributes={name: int(row[name]) if row[name].isdigit() else row[name] or None for name in read & row.keys()},
                made=not row.get("id"),
            )
            for ordinal, row in enumerate(islice(DictReader(file), records))
        ]


@pytest.mark.parametrize(("name", "text", "unit", "at_least", "records"), STREAMS)
def test_engines_agree_and_a_prefix_equals_the_oracle(
    name: str, text: str, unit: TimeUnit, at_least: int, records: int
) -> None:
    path = stream_or_stand_in(name)
    runs = {
        (engine, storage): keys(graphtide.match(text, path, options(engine, unit, storage)))
        for engine, storage in (
            *((engine, Storage.MS_DAG) for engine in FAMILIES["isomorphism"].names),
            ("timing", Storage.INDEPENDENT),
        )
    }
    timing, *others = runs.values()
    assert len(timing) >= at_least
    assert all(other == timing for other in others)
    edges = prefix(path, text, records)
    patterns = parse_subgraphs(text)
    expected = sorted(found for pattern in patterns for found in SubgraphOracle(pattern, unit).run(edges))
    assert expected, "the prefix must have matches"
    assert keys(graphtide.match(text, edges, options("timing", unit))) == expected
    last = edges[-1].ts
    assert [found for found in timing if found.detected_at < last] == [f for f in expected if f.detected_at < last]


def test_a_whole_real_stream_is_read_without_a_dead_letter() -> None:
    path = real_stream("mathoverflow.csv.gz")
    reader = open_stream(path, ReaderOptions(time_unit=TimeUnit.SECOND))
    assert sum(len(batch) for batch in reader.batches()) == 506_550
    assert reader.take_dead_letters() == []
