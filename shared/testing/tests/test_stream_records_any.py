"""Any statement makes something of any decoded record, and what it makes keeps the promises of ids, times and order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphtide_core.predicate import Literal
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME
from graphtide_testing.oracles.stream_records import Change, FilteredRecord, RefusedRecord, read_stream
from graphtide_testing.strategies.stream_definitions import CONSTANTS, NAMES, stream_definitions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.stream_definition import StreamDefinition

TIMES = st.sampled_from([0, 1700000000, 1700000000.25, "1700000000", "2024-01-31T12:00:00", "31/01/2024 12:00", "2024031"])
VALUES: st.SearchStrategy[object] = st.recursive(
    CONSTANTS | TIMES, lambda part: st.lists(part, max_size=3) | st.dictionaries(NAMES, part, max_size=3), max_leaves=6
)
RECORDS = st.lists(st.dictionaries(NAMES | st.just("ts"), VALUES, max_size=6) | VALUES, max_size=4)
slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@slowly
@given(stream_definitions(), RECORDS)
def test_any_statement_reads_any_record(definition: StreamDefinition, records: list[object]) -> None:
    outcomes = read_stream(definition, records)
    assert len(outcomes) == len(records)
    for outcome in outcomes:
        if isinstance(outcome, FilteredRecord | RefusedRecord):
            continue
        assert 0 < len(outcome) <= max(1, len(definition.clauses))
        assert len({each.record.ts for each in outcome}) == 1
        assert MIN_EVENT_TIME <= outcome[0].record.ts <= MAX_EVENT_TIME
        assert not any(each.record.made for each in outcome if each.change is not Change.INSERT)
        assert all(value is not None for each in outcome for value in each.record.attributes.values())
        shared = [each.record.id for each, clause in zip(outcome, definition.clauses, strict=False) if clause.id is None]
        if all(clause.id is None for clause in definition.clauses):
            assert len(set(shared)) == len(shared)


@slowly
@given(stream_definitions(), RECORDS, st.integers(0, 3))
def test_a_record_does_not_depend_on_others(definition: StreamDefinition, records: list[Any], place: int) -> None:
    assert read_stream(definition, records)[:place] == read_stream(definition, records[:place])


@slowly
@given(stream_definitions(), RECORDS)
def test_a_filter_that_lets_all_through_filters_nothing(definition: StreamDefinition, records: list[object]) -> None:
    every = replace(definition, where=Literal(value=True))
    none = replace(definition, where=Literal(None))
    assert read_stream(every, records) == read_stream(replace(definition, where=None), records)
    dicts = [isinstance(record, dict) for record in records]
    assert [isinstance(outcome, FilteredRecord) for outcome in read_stream(none, records)] == dicts
