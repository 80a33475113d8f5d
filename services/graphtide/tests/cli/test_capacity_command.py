"""`graphtide capacity`, by its function, and the formulas behind it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import typer
from graphtide.capacity import (
    CHECKPOINT_BYTES,
    MATCHER_NANOSECONDS,
    ORDERED_BYTES,
    REDIS_BYTES,
    SEQUENCER_RATE,
    Component,
    Estimate,
    Load,
    estimate,
)
from graphtide.cli.capacity import capacity
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

if TYPE_CHECKING:
    from typer.testing import Result


def run(*arguments: object) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(capacity)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def of(found: Estimate, name: str) -> Component:
    (component,) = [each for each in found.components if each.name == name]
    return component


def test_the_table_shows_every_component_and_their_sum() -> None:
    ended = run("--edges-per-second", 20000, "--patterns", 1000)
    assert ended.exit_code == 0, ended.output
    for name in ("ingestion, HTTP", "ingestion, sequencers", "matchers", "Redis", "Kafka", "all"):
        assert name in ended.stdout
    assert ended.stdout.endswith("partitions of each raw topic: 4\n")


def test_json_has_the_load_and_what_it_needs() -> None:
    ended = run("--edges-per-second", 20000, "--patterns", 1000, "--window", "1h", "--format", "json")
    found = json.loads(ended.stdout)
    assert found["load"]["window_seconds"] == 3600
    assert [each["name"] for each in found["components"]][:3] == ["ingestion, HTTP", "ingestion, sequencers", "matchers"]
    assert found["warnings"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--patterns", 1], "edges-per-second"),
        (["--edges-per-second", 0, "--patterns", 1], "0.001"),
        (["--edges-per-second", 5, "--patterns", 1, "--window", "10"], "has no unit"),
        (["--edges-per-second", 5, "--patterns", 1, "--retention", "soon"], "not a duration"),
        (["--edges-per-second", 5, "--patterns", 1, "--format", "xml"], "xml"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[object], said: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 2
    assert said in ended.output


def test_disk_and_redis_are_what_is_kept() -> None:
    load = Load(1_000.0, 10, window_seconds=60.0, wanted=0.5, retention_seconds=3600.0, edge_bytes=100.0, replication=2)
    found = estimate(load)
    assert of(found, "Kafka").disk_bytes == 1_000 * 3600 * (100 + ORDERED_BYTES) * 2
    assert of(found, "Redis").memory_bytes == REDIS_BYTES + 30_000 * CHECKPOINT_BYTES


def test_shards_divide_what_patterns_cost_and_not_what_a_stream_costs() -> None:
    load = Load(100_000.0, 10_000)
    shards = of(estimate(load), "matchers")
    reading = load.edges_per_second * MATCHER_NANOSECONDS / 1e9
    matching = load.edges_per_second * load.patterns * load.pattern_nanoseconds / 1e9
    assert shards.instances == -(-matching // (load.use - reading))
    assert shards.cores == pytest.approx(shards.instances * reading + matching)
    assert of(estimate(replace(load, streams=10)), "matchers").instances < shards.instances


def test_a_load_that_no_number_of_shards_carries_is_said_to_be_one() -> None:
    (sequencer, counting, matchers) = estimate(Load(5_000_000.0, 10)).warnings
    assert "divide the stream into 31" in sequencer
    assert "statistics" in counting
    assert "no number of shards" in matchers


def test_a_stream_that_one_sequencer_orders_is_not_to_be_divided() -> None:
    fits = SEQUENCER_RATE * 0.5
    assert estimate(Load(fits, 1)).warnings == ()
    (said,) = estimate(Load(fits * 1.5, 1, streams=2)).warnings
    assert "several deployments" in said


def test_more_shards_than_patterns_are_said_to_be_no_use() -> None:
    (said,) = estimate(Load(10_000.0, 1, pattern_nanoseconds=1e6)).warnings
    assert "no use to 1: look" in said


@given(st.floats(1, 160_000), st.integers(0, 100_000), st.floats(0.2, 1.0), st.integers(1, 50))
def test_no_shard_works_more_than_is_planned_and_more_edges_need_no_less(
    edges: float, patterns: int, use: float, streams: int
) -> None:
    load = Load(edges, patterns, streams=streams, use=use)
    found, more = estimate(load), estimate(replace(load, edges_per_second=edges * 1.1))
    matchers = of(found, "matchers")
    assert matchers.cores <= matchers.instances * use * (1 + 1e-9)
    for one, other in zip(found.components, more.components, strict=True):
        assert (one.instances, one.cores, one.disk_bytes) <= (other.instances, other.cores, other.disk_bytes)
