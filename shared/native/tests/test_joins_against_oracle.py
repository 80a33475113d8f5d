"""Records that are joined with tables natively are those of the oracle, in every format, also where tables are replaced."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_native.tables import MOST_BYTES, MOST_ROWS, load_tables, read_rows, table_files
from graphtide_query import parse_streams
from graphtide_testing.given_rows import class_of, expected_rows, values_of
from graphtide_testing.oracles.record_decoding import decode_field, decode_json
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream, read_table
from graphtide_testing.strategies.joined_definitions import JOINED, joined_definitions, table_rows
from graphtide_testing.strategies.read_records import ATTRIBUTES, FIELDS, flat_records, nested_records
from graphtide_wire.stream_definition import encode_definition
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.tables import LookupTable, TableFile
    from graphtide_testing.oracles.stream_joins import TableRow

CUTS = st.lists(st.floats(0, 1), max_size=3)
WANTED = (*ATTRIBUTES, *JOINED)
slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
several_rows = st.lists(table_rows(), min_size=2, max_size=2)


def decoder_of(
    definition: StreamDefinition, format: str, tables: Mapping[str, LookupTable], attributes: Sequence[str] = WANTED
) -> StatementDecoder:
    zones = clocks_of_zones(definition.zones())
    encoded = encode_definition(definition)
    return StatementDecoder(Symbols(), attributes, encoded, format=format, zones=zones, tables=tables)


def tables_of(definition: StreamDefinition, rows: Sequence[Sequence[object]], folder: Path) -> dict[str, LookupTable]:
    """Return the tables of a definition with these rows, read from files."""
    for table, each in zip(definition.tables, rows, strict=False):
        (folder / table.file).write_text("".join(json.dumps(row) + "\n" for row in each), encoding="utf-8")
    found = {}
    for file in table_files(definition, encode_definition, folder):
        found[file.name] = file.empty()
        found[file.name].replace(read_rows(file))
    return found


def rows_by_oracle(definition: StreamDefinition, rows: Sequence[Sequence[object]]) -> dict[str, list[TableRow]] | None:
    """Return the rows of a definition's tables as the oracle reads them; None is a table that it refuses."""
    try:
        return {
            table.name: read_table(table, [decode_json(json.dumps(row)) for row in each], definition.unit)
            for table, each in zip(definition.tables, rows, strict=False)
        }
    except ValueError:
        return None


def decode(decoder: StatementDecoder, text: bytes, cuts: Sequence[float] = ()) -> list[dict[str, Any]]:
    places = [0, *sorted(int(cut * len(text)) for cut in cuts), len(text)]
    blocks = [text[start:end] for start, end in pairwise(places)]
    return [row for block in blocks for row in decoder.decode(block).to_records()] + decoder.finish().to_records()


def assert_same(decoder: StatementDecoder, rows: list[dict[str, Any]], outcomes: Sequence[Any], lines: Sequence[int]) -> None:
    assert [values_of(row) for row in rows] == [values_of(row) for row in expected_rows(outcomes, WANTED, lines)]
    refused = [class_of(each.reason) for each in outcomes if isinstance(each, RefusedRecord)]
    assert [class_of(reason) for _, reason, _ in decoder.take_dead_letters()] == refused
    assert decoder.filtered() == sum(isinstance(each, FilteredRecord) for each in outcomes)
    joined = sum(any(name in row["attributes"] and row["attributes"][name] is not None for name in JOINED) for row in rows)
    event(f"rows: {min(len(rows), 3)}, joined: {min(joined, 2)}")


