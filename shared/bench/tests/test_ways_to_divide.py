"""Ways to divide a stream, by a model: what holds of every way, and the same drawing every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide.capacity import MATCHER_NANOSECONDS
from graphtide_bench.cli import app
from graphtide_bench.scaling.dividing import SHARDS, DivisionSettings, model_ways, table
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

SMALL = DivisionSettings(edges=2_000, vertices=1_000, keys=500)


def test_patterns_divide_no_stream() -> None:
    by_pattern = model_ways(SMALL)[0]
    assert by_pattern.copies == tuple(map(float, SHARDS))
    rates = {by_pattern.most_edges(place, 0.5) for place in range(len(SHARDS))}
    assert rates == {0.5e9 / MATCHER_NANOSECONDS}


def test_the_most_frequent_value_of_a_key_bounds_what_dividing_by_it_brings() -> None:
    by_key = model_ways(SMALL)[1]
    first = 1 / sum(1 / place for place in range(1, SMALL.keys + 1))
    assert by_key.greatest[0] == pytest.approx(1.0)
    assert by_key.greatest[-1] == pytest.approx(first)
    assert sorted(by_key.greatest, reverse=True) == list(by_key.greatest)


def test_an_edge_is_at_its_ends_and_the_farther_a_pattern_reaches_the_more_copies_there_are() -> None:
    near, farther, farthest = model_ways(SMALL)[2:]
    assert near.copies[0] == 1.0
    assert all(copies <= 2.0 for copies in near.copies)
    for one, other in ((near, farther), (farther, farthest)):
        assert all(few <= many for few, many in zip(one.copies, other.copies, strict=True))
    assert all(copies <= count for way in (near, farther, farthest) for copies, count in zip(way.copies, SHARDS, strict=True))
    assert all(
        copies / count <= greatest + 1e-9
        for way in (near, farther, farthest)
        for copies, count, greatest in zip(way.copies, SHARDS, way.greatest, strict=True)
    )


def test_the_command_prints_the_table_and_draws_the_same_picture_every_time(tmp_path: Path) -> None:
    drawn = []
    for name in ("one.svg", "other.svg"):
        arguments = ["scaling", "--edges", "2000", "--vertices", "1000", "--keys", "500", "--plot", str(tmp_path / name)]
        ended = CliRunner().invoke(app, arguments)
        assert ended.exit_code == 0, ended.output
        assert ended.stdout == table(model_ways(SMALL), 0.5)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1]
    assert b"Copies of an edge" in drawn[0]
