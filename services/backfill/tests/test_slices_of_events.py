"""Slices report together of event patterns what the oracle does of all of history, wherever they are cut."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from graphtide_backfill.domain.blocks import cut
from graphtide_backfill.domain.duplicates import ROWS_OF_A_RECORD, Occurrence, drop
from graphtide_backfill.domain.matching import SliceMatching
from graphtide_backfill.domain.slices import slices_at
from graphtide_backfill.domain.task import Task
from graphtide_core.edge import Operation
from graphtide_core.event import Event
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import EdgeId
from graphtide_core.time import EventTime
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.stages import WHOLE
from graphtide_query.families import family_of
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.parsing import parse_matched
from graphtide_testing.records import events_to_json_lines
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_backfill.domain.blocks import Block
    from graphtide_backfill.domain.slices import Slice
    from hypothesis.strategies import DrawFn

    Reports = Counter[tuple[object, ...]]

STREAM: Final = EventStreamShape(max_records=20)
PATTERNS: Final = EventPatternShape(max_events=3, stream=STREAM)


def blocks_for(events: Sequence[Event], task: Task, slices: Sequence[Slice], size: int) -> list[Block]:
    known = (
        Occurrence(event.id, event.ts, arrival, event.operation is Operation.DELETE)
        for arrival, event in enumerate(events)
        if not event.made
    )
    duplicates = np.array(sorted(drop(known, task.lookback_of(""))), np.int64) * ROWS_OF_A_RECORD
    decoder = JsonLinesDecoder(Symbols(), task.attributes, {})
    found: list[Block] = []
    for place, start in enumerate(range(0, len(events), size)):
        decoded = decoder.decode(events_to_json_lines(events[start : start + size]))
        settled = min((event.ts for event in events[start + size :]), default=WHOLE)
        found += cut(decoded, slices, task.window, place=place, settled=settled, duplicates=duplicates)
    return found


def by_slices(events: Sequence[Event], task: Task, slices: Sequence[Slice], size: int = 7) -> Reports:
    blocks = blocks_for(events, task, slices, size)
    records: list[dict[str, Any]] = []
    for each in slices:
        own = [block for block in blocks if block.slice == each.number]
        found = SliceMatching(task, each, deletions=True).matches(own)
        records += [json.loads(record.json) for part in found for record in part]
    counting = {pattern.name for pattern in task.patterns if family_of(pattern).layout(pattern).counts}
    return Counter(
        (each["query"], each["kind"], each["detected_at"], each.get("count", 1), *show(each, counting)) for each in records
    )


def show(record: dict[str, Any], counting: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the events of a report, but where an engine may choose whose it shows."""
    if record["query"] in counting and record["kind"] != "timeout":
        return []
    return sorted((name, (ids,) if isinstance(ids, str) else tuple(ids)) for name, ids in record["events"].items())


def in_one_pass(events: Sequence[Event], task: Task, *, until: int | None = None) -> Reports:
    """Return what oracles report; detected before `until`, if history does not end."""
    emitted: list[tuple[object, ...]] = []
    for pattern in task.patterns:
        assert isinstance(pattern, EventPattern)
        oracle = EventOracle(pattern)
        found = oracle.run(events) if until is None else [*_push(oracle, events), *oracle.advance(until)]
        emitted += [(pattern.name, each.kind, each.detected_at, each.count, *sorted(each.events)) for each in found]
    return Counter(emitted)


def _push(oracle: EventOracle, events: Sequence[Event]) -> list[Any]:
    return [emitted for event in events for emitted in oracle.push(event)]


@st.composite
def cut_streams(draw: DrawFn) -> tuple[list[Event], tuple[Slice, ...], int]:
    """Return events, slices that reach from the first to the last, and a size of batches."""
    events = list(draw(event_streams(STREAM, min_records=1)))
    first, last = events[0].ts, events[-1].ts + 1
    slices = slices_at(sorted({first, last, *draw(st.sets(st.integers(first, last), max_size=6))}))
    return events, slices, draw(st.integers(1, 12))


@given(cut_streams(), event_patterns(PATTERNS))
def test_slices_report_what_the_oracle_does(stream: tuple[list[Event], tuple[Slice, ...], int], pattern: EventPattern) -> None:
    events, slices, size = stream
    task = Task((pattern,))
    found = by_slices(events, task, (*slices[:-1], replace(slices[-1], is_last=True)), size)
    assert found == in_one_pass(events, task)


@given(cut_streams(), event_patterns(PATTERNS), st.integers(1, 12))
def test_what_is_to_be_detected_after_the_asked_time_is_not(
    stream: tuple[list[Event], tuple[Slice, ...], int], pattern: EventPattern, more: int
) -> None:
    events, slices, size = stream
    end = slices[-1].end + more
    task = Task((pattern,))
    found = by_slices(
        events, task, (*slices, *(replace(each, number=len(slices)) for each in slices_at([slices[-1].end, end]))), size
    )
    assert found == in_one_pass(events, task, until=end)


def stream(*records: tuple[int, str]) -> list[Event]:
    """Return events of times and types; their ids are their times with their types."""
    return [Event(EdgeId(f"{kind}{ts}"), EventTime(ts), kind) for ts, kind in records]


@pytest.mark.parametrize(
    ("text", "records", "wanted"),
    [
        # A leading NOT forbids events up to a whole time before the match, and the report comes a whole time after it began.
        ("SEQ(NOT c:C, a:A, NOT d:D)", [(0, "C"), (9, "A"), (20, "A")], {("match", 30)}),
        ("AND(SEQ(NOT c:C, a:A), SEQ(b:B, NOT d:D))", [(0, "C"), (10, "A"), (20, "B"), (25, "A")], {("match", 30)}),
        # Of the matches that an event completes, some are over a whole time before the others.
        ("SEQ(a:A, b:A, NOT c:C) REPORT EXISTS", [(0, "A"), (7, "A"), (10, "A")], {("match", 10), ("match", 17)}),
        # A match that began is reported where it ended too late, unless a forbidden event came.
        ("SEQ(NOT c:C, a:A, b:B) ON TIMEOUT", [(0, "C"), (8, "A"), (12, "A")], {("timeout", 22)}),
    ],
)  # fmt: skip
def test_a_slice_of_one_tick_knows_all_that_has_a_say(
    text: str, records: list[tuple[int, str]], wanted: set[tuple[str, int]]
) -> None:
    body, _, clauses = text.partition(") ")
    (pattern,) = parse_matched(f"PATTERN p {body}{')' if clauses else ''} ON s WITHIN 10ms {clauses}")
    events = stream(*records)
    task = Task((pattern,))
    slices = slices_at(range(events[0].ts, events[-1].ts + 12))
    found = by_slices(events, task, (*slices[:-1], replace(slices[-1], is_last=True)))
    assert found == in_one_pass(events, task)
    assert {(str(kind), at) for _, kind, at, *_ in found} == wanted
