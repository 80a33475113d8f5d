"""Slices report together what one pass reports, each match and each retraction once, wherever they are cut."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import graphtide
import numpy as np
import pytest
from graphtide_backfill.domain.blocks import cut
from graphtide_backfill.domain.duplicates import ROWS_OF_A_RECORD, Occurrence, drop
from graphtide_backfill.domain.matching import SliceMatching
from graphtide_backfill.domain.slices import slices_at
from graphtide_backfill.domain.task import Task
from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import InvalidQueryError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import MatchKind, result_id
from graphtide_core.pattern import Report
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_native.stages import WHOLE
from graphtide_query import parse, parse_subgraphs
from graphtide_query.families import AUTO, FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.graph_queries import GraphQueryShape, graph_queries
from graphtide_testing.strategies.patterns import PatternShape, patterns
from graphtide_testing.strategies.streams import StreamShape, edge_streams
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from graphtide_backfill.domain.blocks import Block
    from graphtide_backfill.domain.slices import Slice
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_testing.found import Found
    from hypothesis.strategies import DrawFn

    PieceFacts = Counter[tuple[object, ...]]

STREAM = StreamShape(max_records=40)
PATTERN = PatternShape(max_edges=3, max_window=9, stream=STREAM)
LABELLED = replace(STREAM, labels=("a", "b", "c"))
KINDS = (WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW)


def duplicates_of(edges: list[Edge], window: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    in_order = sorted(range(len(edges)), key=lambda arrival: (edges[arrival].ts, arrival))
    occurrences = [
        Occurrence(edges[arrival].id, edges[arrival].ts, arrival, edges[arrival].operation is Operation.DELETE)
        for arrival in in_order
        if not edges[arrival].made
    ]
    return np.array(sorted(drop(occurrences, window)), np.int64)


def blocks_for(edges: list[Edge], task: Task, slices: tuple[Slice, ...], batch: int) -> list[Block]:
    decoder = JsonLinesDecoder(Symbols(), task.attributes, {})
    duplicates = duplicates_of(edges, task.lookback_of("")) * ROWS_OF_A_RECORD
    batches = [edges[start : start + batch] for start in range(0, len(edges), batch)]
    found: list[Block] = []
    for place, part in enumerate(batches):
        settled = min((edge.ts for later in batches[place + 1 :] for edge in later), default=WHOLE)
        decoded = decoder.decode(to_json_lines(part))
        found += cut(decoded, slices, task.window, place=place, settled=settled, duplicates=duplicates)
    return found


def lines_by_slices(edges: list[Edge], task: Task, slices: tuple[Slice, ...], batch: int) -> list[bytes]:
    blocks = blocks_for(edges, task, slices, batch)
    lines: list[bytes] = []
    for each in slices:
        matching = SliceMatching(task, each, deletions=True)
        own = [block for block in blocks if block.slice == each.number]
        lines += [record.json for found in matching.matches(own) for record in found]
    return lines


def by_slices(edges: list[Edge], task: Task, slices: tuple[Slice, ...], batch: int = 7) -> list[Found]:
    return keys_in_json_lines(b"\n".join(lines_by_slices(edges, task, slices, batch)))


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


def ask(text: str) -> GraphQuery:
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return query


def reports_by_slices(edges: list[Edge], task: Task, slices: tuple[Slice, ...], batch: int = 7) -> PieceFacts:
    """Return all reports without their paths, but with whether there is one: any of several is right."""
    records = map(json.loads, lines_by_slices(edges, task, slices, batch))
    return Counter(
        (
            each["kind"],
            each["detected_at"],
            each["label"],
            tuple(each["bindings"].values()) if "bindings" in each else (each["src"], each["dst"]),
            each["match_id"],
            *each["valid"],
            each.get("nth", 0),
            "path" in each,
        )
        for each in records
    )


def reports_in_one_pass(edges: list[Edge], query: GraphQuery) -> PieceFacts:
    oracle = GraphQueryOracle(query)
    has_path = {output.label: output.path is not None for output in query.outputs}
    return Counter(
        (
            each.kind.value,
            int(edge.ts),
            each.label,
            each.row,
            result_id(query.name, query.version, each.label, each.row),
            *each.valid,
            each.nth,
            has_path[each.label] and each.kind is not MatchKind.RETRACT,
        )
        for edge in edges
        for each in oracle.push(edge)
    )


@pytest.mark.parametrize("engine", ["auto", "s-path", "delta-tree"])
@given(stream=cut_streams(LABELLED), query=graph_queries(GraphQueryShape(kinds=KINDS, max_window=4)), finely=st.booleans())
def test_slices_report_the_results_that_the_oracle_does(
    engine: str, stream: tuple[list[Edge], list[int], int], query: GraphQuery, *, finely: bool
) -> None:
    edges, bounds, batch = stream
    slices = slices_at(range(bounds[0], bounds[-1] + 1) if finely else bounds)
    assert reports_by_slices(edges, Task((query,), engine), slices, batch) == reports_in_one_pass(edges, query)


@pytest.mark.parametrize("window", ["(1)", "(NOW)", "(3)", "(6) SLIDE(3)", "(7) SLIDE(5) INTERNAL"])
@given(stream=cut_streams(LABELLED))
def test_slices_of_one_tick_report_all_results(window: str, stream: tuple[list[Edge], list[int], int]) -> None:
    edges, bounds, batch = stream
    query = ask(f"QUERY q Answer(x, y) <- /(:a | :b)+/(x, y) AS p. ON s WINDOW{window} RETURN p")
    slices = slices_at(range(bounds[0], bounds[-1] + 1))
    assert reports_by_slices(edges, Task((query,)), slices, batch) == reports_in_one_pass(edges, query)


@pytest.mark.parametrize(
    ("window", "times", "wanted"),
    [
        # What ends at this very instant is extended; one tick later it is a new result.
        ("WINDOW(10)", [0, 10], ["match", "extend"]),
        ("WINDOW(10)", [0, 11], ["match", "match"]),
        ("WINDOW(10) SLIDE(4)", [8, 18], ["match", "extend"]),
        ("WINDOW(10) SLIDE(4)", [11, 18], ["match", "extend"]),
        ("WINDOW(10) SLIDE(4)", [11, 19], ["match", "match"]),
        ("WINDOW(10) INTERNAL", [0, 10, 21], ["match", "match"]),
        ("WINDOW(NOW)", [0, 1, 3], ["match", "extend", "match"]),
        # In milliseconds that is three of them.
        ("WINDOW(2500us)", [0, 3], ["match", "extend"]),
    ],
)
def test_a_slice_knows_a_result_that_ends_where_it_begins(window: str, times: list[int], wanted: list[str]) -> None:
    query = ask(f"QUERY q Answer(x, y) <- x+(x, y). ON s {window}")
    edges = [edge(ts, "a", "b") for ts in times]
    found = reports_by_slices(edges, Task((query,)), slices_at([*times, times[-1] + 1]))
    assert found == reports_in_one_pass(edges, query)
    assert Counter(kind for kind, *_ in found.elements()) == Counter(wanted)


def test_a_query_over_several_streams_is_refused() -> None:
    query = ask("QUERY q CONSTRUCT (u)-[:r]->(w) MATCH (u)-[:a]->(v) ON s WINDOW(9) MATCH (v)-[:b]->(w) ON t WINDOW(9)")
    with pytest.raises(InvalidQueryError, match="history is of one stream, and query 'q' reads 2: s, t; give"):
        Task((query,))


def test_a_query_that_reads_a_view_beside_it_is_refused() -> None:
    text = "GRAPH VIEW near AS (near(x, y) <- a+(x, y). ON s WINDOW(9)) QUERY q r(x, y) <- near(x, y). ON near WINDOW(9)"
    with pytest.raises(InvalidQueryError, match="query 'q' reads the view 'near'"):
        Task(parse(text))


def test_a_window_of_edges_is_refused() -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 500 EDGES")
    with pytest.raises(InvalidQueryError, match="'p' has a window of edges, WINDOW 500 EDGES; match it on the command line"):
        Task((pattern,))


def components(report: str) -> tuple[SubgraphPattern, ...]:
    text = f"PATTERN p MATCH (a)-[x]->(b)-[y]->(c) UNDER DUAL SIMULATION REPORT {report} ON s WINDOW 9"
    return parse_subgraphs(f"{text} PATTERN q MATCH (a)-[x]->(b)-[y]->(c) ON s WINDOW 5")


def reports_by_match(edges: list[Edge], patterns: Sequence[AnyPattern]) -> Counter[tuple[str, str, str, int]]:
    records = [json.loads(line) for line in to_json_lines(edges).splitlines()]
    found = graphtide.match(list(patterns), records)
    return Counter((each.query, each.match_id, each.kind.value, each.detected_at) for each in found)


def reports_of(lines: list[bytes]) -> Counter[tuple[str, str, str, int]]:
    found = map(json.loads, lines)
    return Counter((each["query"], each["match_id"], each["kind"], each["detected_at"]) for each in found)


@pytest.mark.parametrize("report", ["INSTANCES", "CHANGES"])
@given(stream=cut_streams(replace(STREAM, nameless=False)))
def test_what_follows_from_all_before_is_reported_by_one_slice_as_by_match(
    report: str, stream: tuple[list[Edge], list[int], int]
) -> None:
    edges, bounds, batch = stream
    task = Task(components(report))
    whole = replace(slices_at([bounds[0], bounds[-1]])[0], is_last=True)
    assert reports_of(lines_by_slices(edges, task, (whole,), batch)) == reports_by_match(edges, task.patterns)


@given(stream=cut_streams(replace(STREAM, nameless=False)))
def test_what_is_consumed_where_a_slice_begins_is_what_it_would_be_if_its_window_were_the_first_edges(
    stream: tuple[list[Edge], list[int], int],
) -> None:
    edges, bounds, batch = stream
    task, start = Task(components("INSTANCES")[:1]), bounds[len(bounds) // 2]
    piece = replace(slices_at([start, bounds[-1] + 1])[0], is_last=True)
    dropped_ones = set(duplicates_of(edges, task.lookback_of("")).tolist())
    window = [edge for place, edge in enumerate(edges) if edge.ts > start - task.window and place not in dropped_ones]
    expected = Counter(each for each in reports_by_match(window, task.patterns).elements() if each[-1] >= start)
    assert reports_of(lines_by_slices(edges, task, (piece,), batch)) == expected


@given(stream=cut_streams(replace(STREAM, nameless=False)))
def test_changes_from_a_time_on_are_those_that_one_pass_reports_from_there_on(
    stream: tuple[list[Edge], list[int], int],
) -> None:
    edges, bounds, batch = stream
    task, start = Task(components("CHANGES")[:1]), bounds[len(bounds) // 2]
    piece = replace(slices_at([start, edges[-1].ts + 2])[0], end=edges[-1].ts + 1, is_last=True)
    expected = Counter(each for each in reports_by_match(edges, task.patterns).elements() if each[-1] >= start)
    assert reports_of(lines_by_slices(edges, task, (piece,), batch)) == expected


def test_a_dropped_duplicate_at_the_end_of_history_moves_time_as_in_one_pass() -> None:
    edges = [
        Edge(EdgeId(name), EventTime(ts), VertexId(source), VertexId(target), "x")
        for name, ts, source, target in (("i", 1, "a", "b"), ("j", 2, "b", "c"), ("k", 11, "d", "e"), ("k", 19, "d", "e"))
    ]
    patterns = components("CHANGES")
    task = Task(patterns)
    assert len(duplicates_of(edges, task.lookback_of(""))) == 1
    whole = replace(slices_at([1, 20])[0], is_last=True)
    found = reports_of(lines_by_slices(edges, task, (whole,), 2))
    assert found == reports_by_match(edges, patterns)
    assert [each[2] for each in found if each[0] == "p"] == ["match", "retract"]


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
