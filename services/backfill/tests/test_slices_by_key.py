"""Slices of time and parts of a key report together what one slice of all does, and what the oracles do."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pytest
from graphtide_backfill.domain.blocks import columns_of, cut
from graphtide_backfill.domain.division import Division, refuse_not_local
from graphtide_backfill.domain.duplicates import ROWS_OF_A_RECORD, Occurrence, drop
from graphtide_backfill.domain.key_columns import parts_of_rows, parts_of_texts
from graphtide_backfill.domain.matching import SliceMatching
from graphtide_backfill.domain.slices import Cut
from graphtide_backfill.domain.task import Task
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import InvalidPatternError
from graphtide_core.part_key import BY_VERTEX, PartKey, part_of
from graphtide_core.pattern import OF_SIMULATION, Report
from graphtide_core.stream_windows import StreamWindows
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.stages import WHOLE
from graphtide_query import parse
from graphtide_query.families import family_of
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.local_patterns import nearly_local_events, nearly_local_pattern, nearly_local_query
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.parts import parts_of
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import EventStreamShape, StreamShape, random_event_stream, random_stream
from graphtide_testing.windowed_streams import to_mixed_lines
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.event import Event
    from graphtide_native.records import EdgeBatch

NO_WINDOWS: Final = StreamWindows()
OF_EDGES: Final = (PartKey("src"), PartKey("dst"), BY_VERTEX, PartKey("n"), PartKey("s"), PartKey("label"))


def batches_of(records: Sequence[Edge | Event], attributes: Sequence[str], size: int) -> list[tuple[EdgeBatch, int]]:
    """Return the records decoded, and for each batch the earliest time of all later ones."""
    decoder = JsonLinesDecoder(Symbols(), attributes, {})
    found = []
    for start in range(0, len(records), size):
        own = records[start : start + size]
        found.append((decoder.decode(to_mixed_lines(own)), min((each.ts for each in records[start + size :]), default=WHOLE)))
    return found


def duplicates_of(records: Sequence[Edge | Event], window: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    known = (
        Occurrence(each.id, each.ts, arrival, each.operation is Operation.DELETE)
        for arrival, each in enumerate(records)
        if not each.made
    )
    return np.array(sorted(drop(known, window)), np.int64) * ROWS_OF_A_RECORD


def reports(records: Sequence[Edge | Event], task: Task, run: Cut, size: int) -> list[bytes]:
    """Return the match records of all slices."""
    division = run.division
    slices = run.slices((0,) if division is None else division.used(task.patterns))
    slices = tuple(replace(each, is_last=each.end == run.bounds[-1]) for each in slices)
    attributes = tuple(dict.fromkeys((*task.attributes, *(() if division is None else division.attributes))))
    duplicates = duplicates_of(records, task.lookback_of(""))
    blocks = [
        block
        for place, (batch, settled) in enumerate(batches_of(records, attributes, size))
        for block in cut(
            batch, slices, task.window, place=place, settled=settled, duplicates=duplicates, division=division
        )
    ]  # fmt: skip
    lines = []
    edges = 0
    for each in slices:
        matching = SliceMatching(task, each, deletions=True, division=division)
        own = [block for block in blocks if block.slice == each.number]
        lines += [record.json for found in matching.matches(own) for record in found]
        edges += matching.outcome.edges
    if division is None or len(division.used(task.patterns)) == division.parts:
        assert edges == len(records) - len(duplicates), "each record is counted once"
    return lines


def show_reports(lines: Sequence[bytes], patterns: Sequence[AnyPattern]) -> Counter[str]:
    """Return the reports without what an engine may choose, and without the number of a record in its instant."""
    counting = {each.name for each in patterns if family_of(each).layout(each).counts}
    found: Counter[str] = Counter()
    for record in map(json.loads, lines):
        record.pop("nth", None)
        record["path"] = "path" in record
        if record["query"] in counting and record["kind"] != "timeout":
            for name in ("events", "match_id", "first_ts", "last_ts"):
                record.pop(name, None)
        found[json.dumps(record, sort_keys=True)] += 1
    return found


def cuts(rng: random.Random, records: Sequence[Edge | Event], key: PartKey) -> tuple[Cut, Cut]:
    """Return all in one slice, and one that is divided by the key and mostly by time."""
    first, last = min(each.ts for each in records), max(each.ts for each in records) + 1
    inner = {rng.randint(first, last) for _ in range(rng.choice((0, 1, 4)))}
    return Cut((first, last)), Cut(tuple(sorted({first, last, *inner})), Division(key, rng.choice((1, 2, 3, 8))))


def compare(rng: random.Random, pattern: AnyPattern, records: Sequence[Edge | Event], key: PartKey) -> list[bytes]:
    """Compare a pattern in parts with the whole; return what it reports."""
    whole, parts = cuts(rng, records, key)
    task, size = Task((pattern,)), rng.randint(1, 12)
    if task.uncuttable:
        parts = replace(parts, bounds=whole.bounds)
    expected, found = reports(records, task, whole, 1000), reports(records, task, parts, size)
    assert show_reports(found, task.patterns) == show_reports(expected, task.patterns)
    return found


@pytest.mark.parametrize("report", [Report.ALL, *OF_SIMULATION])
def test_patterns_of_edges(report: Report) -> None:
    emitted = local = others = 0
    for seed in seeds(120):
        rng = random.Random(seed)
        key = rng.choice(OF_EDGES)
        pattern = nearly_local_pattern(rng, key, report)
        if not family_of(pattern).locality(pattern, key).is_local:
            others += 1
            with pytest.raises(InvalidPatternError, match="is not local by"):
                refuse_not_local((pattern,), key, NO_WINDOWS)
            continue
        local += 1
        edges = random_stream(rng, StreamShape(max_records=40))
        found = compare(rng, pattern, edges, key) if edges else []
        emitted += len(found)
        if report is Report.ALL:
            assert keys_in_json_lines(b"\n".join(found)) == sorted(SubgraphOracle(pattern).run(edges))
    assert local > 12, "some cases must be local"
    assert others > 12, "some cases must not be"
    assert emitted > 20, "the cases must have matches"


def test_event_patterns() -> None:
    emitted = local = 0
    for seed in seeds(120):
        rng = random.Random(seed)
        key = PartKey(rng.choice(("k", "n", "k", "n", "label", "type")))
        pattern = nearly_local_events(rng, str(key))
        events = random_event_stream(rng, EventStreamShape())
        if not events or not family_of(pattern).locality(pattern, key).is_local:
            continue
        local += 1
        found = compare(rng, pattern, events, key)
        emitted += len(found)
        expected = Counter((str(each.kind), int(each.detected_at)) for each in EventOracle(pattern).run(events))
        assert Counter((each["kind"], each["detected_at"]) for each in map(json.loads, found)) == expected
    assert local > 12, "some cases must be local"
    assert emitted > 8, "the cases must have matches"


def test_graph_queries() -> None:
    emitted = local = 0
    for seed in seeds(120):
        rng = random.Random(seed)
        key = rng.choice((PartKey("src"), PartKey("dst"), BY_VERTEX, PartKey("n")))
        query = nearly_local_query(rng, key)
        edges = random_stream(rng, StreamShape(max_records=30, vertices=3, labels=("a", "b", "c")))
        if not edges or not family_of(query).locality(query, key).is_local:
            continue
        local += 1
        emitted += len(compare(rng, query, edges, key))
    assert local > 12, "some cases must be local"
    assert emitted > 20, "the cases must have results"


def test_patterns_of_several_keys_run_in_the_parts_that_need_them() -> None:
    text = "PATTERN {} MATCH (a)-[x]->(b), (a)-[y]->(c) WHERE {} ORDER x < y ON s WINDOW 9"
    task = Task(parse(text.format("one", "a.id = 'v1'") + text.format("other", "a.id = 'v2'") + text.format("no", "x.n = 77")))
    division = Division(PartKey("src"), 8)
    first, second = part_of("v1", 8), part_of("v2", 8)
    assert first != second
    assert division.used(task.patterns[:2]) == tuple(sorted((first, second)))
    assert division.used(task.patterns) == tuple(range(8))
    assert [each.name for each in division.matched(task.patterns, first)] == ["one", "no"]
    edges = random_stream(random.Random(3), StreamShape(max_records=300))
    bounds = (edges[0].ts, edges[-1].ts + 1)
    expected, found = reports(edges, task, Cut(bounds), 50), reports(edges, task, Cut(bounds, division), 50)
    assert show_reports(found, task.patterns) == show_reports(expected, task.patterns)
    assert {json.loads(each)["query"] for each in found} == {"one", "other"}


TEXTS: Final = st.lists(st.none() | st.text(max_size=12), max_size=40)


@given(TEXTS, st.integers(1, 1024))
def test_texts_are_hashed_as_one_by_one(texts: list[str | None], parts: int) -> None:
    texts = [None if each is None else each.encode("utf-8", "replace").decode() for each in texts]
    assert parts_of_texts(pa.array(texts, pa.utf8()), parts).tolist() == [part_of(each, parts) for each in texts]
    assert parts_of_texts(pa.array([None, *texts], pa.utf8()).slice(1), parts).tolist() == [
        part_of(each, parts) for each in texts
    ]


NUMBERS: Final = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
VALUES: Final = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)


@given(
    st.lists(VALUES, min_size=1, max_size=20) | st.lists(st.integers(-9, 9), min_size=1) | st.lists(st.booleans(), min_size=1)
)
def test_attributes_of_any_type_lead_to_the_parts_of_the_oracle(values: list[Any]) -> None:
    (event,) = random_event_stream(random.Random(1), EventStreamShape(max_records=1))[:1]
    events = [replace(event, operation=type(event.operation).INSERT, attributes={"k": value}) for value in values]
    ((batch, _),) = batches_of(events, ("k",), 1000)
    found = parts_of_rows(columns_of(batch.to_arrow()), "k", 64)
    assert found.tolist() == [next(iter(parts_of(each, PartKey("k"), 64))) for each in events]


def test_what_is_not_local_is_refused_with_what_would_make_it_so() -> None:
    patterns = parse("PATTERN p MATCH (a)-[x]->(b), (b)-[y]->(c) ON s WINDOW 9")
    with pytest.raises(
        InvalidPatternError, match=r"pattern 'p' is not local by tenant: x\.tenant and y\.tenant may differ"
    ) as refused:
        refuse_not_local(patterns, PartKey("tenant"), NO_WINDOWS)
    assert refused.value.hint == "add WHERE x.tenant = y.tenant"


@pytest.mark.parametrize("field", ["id", "ts", "op"])
def test_fields_that_a_deletion_or_a_tie_needs_in_one_part_divide_nothing(field: str) -> None:
    with pytest.raises(InvalidPatternError, match=f"history is not divided by {field}"):
        Division(PartKey(field), 4)


def test_numbers_of_slices_ascend_in_time_and_then_by_part() -> None:
    slices = Cut((0, 5, 9), Division(PartKey("src"), 4)).slices((1, 3))
    assert [(each.number, each.start, each.part) for each in slices] == [(1, 0, 1), (3, 0, 3), (5, 5, 1), (7, 5, 3)]
    assert all(one.number < other.number for one, other in pairwise(slices))
