"""Frames of polars are made without pyarrow, and are what polars makes of its tables."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import graphtide
import polars as pl
import pytest
from graphtide import MatchOptions
from graphtide.matches import MatchList
from graphtide_query import print_pattern
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
from polars.testing import assert_frame_equal

if TYPE_CHECKING:
    from pathlib import Path

STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, max_records=60)
PATTERNS = """
PATTERN edges MATCH (x)-[e:a]->(y)-[f:b]->(z) ON s WINDOW 50 RETURN e.n AS n, f.s AS s
PATTERN component MATCH (x)-[e:a]->(y)-[f:b]->(z) UNDER DUAL SIMULATION ON s WINDOW 50 REPORT CHANGES
QUERY reach
RL(x, y) <- a+(x, y).
Answer(x, y) <- /~RL :b?/(x, y) AS p.
ON s WINDOW(40)
RETURN p
"""


def by_arrow(matches: MatchList) -> pl.DataFrame:
    frame = pl.from_arrow(matches.to_arrow())
    assert isinstance(frame, pl.DataFrame)
    return frame


def compare(matches: MatchList) -> pl.DataFrame:
    found = matches.to_polars()
    assert_frame_equal(found, by_arrow(matches), categorical_as_str=True)
    return found


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_matches_of_all_families(unit: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(to_json_lines(random_stream(random.Random(5), STREAM)))
    session = graphtide.Session(PATTERNS, MatchOptions(time_unit=unit))
    matches = MatchList([*session.run(path)], session.patterns, unit)
    assert len(compare(matches)) > 10
    assert compare(MatchList([], session.patterns, unit)).height == 0
    assert compare(MatchList(matches, None, unit)).height == len(matches)


def test_random_queries(tmp_path: Path) -> None:
    path, rows = tmp_path / "s.jsonl", 0
    for seed in seeds(20):
        rng = random.Random(seed)
        query = random_graph_query(rng, GraphQueryShape(conditions=False))
        path.write_bytes(to_json_lines(random_stream(rng, STREAM)))
        session = graphtide.Session(print_pattern(query))
        rows += len(compare(MatchList([*session.run(path)], session.patterns)))
    assert rows > 50


VALUES: tuple[list[object], ...] = (
    [1, 2, None],
    [1.5, 2.25],
    [1, 2.5],
    [2**60 + 1, 2.5],
    [2**60 + 1, 2],
    [True, None],
    ["a", "b"],
    [1, "x"],
    [True, 1],
    [True, 2.5],
    [None, None],
)


@pytest.mark.parametrize("values", VALUES, ids=str)
def test_what_patterns_return(values: list[object]) -> None:
    text = "PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 9 RETURN x.v AS v"
    records = [{"ts": ts, "src": "a", "dst": "b", "label": "k", "v": value} for ts, value in enumerate(values)]
    session = graphtide.Session(text)
    assert compare(MatchList([*session.run(records)], session.patterns)).height == len(values)


@pytest.mark.parametrize("values", [(1, 2), (1, 2.5), (None, 1), ("x", "y"), (True, None), (1, "x"), ()], ids=str)
def test_lists_that_patterns_return(values: tuple[object, ...]) -> None:
    text = "PATTERN p SEQ(a:A+, b:B) ON s WITHIN 90ms RETURN a.v AS v"
    records = [{"ts": ts, "type": "A", "v": value} for ts, value in enumerate((*values, 7))]
    session = graphtide.Session(text)
    compare(MatchList([*session.run([*records, {"ts": 50, "type": "B"}])], session.patterns))


def test_a_time_past_milliseconds_is_refused() -> None:
    records = [{"ts": ts, "src": "a", "dst": "b", "label": "k"} for ts in (1, 2**60)]
    matches = graphtide.match("PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 9", records, MatchOptions(time_unit="s"))
    with pytest.raises(ValueError, match=f"polars counts milliseconds, and not all times .* fit into 64 bits so: {2**60} s"):
        matches.to_polars()
