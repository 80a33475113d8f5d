"""Records that a STREAM statement reads natively are those of the oracle, whole, and so are dead letters."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from graphtide_core.record_format import RecordFormat
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_testing.given_rows import class_of, expected_rows, values_of
from graphtide_testing.oracles.record_decoding import decode_field, decode_json
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream
from graphtide_testing.strategies.read_records import ATTRIBUTES, FIELDS, flat_records, nested_records, reading_definitions
from graphtide_testing.strategies.stream_definitions import CONSTANTS, NAMES, stream_definitions
from graphtide_wire.stream_definition import encode_definition
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.stream_definition import StreamDefinition

TIMES = st.sampled_from([0, 1700000000, 1700000000.25, "1700000000", "2024-01-31T12:00:00", "31/01/2024 12:00", "2024031"])
VALUES: st.SearchStrategy[object] = st.recursive(
    CONSTANTS | TIMES, lambda part: st.lists(part, max_size=3) | st.dictionaries(NAMES, part, max_size=3), max_leaves=6
)
RECORDS = st.lists(
    st.dictionaries(NAMES | st.just("ts"), VALUES, max_size=6) | VALUES.filter(lambda each: each is not None), max_size=4
)
CUTS = st.lists(st.floats(0, 1), max_size=4)
slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def decoder_of(definition: StreamDefinition, format: str, attributes: Sequence[str] = (), **options: Any) -> StatementDecoder:
    zones = clocks_of_zones(definition.zones())
    return StatementDecoder(Symbols(), attributes, encode_definition(definition), format=format, zones=zones, **options)


def decode(decoder: StatementDecoder, text: bytes, cuts: Sequence[float] = ()) -> list[dict[str, Any]]:
    places = [0, *sorted(int(cut * len(text)) for cut in cuts), len(text)]
    blocks = [text[start:end] for start, end in pairwise(places)]
    return [row for block in blocks for row in decoder.decode(block).to_records()] + decoder.finish().to_records()


def names_in(outcomes: Sequence[Any]) -> list[str]:
    found = {name for outcome in outcomes if isinstance(outcome, tuple) for each in outcome for name in each.record.attributes}
    return [*sorted(found), "a", "absent.name"] if "a" not in found else [*sorted(found), "absent.name"]


def assert_same(
    decoder: StatementDecoder,
    rows: list[dict[str, Any]],
    outcomes: Sequence[Any],
    attributes: Sequence[str],
    places: Sequence[int] = (),
) -> None:
    lines = places or range(1, len(outcomes) + 1)
    assert [values_of(row) for row in rows] == [values_of(row) for row in expected_rows(outcomes, attributes, lines)]
    refused = [
        (line, class_of(each.reason)) for line, each in zip(lines, outcomes, strict=True) if isinstance(each, RefusedRecord)
    ]
    assert [(line, class_of(reason)) for line, reason, _ in decoder.take_dead_letters()] == refused
    assert decoder.filtered() == sum(isinstance(each, FilteredRecord) for each in outcomes)
    assert decoder.ordinal() == len(outcomes)
    event(f"rows: {min(len(rows), 3)}, refused: {min(len(refused), 1)}")


@slowly
@given(stream_definitions(), RECORDS, CUTS)
def test_lines_of_json(definition: StreamDefinition, records: list[object], cuts: list[float]) -> None:
    definition = replace(definition, format=None)
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    outcomes = read_stream(definition, map(decode_json, lines))
    attributes = names_in(outcomes)
    decoder = decoder_of(definition, "jsonl", attributes)
    assert_same(decoder, decode(decoder, "\n".join(lines).encode(), cuts), outcomes, attributes)


@slowly
@given(reading_definitions(), st.lists(nested_records(), min_size=1, max_size=6), CUTS)
def test_lines_of_json_that_have_what_is_read(definition: StreamDefinition, records: list[object], cuts: list[float]) -> None:
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    outcomes = read_stream(definition, map(decode_json, lines))
    decoder = decoder_of(definition, "jsonl", ATTRIBUTES)
    assert_same(decoder, decode(decoder, "\n".join(lines).encode(), cuts), outcomes, ATTRIBUTES)


COLUMNS = st.none() | st.just(tuple(f"c{place}" for place in range(len(FIELDS)))) | st.just(FIELDS)
SIGNS = [(None, "."), (",", None), (";", ","), ("\t", ","), ("|", None), ("::", ","), ("whitespace", "."), ("whitespace", ",")]
FORMATS = st.builds(
    lambda signs, **others: RecordFormat("csv", delimiter=signs[0], decimal=signs[1], **others),
    st.sampled_from(SIGNS),
    header=st.none() | st.booleans(),
    columns=COLUMNS,
    comment=st.none() | st.sampled_from(["//", "//~"]),
    quote=st.none() | st.sampled_from(["", "'", '"']),
)


@slowly
@given(reading_definitions(), FORMATS, st.lists(flat_records(), min_size=1, max_size=5), CUTS)
def test_csv(definition: StreamDefinition, stated: RecordFormat, records: list[dict[str, object]], cuts: list[float]) -> None:
    definition = replace(definition, format=stated)
    text, read, lines = write_csv(stated, [[write_field(record[name]) for name in FIELDS] for record in records])
    nulls = definition.nulls
    columns = stated.columns or (FIELDS if stated.header is not False else [str(place) for place in range(1, len(FIELDS) + 1)])
    fields = [[decode_field(each, nulls, decimal=stated.decimal or ".") for each in row] for row in read]
    outcomes = read_stream(definition, [dict(zip(columns, row, strict=True)) for row in fields])
    decoder = decoder_of(definition, "jsonl", ATTRIBUTES)
    rows = decode(decoder, text, cuts)
    assert decoder.columns() == list(columns)
    assert_same(decoder, rows, outcomes, ATTRIBUTES, lines)


def write_field(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def write_csv(stated: RecordFormat, rows: list[list[str]]) -> tuple[bytes, list[list[str]], list[int]]:
    """Return a text of CSV in a dialect, the fields that it holds, and the line of each record."""
    delimiter = stated.delimiter or ","
    quote = '"' if stated.quote is None else stated.quote
    is_quoted = bool(quote) and len(delimiter) == 1
    text, lines = [], []
    has_heading = stated.header is True or (stated.header is None and stated.columns is None)
    if has_heading:
        rows = [list(FIELDS), *rows]
    for number, row in enumerate(rows):
        if not is_quoted:
            row[:] = [each.replace("\n", "~").replace("\t", "~").replace('"', "~").replace(delimiter, "~") for each in row]
        if delimiter == "whitespace":
            row[:] = [each.replace(" ", "~") or "~" for each in row]
        if number % 2 and stated.comment:
            text.append(f"{stated.comment} a comment\n")
        start = 1 + "".join(text).count("\n")
        between = " \t " if delimiter == "whitespace" else delimiter
        needed = (delimiter, quote, "\n", "\r")
        written = [
            f"{quote}{each.replace(quote, 2 * quote)}{quote}" if is_quoted and any(sign in each for sign in needed) else each
            for each in row
        ]
        text.append(between.join(written) + "\n")
        lines.append(start)
    first = int(has_heading)
    return "".join(text).encode(), rows[first:], lines[first:]
