"""A piece of a stream that a statement reads is read alike by itself and behind others: none has the header of another."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import graphtide_query
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.decoders import statement_decoder
from graphtide_native.records import Symbols
from graphtide_testing.given_rows import values_of
from graphtide_wire.stream_definition import encode_definition

MARK = b"\xef\xbb\xbf"
ZEEK = b"#separator \\x09\n#fields\tts\ta\tb\n#types\ttime\tstring\tstring\n1.5\tx\ty\n"
OTHER_ZEEK = b"#separator |\n#unset_field|?\n#fields|b|ts|a\n#types|string|time|string\nv|2.5|w\n-|3.5|?\n"

CASES: dict[str, tuple[str, list[bytes]]] = {
    "JSON Lines": ("jsonl", [b'{"ts": 1, "a": "x", "b": "y"}', b'not\n{"ts": 2, "a": "x", "b": "y"}\n', MARK + b'{"ts": 3}']),
    "JSON": ("json", [b'[{"ts": 1, "a": "x", "b": "y"}]', MARK + b'{"ts": 2,\n"a": "x", "b": "y"}', b""]),
    "CSV with given columns": ("csv (COLUMNS (ts, a, b))", [b"1,x,y", MARK + b"2,v,w\n3,v\n", b'4,"v\n']),
    "CSV with numbers": ("csv (HEADER none)", [b"1,x,y", MARK + b"2,v,w,more\n", b"3,v,w\n4,v,w,more\n"]),
    "logs of Zeek": ("zeek", [ZEEK, OTHER_ZEEK, MARK + ZEEK]),
}


def decode(format: str, pieces: list[bytes]) -> tuple[list[Any], list[Any]]:
    """Return the rows and the dead letters of pieces, for each piece; lines count in the piece."""
    fields = ("`1`", "`2`", "`3`") if "HEADER" in format else ("ts", "a", "b")
    text = "STREAM s FORMAT {} EDGE ({})-->({}) AT {} IN s ID concat({}, '') SET a = {}"
    ts, a, b = fields
    (definition,) = graphtide_query.parse_streams(text.format(format, a, b, ts, ts, a))
    decoder = statement_decoder(Symbols(), ["a"], encode_definition(definition), "jsonl", definition.zones(), keep_raw=True)
    batch, ends = decoder.decode_pieces(pieces, 1)
    rows, letters = batch.to_records(), decoder.take_dead_letters()
    found_rows, found_letters = [], []
    row = letter = 0
    for end, letters_end, _, _, line in ends:
        found_rows.append(
            [values_of(each) | {"line": each["line"] - line, "ordinal": None} for each in rows[row:end]],
        )
        found_letters.append([(number - line, reason, raw) for number, reason, raw in letters[letter:letters_end]])
        row, letter = end, letters_end
    return found_rows, found_letters


@pytest.mark.parametrize("case", CASES)
def test_a_piece_is_read_alike_behind_any_others(case: str) -> None:
    format, pieces = CASES[case]
    alone = [decode(format, [piece]) for piece in pieces]
    assert sum(bool(rows) for (rows,), _ in alone) >= 2
    for order in permutations(range(len(pieces))):
        rows, letters = decode(format, [pieces[place] for place in order])
        assert rows == [alone[place][0][0] for place in order]
        assert letters == [alone[place][1][0] for place in order]


def test_a_piece_without_the_lines_of_zeek_does_not_have_those_of_the_piece_before_it() -> None:
    for pieces in ([b"1.5\tx\ty\n"], [ZEEK, b"1.5\tx\ty\n"]):
        with pytest.raises(UnreadableStreamError, match="does not begin with lines such as #separator and #fields"):
            decode("zeek", pieces)
