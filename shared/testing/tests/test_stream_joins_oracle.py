"""The oracle of joins with reference tables, checked by hand-written cases."""

from __future__ import annotations

import pytest
from graphtide_core.stream_definition import StreamDefinition
from graphtide_core.time import TimeUnit
from graphtide_query import parse_streams
from graphtide_testing.oracles.stream_joins import TableRow, find_row
from graphtide_testing.oracles.stream_records import FilteredRecord, Outcome, RefusedRecord, read_stream, read_table

TABLE = "TABLE risk FROM 'risk.csv' KEY id "
ROWS = [{"id": "u", "score": 5}, {"id": 7, "score": 1}, {"id": "u", "score": 9, "next": "7"}]


def read(statement: str, *records: object, table: str = TABLE, rows: list[object] | None = None) -> list[Outcome]:
    (definition,) = parse_streams(table + statement)
    tables = {each.name: read_table(each, ROWS if rows is None else rows, definition.unit) for each in definition.tables}
    return read_stream(definition, records, tables)


def attributes(outcome: Outcome) -> list[dict[str, object]]:
    assert isinstance(outcome, tuple)
    return [dict(each.record.attributes) for each in outcome]


def test_the_last_row_of_a_key_counts_and_a_missing_key_gives_nothing() -> None:
    statement = "STREAM s JOIN risk ON src = risk.id SET r = risk.score AT ts SET n = n"
    records = [{"ts": 1, "src": each, "dst": "z", "n": 1} for each in ("u", "7", 7, "v")]
    found = [attributes(each) for each in read(statement, *records)]
    assert found == [[{"n": 1, "r": 9}], [{"n": 1, "r": 1}], [{"n": 1, "r": 1}], [{"n": 1}]]


def test_without_another_set_the_columns_are_added_to_all_fields() -> None:
    (found,) = read("STREAM s JOIN risk ON src = risk.id SET r = risk.score", {"ts": 1, "src": "u", "dst": "z", "n": 1})
    assert attributes(found) == [{"n": 1, "r": 9}]


def test_each_edge_has_the_row_of_its_own_end() -> None:
    statement = "STREAM s EDGE (a)-->(b) EDGE (b)-->(a) EVENT 'x' JOIN risk ON src = risk.id SET r = risk.score AT ts"
    (found,) = read(statement, {"ts": 1, "a": "u", "b": "7"})
    assert [each.get("r") for each in attributes(found)] == [9, 1, None]


def test_where_ends_and_later_joins_read_columns() -> None:
    statement = """STREAM s EDGE (a)-->(other.id)
        JOIN risk ON a = risk.id JOIN risk AS other ON risk.next = other.id WHERE risk.score > 1 AT ts SET r = other.score"""
    kept, filtered, lacking = read(statement, {"ts": 1, "a": "u"}, {"ts": 1, "a": 7}, {"ts": 1, "a": "w"})
    assert attributes(kept) == [{"r": 1}]
    assert isinstance(kept, tuple)
    assert kept[0].record.target == "7"  # type: ignore[union-attr]  # an edge
    assert isinstance(filtered, FilteredRecord)
    assert isinstance(lacking, FilteredRecord)


def test_rows_with_times_are_read_as_of_the_record() -> None:
    rows: list[object] = [{"id": "u", "at": at, "score": score} for at, score in ((10, 1), (30, 3), (20, 2), (20, 4))]
    statement = "STREAM s JOIN risk ON src = risk.id SET r = risk.score"
    records = [{"ts": ts, "src": "u", "dst": "z"} for ts in (9, 10, 19, 20, 29, 30, 99)]
    found = read(statement, *records, table=TABLE + "AT at ", rows=rows)
    assert [each.get("r") for outcome in found for each in attributes(outcome)] == [None, 1, 1, 4, 4, 3, 3]


def test_a_record_without_a_time_has_no_row_of_a_time() -> None:
    statement = "STREAM s JOIN risk ON src = risk.id WHERE risk.score IS NULL"
    found = read(statement, {"src": "u", "dst": "z"}, table=TABLE + "AT at ", rows=[{"id": "u", "at": 0, "score": 1}])
    assert [type(each) for each in found] == [RefusedRecord]


@pytest.mark.parametrize(
    ("row", "table"), [({"score": 1}, TABLE), ({"id": ""}, TABLE), ({"id": "u", "at": "soon"}, TABLE + "AT at "), (3, TABLE)]
)
def test_a_row_that_cannot_be_read_makes_the_table_unreadable(row: object, table: str) -> None:
    with pytest.raises(ValueError, match=r"row 1|time|soon"):
        read("STREAM s JOIN risk ON src = risk.id SET r = risk.score", table=table, rows=[row])


def test_rows_that_where_leaves_out_are_none() -> None:
    (definition,) = parse_streams(
        TABLE + "WHERE id IS NOT NULL NULL '-' STREAM s JOIN risk ON src = risk.id SET r = risk.score"
    )
    assert isinstance(definition, StreamDefinition)
    rows = read_table(definition.tables[0], [{"id": "-", "score": 1}, {"id": "u", "score": "-"}], TimeUnit.MILLISECOND)
    assert rows == [TableRow("u", None, {"id": "u", "score": None})]
    assert find_row(rows, "v", 0) is None
