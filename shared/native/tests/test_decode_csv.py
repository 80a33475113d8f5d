"""CSV: what the csv module of Python reads, and for each way a record can be bad its exact dead letter."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import CsvDecoder, Symbols
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_RECORD = 16 << 20
HEADER = ["ts", "src", "dst", "label", "note"]


def decode(
    data: bytes,
    *,
    step: int = 1 << 30,
    attributes: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    delimiter: str = ",",
    keep_raw: bool = False,
) -> tuple[list[dict[str, Any]], list[tuple[int, str, bytes]], CsvDecoder]:
    decoder = CsvDecoder(Symbols(), attributes, columns or {}, delimiter, keep_raw=keep_raw)
    records = []
    for start in range(0, len(data), step):
        records += decoder.decode(data[start : start + step]).to_records()
    records += decoder.finish().to_records()
    return records, decoder.take_dead_letters(), decoder


# A carriage return alone is not quoted by the module's writer, but ends a line for its reader: only there we differ.
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=6) | st.sampled_from(
    ['"', '""', ",", "\n", "\r\n", "a,b", 'say "hi"', "ünï\ncode", "\N{BYTE ORDER MARK}"]
)
name = text.filter(bool)
rows = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), name, name, name, text.map(lambda note: "n" + note)), max_size=8)


@given(
    rows=rows,
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from(",;\t"),
    step=st.integers(1, 40),
    mark=st.booleans(),
)
def test_any_quoting_cut_anywhere_reads_as_the_csv_module_reads_it(
    *, rows: list[tuple[int, str, str, str, str]], quoting: Any, end: str, delimiter: str, step: int, mark: bool
) -> None:
    file = io.StringIO()
    writer = csv.writer(file, quoting=quoting, lineterminator=end, delimiter=delimiter)
    writer.writerow(HEADER)
    writer.writerows(rows)
    data = file.getvalue()
    expected = list(csv.DictReader(io.StringIO(data, newline=""), delimiter=delimiter))
    encoded = (b"\xef\xbb\xbf" if mark else b"") + data.encode()

    records, dead, decoder = decode(encoded, step=step, attributes=["note"], delimiter=delimiter)

    assert dead == []
    assert [
        {"ts": str(r["ts"]), "src": r["src"], "dst": r["dst"], "label": r["label"], "note": r["attributes"]["note"]}
        for r in records
    ] == expected
    assert decoder.columns() == HEADER


@given(st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "a", "b"]), max_size=12).map("".join), st.integers(1, 7))
def test_stray_quotes_read_as_the_csv_module_reads_them(line: str, step: int) -> None:
    data = "ts,src,dst,label,note\n" + "1,a,b,c," + line + "\n"
    records, dead, _ = decode(data.encode(), step=step, attributes=["note"])
    # A quote that stays open swallows the rest: the csv module takes it as text, we reject it.
    closed = not any(reason == "a quote is opened and never closed" for _, reason, _ in dead)
    rows = list(csv.reader(io.StringIO(data, newline="")))[1:]
    good = [row for row in rows if len(row) == 5 and row[0] == "1" and all(row[1:4])]
    if closed:
        assert [r["attributes"]["note"] or "" for r in records] == [row[4] for row in good]


def test_a_lone_carriage_return_is_text() -> None:
    records, dead, _ = decode(b"ts,src,dst,label,note\n1,a,b,c,x\ry\r\n", attributes=["note"])
    assert dead == []
    assert records[0]["attributes"] == {"note": "x\ry"}


def test_columns_come_in_any_order_under_any_name() -> None:
    data = b"bytes|to|kind|when|from|uid|op\n17|b|tcp|5|a|x1|\n2.5|b|tcp|6|a||delete\n|d|udp|7|c|x3|insert\n"
    columns = {"ts": "when", "src": "from", "dst": "to", "label": "kind", "id": "uid"}
    records, dead, decoder = decode(data, attributes=["bytes", "nowhere", "when"], columns=columns, delimiter="|")
    assert [(r["ordinal"], r["line"], r["ts"], r["src"], r["dst"], r["label"], r["id"], r["op"]) for r in records] == [
        (0, 2, 5, "a", "b", "tcp", "x1", "insert"),
        (2, 4, 7, "c", "d", "udp", "x3", "insert"),
    ]
    assert records[0]["attributes"] == {"bytes": 17, "nowhere": None, "when": 5}
    assert records[1]["attributes"]["bytes"] is None
    assert dead == [(3, "a delete needs the id of the edge it retracts", b"2.5|b|tcp|6|a||delete")]
    assert decoder.has_ids()
    assert decoder.has_operations()


def test_a_deletion_needs_no_more_than_its_id_and_time() -> None:
    records, dead, _ = decode(b"ts,src,dst,label,id,op\n1,,,,7,delete\n")
    assert dead == []
    assert (records[0]["op"], records[0]["id"], records[0]["src"], records[0]["label"]) == ("delete", "7", "", "")


def test_a_missing_id_is_the_ordinal_and_bad_records_count() -> None:
    records, dead, decoder = decode(b"ts,src,dst,label\n1,a,b,c\nx,a,b,c\n\n3,a,b,c")
    assert [(r["id"], r["line"]) for r in records] == [("0", 2), ("2", 5)]
    assert len(dead) == 1
    assert not decoder.has_ids()


BAD = [
    (b"1,a,b", "expected 7 fields, found 3"),
    (b"1,a,b,c,d,e,f,g", "expected 7 fields, found 8"),
    (b"abc,a,b,c,,,", 'ts "abc" is not an integer'),
    (b"1.0,a,b,c,,,", 'ts "1.0" is not an integer'),
    (b" 1,a,b,c,,,", 'ts " 1" is not an integer'),
    (b"-,a,b,c,,,", 'ts "-" is not an integer'),
    (b",a,b,c,,,", "ts is empty"),
    (b"9223372036854775808,a,b,c,,,", 'ts "9223372036854775808" does not fit in 64 bits'),
    (b"-9223372036854775809,a,b,c,,,", 'ts "-9223372036854775809" does not fit in 64 bits'),
    (b"1,,b,c,,,", "src is empty"),
    (b"1,a,,c,,,", "dst is empty"),
    (b'1,a,b,"",,,', "label is empty"),
    (b"1,a,b,c,,upsert,", 'op "upsert" is neither "insert" nor "delete"'),
    (b"1,a,b,c,,delete,", "a delete needs the id of the edge it retracts"),
    (b"1,a,b,c,\xff,,", "not UTF-8 at byte 8"),
    (b'1,"a\xff\n",b,c,,,', "not UTF-8 at byte 4"),
]


@pytest.mark.parametrize(("raw", "reason"), BAD)
def test_a_bad_record_is_rejected_as_it_came_and_its_neighbours_are_read(raw: bytes, reason: str) -> None:
    good = b"1,a,b,c,,,\r\n"
    records, dead, _ = decode(b"ts,src,dst,label,id,op,note\n" + good + raw + b"\r\n" + good, step=3)
    assert dead == [(3, reason, raw)]
    assert [(r["ordinal"], r["id"]) for r in records] == [(0, "0"), (2, "2")]
    assert [r["line"] for r in records] == [2, 4 + raw.count(b"\n")]


def test_a_quote_left_open_rejects_the_rest() -> None:
    records, dead, _ = decode(b'ts,src,dst,label\n1,a,b,c\n2,"a,b,c\n3,a,b,c\n')
    assert [r["ts"] for r in records] == [1]
    assert dead == [(3, "a quote is opened and never closed", b'2,"a,b,c\n3,a,b,c\n')]


@pytest.mark.parametrize("step", [1 << 16, 1 << 30])
def test_a_record_past_the_bound_is_rejected_with_its_head(step: int) -> None:
    long = b"2,a,b," + b"x" * MAX_RECORD
    records, dead, _ = decode(b"ts,src,dst,label\n1,a,b,c\n" + long + b"\n3,a,b,c\n", step=step)
    assert dead == [(3, "the record is longer than 16777216 bytes; its first 65536 are kept", long[: 1 << 16])]
    assert [(r["ts"], r["line"], r["id"]) for r in records] == [(1, 2, "0"), (3, 4, "2")]


def test_raw_bytes_are_kept_where_asked() -> None:
    data = b'ts,src,dst,label\r\n1,a,b,c\r\n2,"a\n",b,c\r\n'
    assert [r["raw"] for r in decode(data, keep_raw=True)[0]] == [b"1,a,b,c", b'2,"a\n",b,c']
    assert [r["raw"] for r in decode(data)[0]] == [b"", b""]


UNREADABLE = [
    (b"", "the stream is empty: it has no header"),
    (b"\n\r\n", "the stream is empty: it has no header"),
    (b"ts,src,dst\n", 'no column "label"; the columns are "ts", "src", "dst"; a label for all edges can be stated'),
    (b"time,src,dst,label\n", 'no column "ts"; the columns are "time", "src", "dst", "label"; did you mean "time"?'),
    (b"ts\tsrc\tdst\tlabel\n", r'no column "ts"; the columns are "ts\tsrc\tdst\tlabel"; the delimiter looks like a tab'),
    (b"ts,ts,src,dst,label\n", 'column "ts" occurs twice'),
    (b"ts,src\0,dst,label\n", "this is not CSV: its first line is binary"),
    (b"\xff\xfe\x01garbage\n", "this is not CSV: its first line is not UTF-8"),
    (b"ts,src,dst,label\r1,a,b,c\r", "this is not CSV: its lines end in carriage returns alone; turn them into line feeds"),
    (b'"ts,src\n', "this is not CSV: its first line has no end"),
]


@pytest.mark.parametrize(("data", "reason"), UNREADABLE)
def test_a_stream_without_a_usable_header_is_an_error_that_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableStreamError) as caught:
        decode(data)
    assert str(caught.value) == reason


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UnreadableStreamError, match='there is no "source" to map'):
        decode(b"", columns={"source": "x"})
    with pytest.raises(UnreadableStreamError, match='column "dst" cannot be both src and dst'):
        decode(b"", columns={"src": "dst"})
    with pytest.raises(UnreadableStreamError, match="cannot separate fields"):
        decode(b"", delimiter='"')
    with pytest.raises(UnreadableStreamError, match="cannot separate fields"):
        decode(b"", delimiter="")


@given(st.lists(st.binary(max_size=40), max_size=8), st.booleans())
def test_random_bytes_never_crash(blocks: list[bytes], with_header: bool) -> None:
    decoder = CsvDecoder(Symbols(), ["a"], {})
    try:
        if with_header:
            decoder.decode(b"ts,src,dst,label,a\n")
        for block in blocks:
            decoder.decode(block)
        decoder.finish()
    except UnreadableStreamError:
        assert not with_header
