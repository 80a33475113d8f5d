"""The decoder of STREAM statements: ids of clauses wherever records go, updates, what is accepted, and hostile records."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.record_form import RecordForm, clocks_of_zones
from graphtide_native.records import (
    ArrowDecoder,
    Duplicates,
    EdgeBatch,
    RawBatchDecoder,
    Sequencer,
    StatementDecoder,
    Symbols,
)
from graphtide_query import parse_streams
from graphtide_wire.stream_definition import encode_definition

SEVERAL = "STREAM s EDGE (a)-->(b) SET n = n EVENT k SET n = n AT ts"


def decoder_of(statement: str, attributes: list[str], format: str = "jsonl", **options: Any) -> StatementDecoder:
    (definition,) = parse_streams(statement)
    zones = clocks_of_zones(definition.zones())
    symbols = options.pop("symbols", None) or Symbols()
    return StatementDecoder(symbols, attributes, encode_definition(definition), format=format, zones=zones, **options)


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def ids(batch: EdgeBatch) -> list[tuple[str, bool, int]]:
    return [(row["id"], row["made"], row["ordinal"]) for row in batch.to_records()]


RECORDS = lines({"ts": 1, "a": "u", "b": "v", "k": "x", "n": 1}, {"ts": 2}, {"ts": 3, "a": "u", "b": 5, "k": "y"})
MADE = [("0#1", True, 0), ("0#2", True, 0), ("2#1", True, 2), ("2#2", True, 2)]


def test_rows_of_a_record_are_in_the_order_of_its_clauses_and_have_its_bytes() -> None:
    decoder = decoder_of(SEVERAL, ["n"], keep_raw=True)
    batch = decoder.decode(RECORDS)
    first, third = RECORDS.splitlines()[::2]
    rows = batch.to_records()
    assert ids(batch) == MADE
    assert [(row["src"], row["dst"], row["label"], row["attributes"]["n"]) for row in rows] == [
        ("u", "v", "edge", 1),
        ("", "", "x", 1),
        ("u", "5", "edge", None),
        ("", "", "y", None),
    ]
    assert [row["raw"] for row in rows] == [first, first, third, third]
    assert batch.raw_text(1) == first + b"\n\n" + third + b"\n"
    assert decoder.take_dead_letters() == [(2, "no source", b'{"ts": 2}')]
    assert decoder.ordinal() == 3


def test_made_ids_of_clauses_survive_the_ordered_topic() -> None:
    symbols = Symbols()
    batch = decoder_of(SEVERAL, ["n"], symbols=symbols).decode(RECORDS)
    read = ArrowDecoder(symbols, ["n"], {}).decode(batch.to_arrow())
    assert [(id, made) for id, made, _ in ids(read)] == [(id, made) for id, made, _ in MADE]


def test_a_text_that_reads_like_a_made_id_is_one_only_if_it_is_marked_so() -> None:
    table = pa.table(
        {
            "ts": [1, 1],
            "src": ["a", "a"],
            "dst": ["b", "b"],
            "label": ["x", "x"],
            "id": ["7#2", "7#2"],
            "graphtide.made": [True, False],
        }
    )
    batch = ArrowDecoder(Symbols(), [], {}).decode_rows(table.to_batches()[0])
    assert [(id, made) for id, made, _ in ids(batch)] == [("7#2", True), ("7#2", False)]
    bad = table.set_column(4, "id", pa.array(["7#0", "7#65"])).slice(0, 1)
    decoder = ArrowDecoder(Symbols(), [], {})
    assert len(decoder.decode_rows(bad.to_batches()[0])) == 0
    assert "is marked as made" in decoder.take_dead_letters()[0][1]


def test_made_ids_of_clauses_move_with_their_ordinals_in_packed_batches() -> None:
    batch = decoder_of(SEVERAL, ["n"]).decode(RECORDS)
    read = EdgeBatch.unpack(batch.pack(), Symbols(), ["n"], 100)
    assert ids(read) == [("100#1", True, 100), ("100#2", True, 100), ("102#1", True, 102), ("102#2", True, 102)]


def test_made_ids_of_clauses_survive_the_raw_topic() -> None:
    symbols = Symbols()
    decoder = decoder_of(SEVERAL, ["n"], symbols=symbols, keep_raw=True)
    batch = decoder.decode(RECORDS)
    reader = RawBatchDecoder(symbols, ["n"])
    reader.start_at(10)
    read, ends = reader.decode_pieces([batch.to_raw_batch(1, 0, decoder.ordinal())], 1)
    assert ids(read) == [("10#1", True, 10), ("10#2", True, 10), ("12#1", True, 12), ("12#2", True, 12)]
    assert [row["raw"] for row in read.to_records()] == [row["raw"] for row in batch.to_records()]
    assert [row["line"] for row in read.to_records()] == [1, 1, 3, 3]
    assert ends[0][2] == 13


def test_rows_of_one_time_keep_the_order_of_clauses_in_the_sequencer() -> None:
    decoder = decoder_of(SEVERAL, [])
    batch = decoder.decode(lines(*({"ts": ts, "a": "u", "b": "v", "k": "x"} for ts in (5, 3, 5, 4))))
    sequencer = Sequencer(10)
    first, last = sequencer.push(batch), sequencer.finish()
    assert first is not None
    assert last is not None
    released = [*first.to_records(), *last.to_records()]
    assert [row["id"] for row in released] == ["1#1", "1#2", "3#1", "3#2", "0#1", "0#2", "2#1", "2#2"]


UPDATED = "STREAM s EDGE (a)-->(b) EDGE (b)-->(a) WHERE k AT ts ID uid UPDATE WHERE op = 'u' DELETE WHERE op = 'd'"


def test_an_update_is_a_deletion_and_an_insert_that_the_filter_of_duplicates_lets_through() -> None:
    decoder = decoder_of(UPDATED, [])
    base = {"a": "u", "b": "v", "k": True, "uid": "x"}
    batch = decoder.decode(
        lines(
            {**base, "ts": 1, "op": "u"},
            {**base, "ts": 2},
            {**base, "ts": 3, "op": "u", "b": "w", "k": False},
            {**base, "ts": 4, "op": "d"},
        )
    )
    rows = [(row["ts"], row["op"], row["id"], row["dst"]) for row in Duplicates(100).filter(batch).to_records()]
    assert rows == [
        (1, "delete", "x#1", ""),
        (1, "insert", "x#1", "v"),
        (1, "delete", "x#2", ""),
        (1, "insert", "x#2", "u"),
        (3, "delete", "x#1", ""),
        (3, "insert", "x#1", "w"),
        (3, "delete", "x#2", ""),
        (4, "delete", "x#1", ""),
        (4, "delete", "x#2", ""),
    ]
    assert decoder.has_ids()
    assert decoder.has_operations()


def test_records_later_than_what_is_accepted_are_rejected_as_a_whole() -> None:
    decoder = decoder_of(SEVERAL, [])
    decoder.accept_until(2)
    assert ids(decoder.decode(RECORDS)) == MADE[:2]
    assert [line for line, _, _ in decoder.take_dead_letters()] == [2, 3]


def test_substitutes_have_ordinals_and_no_dead_letters() -> None:
    decoder = decoder_of("STREAM s EDGE (a)-->(b)", [], substitutes=True)
    batch = decoder.decode(b"\x1a\n" + lines({"ts": 1, "a": "u", "b": "v"}))
    assert ids(batch) == [("1", True, 1)]
    assert decoder.take_dead_letters() == []


def test_filtered_records_are_counted_and_have_ordinals() -> None:
    decoder = decoder_of("STREAM s EDGE (a)-->(b) AT ts WHERE a <> 'u'", [])
    assert ids(decoder.decode(lines({"a": "u"}, {"ts": 1, "a": "v", "b": "w"}, {}))) == [("1", True, 1)]
    assert (decoder.filtered(), decoder.take_dead_letters()) == (2, [])


def test_declared_types_hold_for_the_texts_of_csv() -> None:
    statement = "STREAM s FORMAT csv EDGE (a)-->(b)"
    decoder = decoder_of(statement, ["n", "m"], types={"n": "string", "m": "integer"})
    batch = decoder.decode(b"ts,a,b,n,m\n1,u,v,007,7\n2,u,v,1.50,x\n3,u,v,,\n")
    assert [row["attributes"] for row in batch.to_records()] == [{"n": "007", "m": 7}, {"n": None, "m": None}]
    assert [(line, reason) for line, reason, _ in decoder.take_dead_letters()] == [
        (3, 'm "x" is not of the type integer, which was declared')
    ]


def test_zeek_says_itself_how_it_is_written() -> None:
    log = (
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
        "#fields\tts\tuid\tid.orig_h\tid.resp_h\tid.resp_p\tlocal\tnote\n"
        "#types\ttime\tstring\taddr\taddr\tport\tbool\tstring\n"
        "1521911721.258458\tC1\t10.0.0.1\t10.0.0.2\t443\tT\t77\n"
        "1521911722.5\t-\t10.0.0.1\t10.0.0.3\t-\tF\t(empty)\n"
        "1521911723\tC3\t10.0.0.1\t-\tx\tF\t-\n"
        "1521911723\tC3\t10.0.0.1\t10.0.0.4\tx\tF\t-\n#close\n"
    )
    statement = """STREAM flows FORMAT zeek EDGE (`id.orig_h`:ip)-->(`id.resp_h`:ip)
                   SET port = `id.resp_p`, local = local, note = note AT ts IN s ID uid"""
    decoder = decoder_of(statement, ["port", "local", "note"])
    rows = decoder.decode(log.encode()).to_records() + decoder.finish().to_records()
    assert [(row["ts"], row["id"], row["made"], row["dst"], row["attributes"]) for row in rows] == [
        (1521911721258, "C1", False, "10.0.0.2", {"port": 443, "local": True, "note": "77"}),
        (1521911722500, "1", True, "10.0.0.3", {"port": None, "local": False, "note": None}),
    ]
    assert [line for line, _, _ in decoder.take_dead_letters()] == [10, 11]


def test_a_header_is_replaced_and_quotes_are_others() -> None:
    statement = "STREAM s FORMAT csv (HEADER first, COLUMNS (ts, a, b), DELIMITER ';', QUOTE '~') EDGE (a)-->(b)"
    decoder = decoder_of(statement, [])
    rows = decoder.decode(b'x;y;z\n1;~u;"~~\n2~;v\n').to_records()
    assert [(row["src"], row["dst"], row["line"]) for row in rows] == [('u;"~\n2', "v", 2)]


def test_columns_that_no_value_has_are_refused() -> None:
    decoder = decoder_of("STREAM s EDGE (a)-->(b)", [], "arrow")
    table = pa.table({"ts": [1], "a": [b"\x00"], "b": ["v"]})
    with pytest.raises(UnreadableStreamError, match='column "a" is of type Binary'):
        decoder.check_columns(table.schema)
    nested = pa.table({"ts": [1], "a": [{"x": 1}], "b": ["v"]})
    assert len(decoder.decode_rows(nested.to_batches()[0])) == 0
    assert decoder.take_dead_letters()[0][1] == "no source"


def test_a_format_without_a_decoder_and_a_broken_definition_are_refused() -> None:
    with pytest.raises(UnreadableStreamError, match='there is no decoder of the format "orc"'):
        decoder_of("STREAM s EDGE (a)-->(b)", [], "orc")
    with pytest.raises(UnreadableStreamError, match="the definition of the stream cannot be used"):
        StatementDecoder(Symbols(), [], b"{}", format="jsonl", zones={})


def test_what_is_written_in_the_form_of_records_counts_where_the_statement_does_not_say_it() -> None:
    form = RecordForm(nulls=["?"], comment="#", heading="given", header=["ts", "a", "b"])
    decoder = decoder_of("STREAM s EDGE (a)-->(coalesce(b, 'none')) NULL '-'", [], "csv", form=form)
    rows = decoder.decode(b"#x\n1,u,?\n2,u,-\n3,u,v\n").to_records()
    assert [row["dst"] for row in rows] == ["none", "none", "v"]


HOSTILE = [
    (b'{"ts":1,"a":"u","b":"\xff"}', "not UTF-8 at byte 21"),
    (b'{"ts":1,"a":"u","b":', "not a JSON object: EOF while parsing a value"),
    (b'{"ts":1,"a":"u","b":"v"}}', "not a JSON object: trailing characters"),
    (b'{"ts":1,"a":"u","b":"v",}', "not a JSON object: trailing comma"),
    (b'{"ts":1,"a":"\\ud800","b":"v"}', "not a JSON object"),
    (b'{"ts":1e999,"a":"u","b":"v"}', "not a JSON object: number out of range"),
    (b'{"ts":01,"a":"u","b":"v"}', "not a JSON object: invalid number"),
    (b"[" * 100_000, "not a JSON object"),
    (b'{"x":' * 100_000, "not a JSON object"),
    (b'"text"', "not a JSON object: invalid type"),
]


@pytest.mark.parametrize(("line", "reason"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_are_dead_letters_with_their_bytes(line: bytes, reason: str) -> None:
    decoder = decoder_of("STREAM s EDGE (a)-->(b)", ["n"])
    good = lines({"ts": 1, "a": "u", "b": "v"})
    assert len(decoder.decode(line + b"\n" + good)) == 1
    ((number, stated, raw),) = decoder.take_dead_letters()
    assert (number, raw) == (1, line)
    assert stated.startswith(reason)


def test_a_million_keys_and_deep_values_that_nobody_reads_are_passed_over() -> None:
    wide = b'{"ts":1,' + b"".join(b'"k%d":{"x":[1]},' % number for number in range(300_000)) + b'"a":"u","b":"v"}\n'
    deep = b'{"ts":1,"a":"u","x":' + b"[" * 300_000 + b"]" * 300_000 + b',"b":"v"}\n'
    decoder = decoder_of("STREAM s EDGE (a)-->(b)", [])
    assert [row["dst"] for row in decoder.decode(wide + deep).to_records()] == ["v", "v"]


def test_a_name_with_many_dots_means_few_paths() -> None:
    name = ".".join("abcdefghijklmnopqrstuvwxyz")
    nested: object = 7
    for letter in reversed(name.split(".")):
        nested = {letter: nested}
    decoder = decoder_of("STREAM s EDGE (a2)-->(b2)", [name, "[" * 60, "." * 60])
    batch = decoder.decode(lines({"ts": 1, "a2": "u", "b2": "v", **nested}, {"ts": 1, "a2": "u", "b2": "v", name: 8}))  # type: ignore[dict-item]
    assert [row["attributes"][name] for row in batch.to_records()] == [7, 8]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1", "windows-1252"])
def test_texts_of_other_encodings_are_read(encoding: str) -> None:
    name = "utf-16" if encoding.startswith("utf-16") else encoding
    decoder = decoder_of(f"STREAM s FORMAT csv (ENCODING '{name}') EDGE (a)-->(b)", [], keep_raw=True)
    text = "ts,a,b\n1,\u00fc,\u00e9\n2,\u00fc\n".encode(encoding)
    rows = [row for byte in text for row in decoder.decode(bytes([byte])).to_records()] + decoder.finish().to_records()
    assert [(row["src"], row["dst"], row["line"]) for row in rows] == [("\u00fc", "\u00e9", 2)]
    assert decoder.take_dead_letters() == [(3, "expected 3 fields, found 2", "2,\u00fc".encode())]


BAD_ROWS = [
    ("<row a='1' b/>", "an attribute has no value"),
    ("<row a=1/>", "a value is not in quotes"),
    ("<row a='1'b='2'/>", "attributes are not apart"),
    ("<row ='1'/>", "an attribute has no name"),
    ("<row a='&other;'/>", "a reference or a sign"),
    ("<row a='&#0;'/>", "a reference or a sign"),
    ("<row a='&#xd800;'/>", "a reference or a sign"),
    ("<row a='&amp'/>", "a reference or a sign"),
]


@pytest.mark.parametrize(("row", "reason"), BAD_ROWS)
def test_elements_that_are_not_xml_are_dead_letters(row: str, reason: str) -> None:
    decoder = decoder_of("STREAM s FORMAT xml (ROW 'row') EDGE (a)-->(b)", [])
    good = "<row ts='1' a='u' b='v'/>"
    batch = decoder.decode(f"<x>\n{row}{good}</x>".encode())
    assert ids(batch) == [("1", True, 1)]
    ((line, stated, raw),) = decoder.take_dead_letters()
    assert (line, raw) == (2, row.encode())
    assert stated.startswith(f"not an element of XML: {reason}")


def test_a_text_of_xml_that_breaks_off_is_refused() -> None:
    for text in (b"<x><row a='1", b"<x><!-- ", b"<x><"):
        decoder = decoder_of("STREAM s FORMAT xml (ROW 'row') EDGE (a)-->(b)", [])
        decoder.decode(text)
        with pytest.raises(UnreadableStreamError, match="this is not XML: it breaks off"):
            decoder.finish()
