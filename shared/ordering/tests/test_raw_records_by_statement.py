"""A raw record that a statement reads, or cannot read, is the same by itself and in a group with any others."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from typing import TYPE_CHECKING, Any

import graphtide_query
import pytest
from graphtide_core.formats import CSV
from graphtide_core.ports.log import Record
from graphtide_ordering.raw_decoding import Decoded, RawDecoder
from graphtide_ordering.raw_groups import group_records
from graphtide_ordering.statements import Statement
from graphtide_wire import raw
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord

if TYPE_CHECKING:
    from graphtide_native.records import StatementDecoder

ZEEK = b"#separator \\x09\n#fields\tts\ta\tb\n#types\ttime\tstring\tstring\n1\tx\ty\n2\tz\tw\n"

CASES: dict[str, tuple[str, list[bytes]]] = {
    "JSON that breaks off": ("json", [b'{"ts": 1, "a": "x", "b": "y"}', b'[{"ts": 2, "a": "x", "b": "y"}, {"ts"', b"[{}]"]),
    "lines of JSON": ("jsonl", [b'{"ts": 1, "a": "x", "b": "y"}', b'{"ts"\n{"ts": 2, "a": "x", "b": "y"}', b"\xff"]),
    "a log of Zeek without its first lines": ("zeek", [ZEEK, b"3\tx\ty\n", ZEEK]),
    "columns by number": ("csv (COLUMNS (ts, a, b))", [b"1,x,y", b"\x00", b"2,x\n3,x,y"]),
    "a text in another encoding": (
        "csv (COLUMNS (ts, a, b), ENCODING 'utf-16')",
        ["1,Åsa,Jürgen\n2,ö,é\n".encode("utf-16"), b"\xff\xfe1", "3,ß,x".encode("utf-16")],
    ),
    "columns beside the record": ("csv (HEADER first, ENCODING 'windows-1252')", [b"1,\xc5sa,y", b"2,\xc5\n", b"3,x,\xdf"]),
    "letters of one byte": (
        "csv (COLUMNS (ts, a, b), ENCODING 'windows-1252')",
        ["1,Åsa,€\n".encode("windows-1252"), b"2,\xc5\n", "3,ß,x".encode("windows-1252")],
    ),
}
"""A format, and values; the second is wrong."""


def decode(format: str, values: list[bytes], columns: str | None = "ts,a,b") -> Decoded:
    """Read values as one group; columns are a header line beside values that need one."""
    text = f"STREAM s FORMAT {format} EDGE (a)-->(b) AT ts IN s SET a = a"
    beside = columns is not None and "HEADER" in format
    return decode_by(text, [RawEdges(value, format=CSV, columns=columns) if beside else RawEdges(value) for value in values])


def decode_by(text: str, given: list[RawEdges]) -> Decoded:
    """Read edges by a statement, as one group."""
    (definition,) = graphtide_query.parse_streams(text)
    messages = [raw.encode("raw", edges) for edges in given]
    records = [Record("raw", 0, offset, 0, None, each.value, each.headers) for offset, each in enumerate(messages)]
    (group,) = group_records(records)
    return RawDecoder().decode(group, 0, Statement(StatementRecord.of(text, definition, 1, datetime(2024, 1, 1, tzinfo=UTC))))


def outcomes(decoded: Decoded) -> list[tuple[object, ...]]:
    """Return what became of each record: its edges, and its dead letters with their lines."""
    rows = [] if decoded.edges is None else decoded.edges.to_records()
    found, start = list[tuple[object, ...]](), 0
    for piece in decoded.pieces:
        edges = [(each["ts"], each["src"], each["dst"], each["attributes"]["a"]) for each in rows[start : piece.end]]
        found.append((edges, piece.refused, piece.ordinals, piece.newest))
        start = piece.end
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_record_is_read_alike_by_itself_and_beside_any_others(case: str) -> None:
    format, values = CASES[case]
    alone = [outcomes(decode(format, [value]))[0] for value in values]
    assert any(outcome[0] for outcome in alone)
    for order in permutations(range(len(values))):
        assert outcomes(decode(format, [values[place] for place in order])) == [alone[place] for place in order]


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_read_is_a_dead_letter_with_its_bytes(case: str) -> None:
    format, values = CASES[case]
    pieces = decode(format, values).pieces
    assert pieces[1].refused
    assert all(each.code is ErrorCode.MALFORMED for each in pieces[1].refused)
    assert not pieces[0].refused


def test_names_are_read_in_the_stated_encoding() -> None:
    format, values = CASES["letters of one byte"]
    decoded = decode(format, values)
    assert decoded.edges is not None
    assert [(each["src"], each["dst"]) for each in decoded.edges.to_records()] == [("Åsa", "€"), ("ß", "x")]


def test_columns_have_names_in_any_encoding() -> None:
    for encoding in ("windows-1252", "utf-16", "latin-1"):
        text = f"STREAM s FORMAT csv (ENCODING '{encoding}') EDGE (a)-->(`Größe`) AT ts IN s SET a = a"
        decoded = decode_by(text, [RawEdges("1,Åsa,ß".encode(encoding), format=CSV, columns="ts,a,Größe")])
        assert decoded.edges is not None
        assert [(each["src"], each["dst"]) for each in decoded.edges.to_records()] == [("Åsa", "ß")]
    decoded = decode_by(text, [RawEdges(b"1,x,y", format=CSV, columns="ts,a,€")])
    assert [piece.refused[0].reason for piece in decoded.pieces] == [
        "the columns cannot be written in latin-1, which the statement states"
    ]


def test_a_header_line_that_is_missing_is_found_once_for_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    decoder = Statement.decoder

    def counted(self: Statement, *given: Any) -> StatementDecoder:
        made.append(self)
        return decoder(self, *given)

    monkeypatch.setattr(Statement, "decoder", counted)
    decoded = decode("csv (HEADER first)", [b"1,x,y"] * 100, columns=None)
    assert [len(piece.refused) for piece in decoded.pieces] == [1] * 100
    assert len(made) < 5
