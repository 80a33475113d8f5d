"""A body that is passed on is, edge by edge, what a file of the same text is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.formats import CSV, JSON_LINES, StreamFormat
from graphtide_core.ports.log import Record
from graphtide_ingestion.domain.body_reading import BodyReader, events_as_lines
from graphtide_ingestion.domain.stream_types import StreamTypes
from graphtide_native.records import CsvDecoder, JsonLinesDecoder, Symbols, take_dead_letters
from graphtide_ordering.raw_decoding import RawDecoder
from graphtide_ordering.raw_groups import group_records
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges
from hypothesis import example, given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_ingestion.domain.body_reading import Passage
    from graphtide_native.records import EdgeBatch
    from graphtide_ordering.raw_decoding import Refused

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
LEAST_BATCHES = st.sampled_from([1, 2, 64])
"""Least edges of a passage that becomes a batch: all of them, some, or none here."""

Named = tuple[int, str, str, bool]
"""Time, source, id, and whether that was made."""


def read_named(batches: Iterable[EdgeBatch]) -> list[Named]:
    return [(each["ts"], each["src"], each["id"], each["made"]) for batch in batches for each in batch.to_records()]


def from_file(text: bytes, format: StreamFormat) -> tuple[list[Named], list[int]]:
    """The edges of a file, and the lines of those that cannot be used."""
    decoder = CsvDecoder(Symbols(), [], {}) if format is CSV else JsonLinesDecoder(Symbols(), [], {})
    edges = read_named([decoder.decode(text), decoder.finish()])
    return edges, [letter.line for letter in take_dead_letters(decoder)]


def passed_on(reader: BodyReader, text: bytes, step: int) -> tuple[list[Passage], list[Refused]]:
    passages, refused = [], []
    for start in range(0, len(text), step):
        more, bad = reader.push(text[start : start + step])
        passages += more
        refused += bad
    more, bad = reader.finish()
    return [*passages, *more], [*refused, *bad]


def edges_of(passage: Passage) -> RawEdges:
    return RawEdges(passage.body, passage.format, passage.columns, passage.types, is_batch=passage.is_batch, line=passage.line)


def from_log(passages: Iterable[Passage]) -> list[Named]:
    """The edges of what was passed on, as the sequencer numbers them; all of it can be used."""
    found: list[Named] = []
    ordinal = 0
    for passage in passages:
        message = raw.encode("in", edges_of(passage))
        (group,) = group_records([Record("in", 0, 0, 0, None, message.value, message.headers)])
        decoded = RawDecoder().decode(group, ordinal)
        assert decoded.edges is not None
        assert [piece.refused for piece in decoded.pieces] == [()]
        assert len(decoded.edges) == passage.edges
        found += read_named([decoded.edges])
        ordinal += sum(piece.ordinals for piece in decoded.pieces)
    return found


@given(
    st.lists(st.sampled_from(JSON_PARTS)),
    LINE_ENDS,
    st.integers(1, 200),
    st.sampled_from([TOO_SMALL_FOR_ALL, 1 << 19]),
    LEAST_BATCHES,
)
@example([b"[]", JSON_PARTS[0], b"[]", b"", b"[]"], b"\n", 200, 1 << 19, 1)
def test_edges_of_json_have_the_ids_that_they_have_in_a_file(
    parts: list[bytes], end: bytes, step: int, most: int, least: int
) -> None:
    text = end.join(parts)
    passages, refused = passed_on(BodyReader(JSON_LINES, most_bytes=most, least_batch=least), text, step)
    assert (from_log(passages), [each.line for each in refused]) == from_file(text, JSON_LINES)


@given(
    st.lists(st.sampled_from(CSV_PARTS)),
    LINE_ENDS,
    st.integers(1, 200),
    st.sampled_from([TOO_SMALL_FOR_ALL, 1 << 19]),
    LEAST_BATCHES,
)
@example([b"a,", b"1,a,b,x,", b"a,", b"a,"], b"\n", 200, 1 << 19, 1)
def test_edges_of_csv_have_the_ids_that_they_have_in_a_file(
    parts: list[bytes], end: bytes, step: int, most: int, least: int
) -> None:
    text = HEADER + end.join(parts)
    passages, refused = passed_on(BodyReader(CSV, most_bytes=most, least_batch=least), text, step)
    assert (from_log(passages), [each.line for each in refused]) == from_file(text, CSV)


TYPED_PARTS = [b"1,a,b,x,7,7", b"1,a,b,x,01234,1.5", b"1,a,b,x,x,", b"1,a,b,x,,true", b"1,a,b,x,NA,2", b"a,"]
KINDS = st.sampled_from(["any", "string", "integer", "number", "boolean"])
TYPES = st.builds(
    StreamTypes,
    st.dictionaries(st.sampled_from(["one", "two"]), KINDS.filter(lambda kind: kind != "any")),
    st.dictionaries(st.sampled_from(["one", "two"]), KINDS),
)


@given(
    st.lists(st.sampled_from(TYPED_PARTS), max_size=6),
    TYPES,
    st.integers(1, 60),
    st.sampled_from([TOO_SMALL_FOR_ALL, 1 << 19]),
    LEAST_BATCHES,
)
@example([b"1,a,b,x,7,7", b"1,a,b,x,01234,1.5"], StreamTypes({}, {"one": "any"}), 1, 1 << 19, 1)
def test_fields_of_csv_are_in_the_log_what_the_stream_says_or_the_beginning_shows(
    parts: list[bytes], types: StreamTypes, step: int, most: int, least: int
) -> None:
    text = b"\n".join([b"ts,src,dst,label,one,two", *parts, b""])
    # What is known is as good as declared, but for what never refuses; the rest is settled, unless nothing is to be found out.
    texts = {name: "string" for name, kind in types.seen.items() if kind == "string"}
    others = {name for name, kind in types.seen.items() if kind != "string" and name not in types.declared}
    decoder = CsvDecoder(Symbols(), ["one", "two"], {}, types={**texts, **types.declared}, settle=True)
    plain = CsvDecoder(Symbols(), ["one", "two"], {}, types={**texts, **types.declared})
    by_settled, by_look = decoder.decode(text).to_records(), plain.decode(text).to_records()
    wanted = [
        {name: (look if name in others else settled)["attributes"][name] for name in ("one", "two")}
        for settled, look in zip(by_settled, by_look, strict=True)
    ]

    reader = BodyReader(CSV, most_bytes=most, types=types, least_batch=least)
    passages, refused = passed_on(reader, text, step)
    found: list[dict[str, object]] = []
    for passage in passages:
        message = raw.encode("in", edges_of(passage))
        (group,) = group_records([Record("in", 0, 0, 0, None, message.value, message.headers)])
        decoded = RawDecoder().decode(group, 0)
        assert decoded.edges is not None
        assert [piece.refused for piece in decoded.pieces] == [()]
        found += [{name: record["attributes"].get(name) for name in ("one", "two")} for record in decoded.edges.to_records()]
    assert [[(value, type(value)) for value in edge.values()] for edge in found] == [
        [(value, type(value)) for value in edge.values()] for edge in wanted
    ]
    assert [each.line for each in refused] == [letter.line for letter in take_dead_letters(decoder)]


def test_the_beginning_is_not_held_where_all_columns_are_known() -> None:
    text = b"ts,src,dst,label,one\n1,a,b,x,7\n"
    known = BodyReader(CSV, most_bytes=12, types=StreamTypes({}, {"one": "any"}))
    passages, _ = known.push(text)
    more, _ = known.push(b"2,a,b,x,7\n")
    assert [each.body for each in [*passages, *more]] == [b"1,a,b,x,7\n"]
    unknown = BodyReader(CSV, most_bytes=12)
    assert unknown.push(text) == ([], [])
    assert len(unknown.finish()[0]) == 1


JSON_SEEN = b"""{"ts":1,"src":"a","dst":"b","label":"x","n":1,"m":1,"t":"x","o":{},"z":null,"attributes":{"b":true}}
{"ts":1,"src":"a","dst":"b","label":"x","n":1.5,"m":"x"}
{"ts":
{"ts":1,"src":"a","dst":"b","label":"x","later":"""


def test_what_edges_show_is_noted() -> None:
    reader = BodyReader(JSON_LINES)
    reader.push(JSON_SEEN)
    assert reader.seen == {"n": "number", "m": "any", "t": "string", "b": "boolean"}
    reader = BodyReader(CSV, {"src": "from"})
    passed_on(reader, b"ts,from,dst,label,zip,n,none\n1,a,b,x,01234,7,\n2,a,b,x,77,8.5,\n", 1000)
    assert reader.seen == {"zip": "string", "n": "number", "none": "any"}


def test_an_edge_that_is_too_large_counts() -> None:
    large = b'{"ts":2,"src":"' + b"a" * 100 + b'","dst":"b","label":"x"}'
    text = b"\n".join([JSON_PARTS[0], large, b"", JSON_PARTS[0]])
    passages, refused = passed_on(BodyReader(JSON_LINES, most_bytes=TOO_SMALL_FOR_ALL), text, len(text))
    assert from_log(passages) == [(1, "a", "0", True), (1, "a", "2", True)]
    assert [(each.line, each.raw) for each in refused] == [(2, large)]


def test_an_event_without_an_edge_counts() -> None:
    event = b'{"specversion":"1.0","data":{"ts":1,"src":"a","dst":"b","label":"x"}}'
    body, refused = events_as_lines(b"[" + b",".join([event, b'{"data":1}', event]) + b"]")
    passages, more = passed_on(BodyReader(JSON_LINES, substitutes=True), body, len(body))
    assert from_log(passages) == [(1, "a", "0", True), (1, "a", "2", True)]
    assert ([each.line for each in refused], more) == ([2], [])
