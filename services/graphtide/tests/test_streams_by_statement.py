"""A STREAM statement reads the same edges and events from the same records at every door, and those that its oracle reads."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide import Inputs, MatchOptions, Session, Stream, match
from graphtide.readers import ReaderOptions
from graphtide.readers.opening import format_of
from graphtide.record_options import RecordOptions
from graphtide.session import open_reader
from graphtide_backfill.application.pieces import Reading
from graphtide_backfill.bootstrap import statement_files
from graphtide_core.edge import Edge
from graphtide_core.errors import InvalidPatternError, UnreadableStreamError
from graphtide_core.stream_fields import attributes_of
from graphtide_core.time import TimeUnit
from graphtide_native.records import Symbols
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import EdgeBatch

Rows = list[tuple[object, ...]]

FLOWS = """STREAM flows
EDGE (`id.orig_h`:ip)-[proto]->(`id.resp_h`:ip)
AT ts IN s
ID uid
SET bytes = orig_bytes + resp_bytes, port = `id.resp_p`, state = coalesce(conn_state, 'none'), service = service
WHERE proto <> 'icmp'
NULL '-', '(empty)'"""
FLOW_RECORDS = [
    {"ts": 1521911721.258458, "uid": "C1", "id.orig_h": "10.0.0.1", "id.resp_h": "10.0.0.2", "id.resp_p": 80, "proto": "tcp",
     "service": "http", "orig_bytes": 10, "resp_bytes": 20, "conn_state": "SF"},
    {"ts": 1521911722.5, "uid": "C2", "id.orig_h": "10.0.0.2", "id.resp_h": "10.0.0.3", "id.resp_p": 22, "proto": "tcp",
     "service": "-", "orig_bytes": None, "resp_bytes": 20, "conn_state": "S0"},
    {"ts": 1521911723.0, "uid": "C3", "id.orig_h": "10.0.0.2", "id.resp_h": "10.0.0.3", "id.resp_p": 0, "proto": "icmp",
     "service": "-", "orig_bytes": 1, "resp_bytes": 2, "conn_state": "OTH"},
    {"ts": 1521911724.0, "uid": "C4", "id.orig_h": "10.0.0.2", "id.resp_h": "-", "id.resp_p": 53, "proto": "udp",
     "service": "dns", "orig_bytes": 1, "resp_bytes": 2, "conn_state": "SF"},
]  # fmt: skip

ORDERS = """STREAM orders
EDGE (customer:customer)-[:buys]->(item:item) WHERE paid SET price = price
EDGE (item:item)-[:made_by]->(maker:(kind)) ID concat(item, '/', maker)
EVENT 'order' SET who = customer
AT at ZONE 'Europe/Berlin' UNIT s
ID number
DELETE WHERE op = 'd'"""
ORDER_RECORDS: list[dict[str, Any]] = [
    {"number": 1, "at": "2024-01-31 13:00:01", "customer": "ann", "item": "pen", "maker": "bic", "kind": "firm", "price": 1.5,
     "paid": True, "op": "i"},
    {"number": 2, "at": "2024-01-31T12:00:02Z", "customer": "bob", "item": "ink", "maker": "pelikan", "kind": "firm",
     "price": 2.0, "paid": False, "op": "i"},
    {"number": 1, "at": "2024-01-31 13:00:03", "customer": "ann", "item": "pen", "maker": "bic", "kind": "firm", "price": 1.5,
     "paid": True, "op": "d"},
    {"number": None, "at": "2024-01-31 13:00:04", "customer": "eve", "item": "pad", "maker": "leitz", "kind": "firm",
     "price": 3.0, "paid": True, "op": "i"},
    {"number": 5, "at": "noon", "customer": "eve", "item": "pad", "maker": "leitz", "kind": "firm", "price": 3.0, "paid": True,
     "op": "i"},
]  # fmt: skip

READINGS = """STREAM readings
EVENT concat('speed_', lower(kind))
AT day FORMAT '%d/%m/%Y %H:%M' ZONE '+01:00'
SET value = to_number(value), road = split(place, '/', 0)"""
READING_RECORDS = [
    {"day": "31/01/2024 13:00", "kind": "CAR", "value": "17.5", "place": "A1/north"},
    {"day": "31/01/2024 13:01", "kind": "BUS", "value": "fast", "place": "A1"},
    {"day": "31/13/2024 13:01", "kind": "BUS", "value": "1", "place": "A1"},
]

PLAIN = "STREAM plain"
PLAIN_RECORDS = [
    {"ts": 1, "src": "a", "dst": "b", "label": "x", "weight": 3},
    {"ts": 2, "src": "a", "dst": "c", "label": "x", "weight": None},
    {"ts": 3, "src": "a", "dst": None, "label": "x", "weight": 4},
]

CASES: dict[str, tuple[str, list[dict[str, Any]], tuple[str, ...]]] = {
    "flows": (FLOWS, FLOW_RECORDS, ("bytes", "port", "state", "service")),
    "orders": (ORDERS, ORDER_RECORDS, ("price", "who")),
    "readings": (READINGS, READING_RECORDS, ("value", "road")),
    "records with names of their own": (PLAIN, PLAIN_RECORDS, ("weight",)),
}


def _json_lines(folder: Path, records: list[dict[str, Any]]) -> object:
    (folder / "stream.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return folder / "stream.jsonl"


def _json(folder: Path, records: list[dict[str, Any]]) -> object:
    (folder / "stream.json").write_text(json.dumps(records, indent=2))
    return folder / "stream.json"


def _csv(folder: Path, records: list[dict[str, Any]]) -> object:
    names = list(records[0])
    lines = [",".join(names), *(",".join(_field(each[name]) for name in names) for each in records)]
    (folder / "stream.csv").write_text("\n".join(lines) + "\n")
    return folder / "stream.csv"


def _field(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _parquet(folder: Path, records: list[dict[str, Any]]) -> object:
    pq.write_table(pa.Table.from_pylist(records), folder / "stream.parquet")
    return folder / "stream.parquet"


def _arrow(folder: Path, records: list[dict[str, Any]]) -> object:
    table = pa.Table.from_pylist(records)
    with pa.ipc.new_file(folder / "stream.arrow", table.schema) as file:
        file.write_table(table)
    return folder / "stream.arrow"


DOORS: dict[str, Callable[[Path, list[dict[str, Any]]], object]] = {
    "JSON Lines": _json_lines,
    "JSON": _json,
    "CSV": _csv,
    "Parquet": _parquet,
    "Arrow": _arrow,
    "dictionaries": lambda _, records: records,
    "a reader of record batches": lambda _, records: pa.Table.from_pylist(records).to_reader(max_chunksize=2),
}


def read(definition: StreamDefinition, stream: object, attributes: Sequence[str]) -> tuple[Rows, int, int]:
    """Return what a reader gives, how many records it rejects and how many it filters."""
    options = ReaderOptions(
        attributes=tuple(attributes), time_unit=definition.unit, record_options=RecordOptions(stream=(definition,))
    )
    reader = open_reader(stream, options)
    rows = _rows(reader.batches())
    return rows, len(reader.take_dead_letters()), reader.filtered


def _rows(batches: Iterable[EdgeBatch]) -> Rows:
    return [
        (each["op"], each["id"], each["made"], each["ts"], each["src"], each["dst"], each["label"], each["src_label"],
         each["dst_label"], {name: value for name, value in each["attributes"].items() if value is not None})
        for batch in batches
        for each in batch.to_records()
    ]  # fmt: skip


def read_history(definition: StreamDefinition, stream: object, attributes: Sequence[str]) -> tuple[Rows, int]:
    """Return what the piece of a backfill gives, and how many records it rejects."""
    kind = format_of(str(stream)).value
    (piece,) = statement_files(str(stream), definition, kind).pieces()
    piece = pickle.loads(pickle.dumps(piece))  # noqa: S301 - as executors get it
    rows = _rows(piece.batches(Reading(Symbols(), tuple(attributes), definition.unit)))
    assert piece.facts().has_ids == (definition.id is not None)
    return rows, piece.facts().rejected


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_history_without_a_column_that_its_statement_needs_is_an_error(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"flows.{suffix}"
    if suffix == "csv":
        file.write_text("at,source,dst\n1,a,b\n")
    else:
        pq.write_table(pa.table({"at": [1], "source": ["a"], "dst": ["b"]}), file)
    definition = Stream("STREAM s EDGE (sorce)-[:x]->(dst) AT at").definition
    wanted = r"no column 'sorce' \(for a source\); the columns are 'at', 'source', 'dst'; did you mean 'source'\?"
    with pytest.raises(UnreadableStreamError, match=wanted):
        read_history(definition, file, ())


def expect(definition: StreamDefinition, records: Sequence[object], attributes: Sequence[str]) -> tuple[Rows, int, int]:
    """Return what the oracle gives in the same form."""
    outcomes = read_stream(definition, records)
    rows = [
        _row(given.record, attributes) for outcome in outcomes if isinstance(outcome, tuple) for given in outcome
    ]  # fmt: skip
    rejected = sum(isinstance(outcome, RefusedRecord) for outcome in outcomes)
    return rows, rejected, sum(isinstance(outcome, FilteredRecord) for outcome in outcomes)


def _row(record: Any, attributes: Sequence[str]) -> tuple[object, ...]:
    own = {name: record.attributes[name] for name in attributes if record.attributes.get(name) is not None}
    if isinstance(record, Edge):
        labels = (record.label, record.source_label or "", record.target_label or "")
        ends: tuple[str, ...] = (record.source, record.target, *labels)
    else:
        ends = ("", "", record.type, "", "")
    made = record.made and record.operation.value == "insert"
    return (record.operation.value, record.id, made, record.ts, *ends, own)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", CASES)
def test_a_statement_reads_the_same_at_every_door(case: str, door: str, tmp_path: Path) -> None:
    text, records, attributes = CASES[case]
    definition = Stream(text).definition
    expected = expect(definition, records, attributes)
    assert expected[0]
    stream = DOORS[door](tmp_path, records)
    assert read(definition, stream, attributes) == expected
    if isinstance(stream, Path):
        assert read_history(definition, stream, attributes) == expected[:2]


def test_texts_of_another_encoding_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("ts,src,dst\n1,Jürgen,Åsa\n".encode("latin-1"))
    (tmp_path / "b.csv").write_bytes("ts,src,dst\n1,Jürgen,Åsa\n".encode("utf-16"))
    for file, encoding in (("a.csv", "latin-1"), ("b.csv", "utf-16")):
        definition = Stream(f"STREAM s FORMAT csv (ENCODING '{encoding}') EDGE (src)-[:x]->(dst) AT ts").definition
        assert [row[4:6] for row in read(definition, tmp_path / file, ())[0]] == [("Jürgen", "Åsa")]
    (tmp_path / "cut.csv").write_bytes("ts,src,dst\n1,a,b\n2,a,b\n".encode("utf-16")[:-3])
    definition = Stream("STREAM s FORMAT csv (ENCODING 'utf-16') EDGE (src)-[:x]->(dst) AT ts").definition
    rows, rejected, _ = read(definition, tmp_path / "cut.csv", ())
    assert ([row[5] for row in rows], rejected) == (["b"], 1)
    (tmp_path / "c.csv").write_bytes(b"ts,src,dst\n1,\x80,b\n2,\x81,b\n3,c,b\n")
    definition = Stream("STREAM s FORMAT csv (ENCODING 'windows-1252') EDGE (src)-[:x]->(dst) AT ts").definition
    rows, rejected, _ = read(definition, tmp_path / "c.csv", ())
    assert ([row[4] for row in rows], rejected) == (["\u20ac", "c"], 1)


def test_lines_of_an_expression_and_elements_of_xml_are_read(tmp_path: Path) -> None:
    lines = Stream(
        "STREAM s FORMAT regex '(?P<at>[0-9]+) (?P<who>[a-z]+) calls (?P<whom>[a-z]+)' EDGE (who)-[:calls]->(whom) AT at"
    )
    (tmp_path / "calls.log").write_text("1 ann calls bob\nnoise\n2 bob calls cem\n")
    rows, rejected, _ = read(lines.definition, tmp_path / "calls.log", ())
    assert ([row[4:6] for row in rows], rejected) == ([("ann", "bob"), ("bob", "cem")], 1)
    elements = Stream("STREAM s FORMAT xml (ROW 'row') EDGE (UserId)-[:on]->(PostId) AT CreationDate UNIT s")
    (tmp_path / "Comments.xml").write_text(
        '<comments><row Id="1" PostId="7" UserId="3" CreationDate="2024-01-31T12:00:01.5"/></comments>'
    )
    assert read(elements.definition, tmp_path / "Comments.xml", ())[0][0][3:6] == (1_706_702_401, "3", "7")
    avro = Stream("STREAM s FORMAT avro EDGE (a)-[:x]->(b) AT t").definition
    with pytest.raises(UnreadableStreamError, match="this is not an Avro file: it does not begin as one"):
        read(avro, tmp_path / "calls.log", ())


def test_times_of_python_are_read_where_they_are() -> None:
    definition = Stream("STREAM s EDGE (src)-[:x]->(dst) AT moment SET seen = seen").definition
    moment = datetime(2024, 1, 31, 12, 0, 1, 250_000, UTC)
    rows, rejected, _ = read(definition, [{"src": "a", "dst": "b", "moment": moment, "seen": moment}], ("seen",))
    assert (rows[0][3], rows[0][-1], rejected) == (1_706_702_401_250, {"seen": "2024-01-31T12:00:01.250000Z"}, 0)


def test_a_table_is_put_in_order_of_the_times_that_a_statement_computes() -> None:
    table = pa.table({"day": ["02/01/2024", "01/02/2024", "03/01/2024"], "src": ["a", "b", "c"], "dst": ["x", "y", "z"]})
    definition = Stream("STREAM s EDGE (src)-[:x]->(dst) AT day FORMAT '%d/%m/%Y' UNIT s").definition
    assert [row[4] for row in read(definition, table, ())[0]] == ["a", "c", "b"]


def test_matches_have_the_unit_and_the_lateness_of_the_statement() -> None:
    records = [{"at": 1000.5, "a": "x", "b": "y"}, {"at": 1009, "a": "y", "b": "z"}, {"at": 1001, "a": "y", "b": "w"}]
    pattern = "PATTERN p MATCH (a)-[x:e]->(b)-[y:e]->(c) ORDER x < y ON s WINDOW 10s"
    statement = "STREAM s EDGE (a)-[:e]->(b) AT at IN s UNIT s LATENESS 30s"
    options = MatchOptions(stream=statement)
    assert (options.time_unit, str(options.lateness)) == (TimeUnit.SECOND, "30s")
    assert sorted(found.detected_at for found in match(pattern, records, options)) == [1001, 1009]
    assert MatchOptions(stream=statement, time_unit="s", lateness="30s") == options
    session = Session(pattern, options)
    assert [*session.push(records), *session.finish()]


def test_options_that_contradict_a_statement_are_refused() -> None:
    statement = "STREAM s EDGE (a)-[:e]->(b) AT at IN s UNIT s LATENESS 30s"
    for given, message in (
        ({"time_unit": "ms"}, "time_unit: STREAM s counts s, not ms; leave the option out"),
        ({"lateness": "5s"}, "lateness: STREAM s says LATENESS 30s, not 5s; leave the option out"),
        ({"columns": {"ts": "at"}}, "columns: STREAM s says what its fields are; leave the option out"),
        ({"delimiter": ";"}, "delimiter: STREAM s says how its records are written; leave the option out"),
        ({"time_format": "iso"}, "time_format: STREAM s says how its records are written"),
    ):
        with pytest.raises(ValueError, match=message):
            MatchOptions(stream=statement, **given)
    with pytest.raises(ValueError, match="time_unit: STREAM t counts ms, not s; streams that are read together count the same"):
        MatchOptions(stream=[Stream(statement), Stream("STREAM t EDGE (a)-[:e]->(b) AT at")])


def test_what_is_not_a_statement_is_refused(tmp_path: Path) -> None:
    one = "STREAM s EDGE (a)-[:e]->(b) AT at"
    with pytest.raises(InvalidPatternError, match="one STREAM statement is needed, not 2: s, t"):
        Stream(f"{one}\nSTREAM t EDGE (a)-[:e]->(b) AT at")
    with pytest.raises(InvalidPatternError, match="the text has no STREAM statement"):
        Stream("PATTERN p MATCH (a)-[:x]->(b) ON s WINDOW 1s")
    with pytest.raises(InvalidPatternError, match=r"two STREAM statements have the name 's'"):
        MatchOptions(stream=[Stream(one), Stream(one)])
    with pytest.raises(TypeError, match="is needed, not a int"):
        MatchOptions(stream=3)  # type: ignore[arg-type]
    with pytest.raises(UnreadableStreamError, match=r"none\.gts: no such file"):
        Stream.from_file(tmp_path / "none.gts")
    with pytest.raises(UnreadableStreamError, match="2 STREAM statements are given for one stream: s, t; keep one of them"):
        list(
            match(
                "PATTERN p MATCH (a)-[:x]->(b) ON s WINDOW 1s",
                [],
                MatchOptions(stream=f"{one}\nSTREAM t EDGE (a)-[:e]->(b) AT at"),
            )
        )


def test_each_of_several_streams_has_its_statement() -> None:
    query = """QUERY q INPUT likes = ()-[:likes]->() ON social WINDOW(1h) INPUT pays = ()-[:pays]->() ON tx WINDOW(1h)
    Answer(x, z) <- likes(x, y), pays(y, z)."""
    statements = [
        "STREAM social EDGE (who)-[:likes]->(whom) AT at IN s LATENESS 10s",
        "STREAM tx EDGE (src)-[:pays]->(dst) AT ts",
    ]
    social = [{"who": "a", "whom": "b", "at": 1}]
    tx = [{"src": "b", "dst": "c", "ts": 2000}]
    options = MatchOptions(stream="\n".join(statements))
    found = list(match(query, Inputs(social=social, tx=tx), options))
    assert [each.detected_at for each in found] == [2000]
    with pytest.raises(UnreadableStreamError, match="STREAM tx defines a stream that is not given: the streams are"):
        list(match(query.replace("ON tx", "ON pay"), Inputs(social=social, pay=tx), options))


def test_a_stream_prints_as_it_is_read() -> None:
    for text, _, attributes in CASES.values():
        stream = Stream(text)
        assert Stream(str(stream)) == stream
        assert eval(repr(stream), {"Stream": Stream}) == stream  # noqa: S307 - our own text
        assert set(attributes_of(stream.definition) or attributes) == {*attributes}
    assert Stream(FLOWS) != Stream(ORDERS)
