"""Slices report together what one pass reports, each match and each retraction once, wherever they are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphtide_backfill.domain.blocks import WHOLE, cut
from graphtide_backfill.domain.duplicates import Occurrence, dropped
from graphtide_backfill.domain.matching import SliceMatching
from graphtide_backfill.domain.slices import slices_at
from graphtide_backfill.domain.task import Task
from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import InvalidQueryError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.pattern import Report
from graphtide_core.time import EventTime
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_query import parse_subgraphs
from graphtide_query.families import AUTO, FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.patterns import PatternShape, patterns
from graphtide_testing.strategies.streams import StreamShape, edge_streams
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from random import Random

    from graphtide_backfill.domain.blocks import Block
    from graphtide_backfill.domain.slices import Slice
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_testing.found import Found
    from hypothesis.strategies import DrawFn

STREAM = StreamShape(max_records=40)
PATTERN = PatternShape(max_edges=3, max_window=9, stream=STREAM)


def duplicates_of(edges: list[Edge], window: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    in_order = sorted(range(len(edges)), key=lambda arrival: (edges[arrival].ts, arrival))
    occurrences = [
        Occurrence(edges[arrival].id, edges[arrival].ts, arrival, edges[arrival].operation is Operation.DELETE)
        for arrival in in_order
        if not edges[arrival].made
    ]
    return np.array(sorted(dropped(occurrences, window)), np.int64)


def blocks_for(edges: list[Edge], task: Task, slices: tuple[Slice, ...], batch: int) -> list[Block]:
    decoder = JsonLinesDecoder(Symbols(), task.attributes, {})
    duplicates = duplicates_of(edges, task.window)
    batches = [edges[start : start + batch] for start in range(0, len(edges), batch)]
    found: list[Block] = []
    for place, part in enumerate(batches):
        settled = min((edge.ts for later in batches[place + 1 :] for edge in later), default=WHOLE)
        decoded = decoder.decode(to_json_lines(part))
        found += cut(decoded, slices, task.window, place=place, settled=settled, duplicates=duplicates)
    return found


def by_slices(edges: list[Edge], task: Task, slices: tuple[Slice, ...], batch: int = 7) -> list[Found]:
    blocks = blocks_for(edges, task, slices, batch)
    lines: list[bytes] = []
    for each in slices:
        matching = SliceMatching(task, each, deletions=True)
        own = [block for block in blocks if block.slice == each.number]
        lines += [record.json for found in matching.matches(own) for record in found]
    return keys_in_json_lines(b"\n".join(lines))


def in_one_pass(edges: list[Edge], task: Task) -> list[Found]:
    feed = Feed(*(plan(pattern, "timing") for pattern in subgraphs_alone(task.patterns)))
    return feed.push(*edges)


@st.composite
def cut_streams(draw: DrawFn, shape: StreamShape = STREAM) -> tuple[list[Edge], list[int], int]:
    edges = list(draw(edge_streams(shape, min_records=1)))
    first, last = edges[0].ts, edges[-1].ts + 1
    inner = draw(st.sets(st.integers(first, last), max_size=6))
    return edges, sorted({first, last, *inner}), draw(st.integers(1, 12))


@given(cut_streams(), patterns(PATTERN), st.sampled_from((AUTO, *FAMILIES["isomorphism"].names)))
def test_slices_report_what_the_oracle_does(
    stream: tuple[list[Edge], list[int], int], pattern: SubgraphPattern, engine: str
) -> None:
    edges, bounds, batch = stream
    found = by_slices(edges, Task((pattern,), engine), slices_at(bounds), batch)
    assert found == sorted(SubgraphOracle(pattern).run(edges))


@given(cut_streams(), patterns(replace(PATTERN, report=Report.MAXIMAL)), st.sampled_from((AUTO, *FAMILIES["simulation"].names)))
def test_slices_report_the_components_that_one_pass_does(
    stream: tuple[list[Edge], list[int], int], pattern: SubgraphPattern, engine: str
) -> None:
    edges, bounds, batch = stream
    found = by_slices(edges, Task((pattern,), engine), slices_at(bounds), batch)
    assert found == Feed(plan(pattern, "ddst-baseline")).push(*edges)


def test_a_window_of_edges_is_refused() -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 500 EDGES")
    with pytest.raises(InvalidQueryError, match="'p' has a window of edges, WINDOW 500 EDGES; match it on the command line"):
        Task((pattern,))


@pytest.mark.parametrize("report", ["INSTANCES", "CHANGES"])
def test_what_follows_from_slices_before_is_refused(report: str) -> None:
    (pattern,) = parse_subgraphs(f"PATTERN p MATCH (a)-[x]->(b) UNDER DUAL SIMULATION REPORT {report} ON s WINDOW 10")
    with pytest.raises(InvalidQueryError, match=f"what 'p' reports under REPORT {report}"):
        Task((pattern,))


def test_an_engine_of_another_family_is_refused() -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x]->(b) UNDER DUAL SIMULATION ON s WINDOW 10")
    with pytest.raises(InvalidQueryError, match="the engine timing is not for patterns under dual simulation"):
        Task((pattern,), "timing")


@given(cut_streams(), patterns(PATTERN), patterns(PATTERN))
def test_slices_of_two_patterns_report_what_one_pass_does(
    stream: tuple[list[Edge], list[int], int], one: SubgraphPattern, other: SubgraphPattern
) -> None:
    edges, bounds, batch = stream
    task = Task((one, other), "timing")
    assert by_slices(edges, task, slices_at(bounds), batch) == in_one_pass(edges, task)


@given(cut_streams(replace(STREAM, nameless=False)), patterns(PATTERN), st.randoms(use_true_random=False))
def test_history_in_any_order_is_matched_in_the_order_of_time(
    stream: tuple[list[Edge], list[int], int], pattern: SubgraphPattern, rng: Random
) -> None:
    edges, bounds, batch = stream
    rng.shuffle(edges)
    in_order = sorted(edges, key=lambda edge: edge.ts)
    task = Task((pattern,), "timing")
    assert by_slices(edges, task, slices_at(bounds), batch) == in_one_pass(in_order, task)


@given(edge_streams(StreamShape(duplicates=True, gaps=(0, 1, 2, 3), vertices=2)), st.integers(1, 12))
def test_duplicates_are_those_that_the_stream_drops(edges: tuple[Edge, ...], window: int) -> None:
    batch = JsonLinesDecoder(Symbols(), (), {}).decode(to_json_lines(edges))
    kept = Duplicates(window).filter(batch).ordinals
    assert sorted({*batch.ordinals} - {*kept}) == list(duplicates_of(list(edges), window))


def test_times_before_the_first_slice_are_looked_at_and_not_reported() -> None:
    (pattern,) = parse_subgraphs("PATTERN chain MATCH (a)-[x]->(b)-[y]->(c) ORDER x < y ON s WINDOW 10")
    edges = [edge(1, "a", "b"), edge(5, "b", "c"), edge(9, "c", "d"), edge(12, "d", "e")]
    found = by_slices(edges, Task((pattern,)), slices_at([9, 12]))
    assert [each.detected_at for each in found] == [9]


def test_bounds_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(ValueError, match="ascend"):
        slices_at([1, 5, 5])


def edge(ts: int, source: str, target: str) -> Edge:
    return Edge(id=EdgeId(f"e{ts}"), ts=EventTime(ts), source=VertexId(source), target=VertexId(target), label="x")
