"""A passage handed on as a batch becomes what the sequencer makes of its text: edges, ids, bytes, lines, dead letters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_core.formats import CSV, JSON_LINES, StreamFormat
from graphtide_core.ports.log import Record
from graphtide_core.time import TimeUnit
from graphtide_ingestion.domain.body_reading import LEAST_BATCH, BodyReader
from graphtide_ingestion.domain.stream_types import StreamTypes
from graphtide_ordering.raw_decoding import Ahead, RawDecoder
from graphtide_ordering.raw_groups import group_records
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_ingestion.domain.body_reading import Passage
    from graphtide_ordering.raw_decoding import Refused

AHEAD = Ahead(TimeUnit.MILLISECOND, 0.0)
NOW = 5
"""Time of the log: an edge that is later is of the future."""

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
)
NAMES = st.sampled_from(["n", "m", "later", "attributes", "graphtide.raw", "graphtide.made", "\u00e9"])
KEYS = st.one_of(st.sampled_from(["a", "07", "1", '"', "\u00fc", "graphtide"]), st.integers(0, 10**19))
EDGES = st.fixed_dictionaries(
    {"ts": st.integers(0, 7), "src": KEYS, "dst": KEYS, "label": st.sampled_from(["x", "y"])},
    optional={
        "id": KEYS,
        "src_label": st.sampled_from(["s", ""]),
        "dst_label": st.just("t"),
        "op": st.sampled_from(["insert", "no"]),
    },
)
EVENTS = st.fixed_dictionaries({"ts": st.integers(0, 7), "type": st.sampled_from(["on", "off"])}, optional={"id": KEYS})
DELETIONS = st.fixed_dictionaries({"ts": st.integers(0, 7), "op": st.just("delete"), "id": KEYS})
OBJECTS = st.builds(
    lambda record, attributes: json.dumps(record | attributes).encode(),
    st.one_of(EDGES, EDGES, EVENTS, DELETIONS),
    st.dictionaries(NAMES, st.one_of(VALUES, st.just([]), st.dictionaries(NAMES, VALUES, max_size=2)), max_size=3),
)
LINES = st.lists(st.one_of(OBJECTS, OBJECTS, st.sampled_from([b"", b"[]", b"\x1a", b'{"ts":1', b"\xff"])), max_size=12)
FIELDS = st.sampled_from(["", "1", "01", "1.50", "true", "x", '"a\nb"', '"', "\u00fc"])
ROWS = st.lists(
    st.one_of(
        st.builds(lambda ts, *fields: ",".join([str(ts), *fields]).encode(), st.integers(0, 7), *[FIELDS] * 6),
        st.sampled_from([b"", b"a,", b"\x1a"]),
    ),
    max_size=12,
)
WAYS = st.tuples(st.sampled_from([64, 300, 1 << 19]), st.sampled_from([7, 90, 1 << 16]), st.sampled_from([1, 3]), st.booleans())
"""Bytes of a passage, bytes of a block, edges of a batch, whether records are read together."""


def passed_on(
    text: bytes, format: StreamFormat, least: int | None, most: int, step: int
) -> tuple[list[Passage], list[Refused]]:
    reader = BodyReader(format, most_bytes=most, least_batch=least, types=StreamTypes({"m": "number"}))
    passages: list[Passage] = []
    refused: list[Refused] = []
    for start in range(0, len(text), step):
        more, bad = reader.push(text[start : start + step])
        passages += more
        refused += bad
    more, bad = reader.finish()
    return [*passages, *more], [*refused, *bad]


def record_of(passage: Passage, offset: int = 0) -> Record:
    edges = RawEdges(passage.body, passage.format, passage.columns, passage.types, is_batch=passage.is_batch, line=passage.line)
    message = raw.encode("in", edges)
    return Record("in", 0, offset, NOW, None, message.value, message.headers)


def sequence_passages(passages: Sequence[Passage], *, together: bool) -> list[object]:
    """What a sequencer knows of passages, which it reads one by one or as many as it may at once."""
    records = [record_of(passage, offset) for offset, passage in enumerate(passages)]
    decoder, found, ordinal = RawDecoder(AHEAD), list[object](), 3
    for held in [records] if together else [[record] for record in records]:
        for group in group_records(held):
            decoded = decoder.decode(group, ordinal)
            assert decoded.edges is not None
            edges, row = decoded.edges.to_records(), 0
            for piece in decoded.pieces:
                ordinal += piece.ordinals
                assert piece.newest == max((each["ts"] for each in edges[row : piece.end]), default=None)
                for each in edges[row : piece.end]:
                    attributes = sorted(
                        (name, str(type(value)), value) for name, value in each.pop("attributes").items() if value is not None
                    )
                    found.append({**each, "line": piece.sent_line(each["line"]), "attributes": attributes})
                found += piece.refused
                row = piece.end
    return [*found, ordinal]


@given(LINES, st.sampled_from([b"\n", b"\r\n"]), WAYS)
def test_a_batch_of_json_is_what_its_text_is(lines: list[bytes], end: bytes, way: tuple[int, int, int, bool]) -> None:
    most, step, least, together = way
    text = end.join(lines)
    (batches, refused), (texts, same) = (passed_on(text, JSON_LINES, each, most, step) for each in (least, None))
    assert (sequence_passages(batches, together=together), refused) == (sequence_passages(texts, together=False), same)


@given(ROWS, st.sampled_from([b"\n", b"\r\n"]), WAYS)
def test_a_batch_of_csv_is_what_its_text_is(rows: list[bytes], end: bytes, way: tuple[int, int, int, bool]) -> None:
    most, step, least, together = way
    text = end.join([b"ts,src,dst,label,id,n,m", *rows])
    (batches, refused), (texts, same) = (passed_on(text, CSV, each, most, step) for each in (least, None))
    assert (sequence_passages(batches, together=together), refused) == (sequence_passages(texts, together=False), same)


def line(ts: int, **attributes: object) -> bytes:
    return json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", **attributes}).encode() + b"\n"


@pytest.mark.parametrize(("edges", "is_batch"), [(LEAST_BATCH - 1, False), (LEAST_BATCH, True)])
def test_passages_of_few_edges_are_texts(edges: int, is_batch: bool) -> None:
    (passage,), _ = passed_on(line(1, n=1) * edges, JSON_LINES, LEAST_BATCH, 1 << 19, 1000)
    assert (passage.is_batch, passage.edges) == (is_batch, edges)


def test_a_passage_with_a_new_attribute_is_text_and_the_next_one_is_a_batch() -> None:
    text = line(1) * 20 + line(1, late=1) + line(1) * 80 + line(2, late=2) * 80
    passages, _ = passed_on(text, JSON_LINES, 1, 4000, 500)
    assert [each.is_batch for each in passages] == [False] + [True] * (len(passages) - 1)
    assert len(passages) > 2


@pytest.mark.parametrize("header", ["ts,src,dst,label,n,n", ",".join(["ts,src,dst,label", *(f"a{n}" for n in range(1_001))])])
def test_columns_that_a_batch_cannot_have_are_handed_on_as_text(header: str) -> None:
    text = f"{header}\n1,a,b,x{',1' * (header.count(',') - 3)}\n".encode()
    (passage,), refused = passed_on(text, CSV, 1, 1 << 19, 1000)
    assert (passage.is_batch, refused) == (False, [])