@slowly
@given(joined_definitions(), several_rows, st.lists(nested_records(), min_size=1, max_size=6), CUTS)
def test_lines_of_json(
    tmp_path_factory: pytest.TempPathFactory,
    definition: StreamDefinition,
    rows: list[list[dict[str, object]]],
    records: list[object],
    cuts: list[float],
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    given_rows = rows_by_oracle(definition, rows)
    if given_rows is None:
        with pytest.raises(UnreadableStreamError):
            tables_of(definition, rows, folder)
        return
    tables = tables_of(definition, rows, folder)
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    outcomes = read_stream(definition, map(decode_json, lines), given_rows)
    decoder = decoder_of(definition, "jsonl", tables)
    assert_same(decoder, decode(decoder, "\n".join(lines).encode(), cuts), outcomes, range(1, len(lines) + 1))


@slowly
@given(joined_definitions(), several_rows, st.lists(flat_records(), min_size=1, max_size=6))
def test_csv_and_tables_of_arrow(
    tmp_path_factory: pytest.TempPathFactory,
    definition: StreamDefinition,
    rows: list[list[dict[str, object]]],
    records: list[dict[str, object]],
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    given_rows = rows_by_oracle(definition, rows)
    if given_rows is None:
        with pytest.raises(UnreadableStreamError):
            tables_of(definition, rows, folder)
        return
    tables = tables_of(definition, rows, folder)
    fields = [[_field(record[name]) for name in FIELDS] for record in records]
    text = "\n".join(",".join(row) for row in [list(FIELDS), *fields]).encode()
    decoded = [
        dict(zip(FIELDS, [decode_field(each, definition.nulls, decimal=".") for each in row], strict=True)) for row in fields
    ]
    decoder = decoder_of(definition, "csv", tables)
    outcomes = read_stream(definition, decoded, given_rows)
    assert_same(decoder, decode(decoder, text), outcomes, range(2, len(records) + 2))
    texts = [{name: str(record[name]) for name in FIELDS if record[name] is not None} for record in records]
    table = pa.Table.from_pylist(texts, pa.schema([(name, pa.string()) for name in FIELDS]))
    decoder = decoder_of(definition, "arrow", tables)
    found = [row for batch in table.to_batches() for row in decoder.decode_rows(batch).to_records()]
    assert_same(decoder, found, read_stream(definition, texts, given_rows), range(1, len(records) + 1))


def _field(value: object) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("\n", "~").replace("\t", "~").replace('"', "~").replace(",", "~").replace(" ", "~")


TABLE = "TABLE risk FROM 'risk.csv' KEY id "
STATEMENT = "STREAM s JOIN risk ON src = risk.id SET score = risk.score"


def file_of(folder: Path, text: bytes, statement: str = TABLE + STATEMENT, name: str = "risk.csv") -> TableFile:
    (folder / name).write_bytes(text)
    (definition,) = parse_streams(statement.replace("risk.csv", name))
    (file,) = table_files(definition, encode_definition, folder)
    return file


def scores(file: TableFile, *keys: object, ts: int = 0) -> list[object]:
    """Return what records with these keys get of a table."""
    (definition,) = parse_streams(TABLE + ("AT since " if file.rows.table.time is not None else "") + STATEMENT)
    table = file.empty()
    table.replace(read_rows(file))
    decoder = decoder_of(definition, "jsonl", {"risk": table}, ["score"])
    text = "".join(json.dumps({"ts": ts, "src": key, "dst": "x"}) + "\n" for key in keys)
    return [row["attributes"].get("score") for row in decode(decoder, text.encode())]


def test_a_table_has_any_format(tmp_path: Path) -> None:
    rows = [{"id": "u", "score": 1.5}, {"id": "007", "score": None}, {"id": "v", "score": "x"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    expected = [1.5, None, "x", None]
    keys = ("u", "007", "v", 7)
    assert scores(file_of(tmp_path, b"id,score\nu,1.5\n007,\nv,x\n"), *keys) == expected
    assert scores(file_of(tmp_path, lines, name="risk.jsonl"), *keys) == expected
    assert scores(file_of(tmp_path, json.dumps(rows).encode(), name="risk.json"), *keys) == expected
    xml = b"<t><row id='u' score='1.5'/><row id='007'/><row id='v' score='x'/></t>"
    assert scores(file_of(tmp_path, xml, TABLE + "FORMAT xml (ROW 'row') " + STATEMENT, "risk.xml"), *keys) == expected
    table = pa.table({"id": ["u", "007", "v"], "score": [1.5, None, 2.5], "other": [1, 2, 3]})
    pq.write_table(table, tmp_path / "risk.parquet")
    parquet = (tmp_path / "risk.parquet").read_bytes()
    assert scores(file_of(tmp_path, parquet, name="risk.parquet"), *keys) == [1.5, None, 2.5, None]
    for maker in (pa.ipc.new_file, pa.ipc.new_stream):
        sink = pa.BufferOutputStream()
        with maker(sink, table.schema) as writer:
            writer.write_table(table)
        arrow = sink.getvalue().to_pybytes()
        assert scores(file_of(tmp_path, arrow, name="risk.arrow"), *keys) == [1.5, None, 2.5, None]


def test_rows_hold_from_their_time_on(tmp_path: Path) -> None:
    text = b"id,score,since\nu,1,10\nu,3,30\nu,2,20\n"
    file = file_of(tmp_path, text, TABLE + "AT since " + STATEMENT)
    assert [scores(file, "u", ts=ts) for ts in (9, 10, 29, 30)] == [[None], [1], [2], [3]]


@pytest.mark.parametrize(
    ("text", "statement", "reason"),
    [
        (b"id,scor\nu,1\n", TABLE, r"no column 'score'; the columns are 'id', 'scor'; did you mean scor\?"),
        (b"key,score\nu,1\n", TABLE, "no column 'id'"),
        (b"id,score\nu,1\n", TABLE + "AT since ", "no column 'since'"),
        (b"id,score\nu,1\n,2\n", TABLE, "line 3: no key"),
        (b"id,score,since\nu,1,soon\n", TABLE + "AT since ", 'line 2: the time "soon" cannot be read'),
        (b"id,score\nu,1,2\n", TABLE, "line 2: expected 2 fields, found 3"),
        (b"", TABLE, "empty"),
        (b"\x1f\x8bdamaged", TABLE, "risk.csv"),
    ],
)
def test_a_table_that_cannot_be_read_says_why(tmp_path: Path, text: bytes, statement: str, reason: str) -> None:
    file = file_of(tmp_path, text, statement + STATEMENT)
    with pytest.raises(UnreadableStreamError, match=reason) as caught:
        read_rows(file)
    assert str(caught.value).startswith(f"{tmp_path / 'risk.csv'}: ")
    assert str(caught.value).endswith(", for the table risk")


def test_a_table_is_bounded_in_rows_and_bytes(tmp_path: Path) -> None:
    file = file_of(tmp_path, b"id,score\n" + b"u,1\n" * 100)
    assert read_rows(file, most_rows=100) is not None
    with pytest.raises(UnreadableStreamError, match="more than 99 rows"):
        read_rows(file, most_rows=99)
    with pytest.raises(UnreadableStreamError, match="more than 500 bytes"):
        read_rows(file, most_bytes=500)
    assert MOST_ROWS < 2**32
    assert MOST_BYTES > 1_000_000


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    (definition,) = parse_streams(TABLE + STATEMENT)
    with pytest.raises(UnreadableStreamError, match=r"risk\.csv: No such file or directory, for the table risk"):
        load_tables(definition, encode_definition, tmp_path)


def test_a_file_is_read_again_only_if_it_changed(tmp_path: Path) -> None:
    file_of(tmp_path, b"id,score\nu,1\n")
    (definition,) = parse_streams(TABLE + STATEMENT)
    first = load_tables(definition, encode_definition, tmp_path)["risk"]
    assert load_tables(definition, encode_definition, tmp_path)["risk"] is first
    file_of(tmp_path, b"id,score\nu,1\nv,2\n")
    assert load_tables(definition, encode_definition, tmp_path)["risk"].rows == 2
    assert first.rows == 1


def test_a_decoder_sees_a_table_that_is_replaced_from_the_next_record_on(tmp_path: Path) -> None:
    file = file_of(tmp_path, b"id,score\nu,1\n")
    (definition,) = parse_streams(TABLE + STATEMENT)
    table = file.empty()
    decoder = decoder_of(definition, "jsonl", {"risk": table}, ["score"])
    line = b'{"ts": 1, "src": "u", "dst": "x"}\n'
    found = [decoder.decode(line).to_records()[0]["attributes"].get("score")]
    table.replace(read_rows(file))
    found.append(decoder.decode(line).to_records()[0]["attributes"].get("score"))
    builder = read_rows(file_of(tmp_path, b"id,score\nu,2\n"))
    table.replace(builder)
    found.append(decoder.decode(line).to_records()[0]["attributes"].get("score"))
    assert found == [None, 1, 2]
    with pytest.raises(ValueError, match="the rows are in a table"):
        table.replace(builder)


def test_a_decoder_needs_every_table(tmp_path: Path) -> None:
    (definition,) = parse_streams(TABLE + STATEMENT)
    with pytest.raises(UnreadableStreamError, match='the table "risk" is not given'):
        decoder_of(definition, "jsonl", {}, ["score"])
    assert file_of(tmp_path, b"").rows.columns == ("score",)
