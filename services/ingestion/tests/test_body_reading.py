"""A body that is passed on is, edge by edge, what a file of the same text is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ports.log import Record
from graphtide_ingestion.domain.body_reading import BodyReader, events_as_lines
from graphtide_native.records import CsvDecoder, JsonLinesDecoder, Symbols, take_dead_letters
from graphtide_runtime.sequencing.raw_decoding import RawDecoder
from graphtide_runtime.sequencing.raw_groups import grouped
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges, RawFormat
from hypothesis import example, given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_ingestion.domain.body_reading import Passage
    from graphtide_native.records import EdgeBatch
    from graphtide_runtime.sequencing.raw_decoding import Refused

HEADER = b"ts,src,dst,label,id\n"
JSON_PARTS = [
    b'{"ts":1,"src":"a","dst":"b","label":"x"}',
    b'{"ts":2,"src":"a","dst":"b","label":"x","id":"1"}',
    b'{"ts":2,"src":"a","dst":"b","label":"x","id":"e"}',
    b'{"ts":3,"src":',
    b"[]",
    b"",
    b"\x1a",
]
CSV_PARTS = [b"1,a,b,x,", b"2,a,b,x,1", b"2,a,b,x,e", b'3,"a\nb",b,x,', b'"a\nb",3,b,x,', b"a,", b'4,"a', b"", b"\x1a"]
LINE_ENDS = st.sampled_from([b"\n", b"\r\n"])
TOO_SMALL_FOR_ALL = 64

Named = tuple[int, str, str, bool]
"""Time, source, id, and whether that was made."""


def named(batches: Iterable[EdgeBatch]) -> list[Named]:
    return [(each["ts"], each["src"], each["id"], each["made"]) for batch in batches for each in batch.to_records()]


def from_file(text: bytes, format: RawFormat) -> tuple[list[Named], list[int]]:
    """The edges of a file, and the lines of those that cannot be used."""
    decoder = CsvDecoder(Symbols(), [], {}) if format is RawFormat.CSV else JsonLinesDecoder(Symbols(), [], {})
    edges = named([decoder.decode(text), decoder.finish()])
    return edges, [letter.line for letter in take_dead_letters(decoder)]


def passed_on(reader: BodyReader, text: bytes, step: int) -> tuple[list[Passage], list[Refused]]:
    passages, refused = [], []
    for start in range(0, len(text), step):
        more, bad = reader.push(text[start : start + step])
        passages += more
        refused += bad
    more, bad = reader.finish()
    return [*passages, *more], [*refused, *bad]


def from_log(passages: Iterable[Passage]) -> list[Named]:
    """The edges of what was passed on, as the sequencer numbers them; all of it can be used."""
    found: list[Named] = []
    ordinal = 0
    for passage in passages:
        message = raw.encode("in", RawEdges(passage.text, passage.format, passage.columns, None, passage.line))
        (group,) = grouped([Record("in", 0, 0, 0, None, message.value, message.headers)])
        decoded = RawDecoder().decode(group, ordinal)
        assert decoded.edges is not None
        assert [piece.refused for piece in decoded.pieces] == [()]
        assert len(decoded.edges) == passage.edges
        found += named([decoded.edges])
        ordinal += sum(piece.ordinals for piece in decoded.pieces)
    return found


@given(st.lists(st.sampled_from(JSON_PARTS)), LINE_ENDS, st.integers(1, 200), st.sampled_from([TOO_SMALL_FOR_ALL, 1 << 19]))
@example([b"[]", JSON_PARTS[0], b"[]", b"", b"[]"], b"\n", 200, 1 << 19)
def test_edges_of_json_have_the_ids_that_they_have_in_a_file(parts: list[bytes], end: bytes, step: int, most: int) -> None:
    text = end.join(parts)
    passages, refused = passed_on(BodyReader(RawFormat.JSON_LINES, most_bytes=most), text, step)
    assert (from_log(passages), [each.line for each in refused]) == from_file(text, RawFormat.JSON_LINES)


@given(st.lists(st.sampled_from(CSV_PARTS)), LINE_ENDS, st.integers(1, 200), st.sampled_from([TOO_SMALL_FOR_ALL, 1 << 19]))
@example([b"a,", b"1,a,b,x,", b"a,", b"a,"], b"\n", 200, 1 << 19)
def test_edges_of_csv_have_the_ids_that_they_have_in_a_file(parts: list[bytes], end: bytes, step: int, most: int) -> None:
    text = HEADER + end.join(parts)
    passages, refused = passed_on(BodyReader(RawFormat.CSV, most_bytes=most), text, step)
    assert (from_log(passages), [each.line for each in refused]) == from_file(text, RawFormat.CSV)


def test_an_edge_that_is_too_large_counts() -> None:
    large = b'{"ts":2,"src":"' + b"a" * 100 + b'","dst":"b","label":"x"}'
    text = b"\n".join([JSON_PARTS[0], large, b"", JSON_PARTS[0]])
    passages, refused = passed_on(BodyReader(RawFormat.JSON_LINES, most_bytes=TOO_SMALL_FOR_ALL), text, len(text))
    assert from_log(passages) == [(1, "a", "0", True), (1, "a", "2", True)]
    assert [(each.line, each.raw) for each in refused] == [(2, large)]


def test_an_event_without_an_edge_counts() -> None:
    event = b'{"specversion":"1.0","data":{"ts":1,"src":"a","dst":"b","label":"x"}}'
    body, refused = events_as_lines(b"[" + b",".join([event, b'{"data":1}', event]) + b"]")
    passages, more = passed_on(BodyReader(RawFormat.JSON_LINES, substitutes=True), body, len(body))
    assert from_log(passages) == [(1, "a", "0", True), (1, "a", "2", True)]
    assert ([each.line for each in refused], more) == ([2], [])
