"""Windows of a DataFrame have the counts of the native counter."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.statistics import StreamStatistics
from graphtide_preprocess import windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "ts long, src string, dst string, label string, id string"


def edges(count: int) -> list[tuple[int, str, str, str, str | None]]:
    chance = random.Random(7)
    found = [(ts, f"v{chance.randrange(6)}", f"v{chance.randrange(6)}", chance.choice("xyz"), f"e{ts}") for ts in range(count)]
    return [edge for edge in found if edge[1] != edge[2]]


def test_types_and_paths_of_windows_side_by_side_are_those_of_the_native_counter(spark: SparkSession) -> None:
    given = edges(60)
    symbols = Symbols()
    names = ("ts", "src", "dst", "label", "id")
    text = "".join(json.dumps(dict(zip(names, edge, strict=True))) + "\n" for edge in given)
    counter = StreamStatistics(symbols, 20, tumbling=True)
    ended = counter.push(JsonLinesDecoder(symbols, [], {}).decode(text.encode()))
    snapshots = [*ended, counter.snapshot()]

    found = windows(spark.createDataFrame([*given, given[3]], COLUMNS), 20)

    types = {(row.window, row.label): row.edges for row in found.types().collect()}
    assert types == {
        (number * 20, kind.label): count for number, each in enumerate(snapshots) for kind, count in each.types.items()
    }
    paths: dict[tuple[int, frozenset[tuple[str, str]]], int] = {}
    for row in found.paths().collect():
        key = (row.window, frozenset([(row.one.label, row.one.way), (row.other.label, row.other.way)]))
        paths[key] = paths.get(key, 0) + row.paths
    assert paths == {
        (number * 20, frozenset((end.kind.label, end.direction.value) for end in (path.first, path.second))): count
        for number, each in enumerate(snapshots)
        for path, count in (each.paths or {}).items()
    }


def test_an_edge_is_in_every_window_that_it_falls_in(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(25, "a", "b", "x", None), (-1, "a", "b", "x", None)], COLUMNS)
    found = {(row.ts, row.window) for row in windows(frame, 20, 10).edges().collect()}
    assert found == {(25, 10), (25, 20), (-1, -20), (-1, -10)}
    rates = {row.window: row.edges_per_second for row in windows(frame, 20).rates(ticks_per_second=10).collect()}
    assert rates == {20: 0.5, -20: 0.5}


@pytest.mark.parametrize(("length", "slide"), [(0, None), (10, 11), (10, 0)])
def test_windows_that_cannot_be_are_refused(spark: SparkSession, length: int, slide: int | None) -> None:
    with pytest.raises(ValueError, match="the slide is at most the length"):
        windows(spark.createDataFrame([], COLUMNS), length, slide)
