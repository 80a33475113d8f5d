"""The oracle of the times of records, against ticks worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_query import parse_streams
from graphtide_testing.oracles.stream_records import Change, GivenRecord, RefusedRecord, read_stream

if TYPE_CHECKING:
    from graphtide_core.edge import Value
    from graphtide_testing.oracles.stream_records import Outcome


def read_one(statement: str, record: object) -> Outcome:
    (definition,) = parse_streams(statement)
    (outcome,) = read_stream(definition, [record])
    return outcome


@pytest.mark.parametrize(
    ("clauses", "value", "ticks"),
    [
        ("AT t", 5, 5),
        ("AT t", -5, -5),
        ("AT t", "5", 5),
        ("AT t", "1.5", 1),
        ("AT t", "-1.5", -2),
        ("AT t IN s", 5, 5_000),
        ("AT t IN s", 1521911721.258458, 1521911721258),
        ("AT t IN s UNIT us", 1521911721.258458, 1521911721258458),
        ("AT t IN s UNIT ns", "1521911721.258458123", 1521911721258458123),
        ("AT t IN us", -1, -1),
        ("AT t IN ns UNIT s", 1_999_999_999, 1),
        ("AT t IN auto", 1_700_000_000, 1_700_000_000_000),
        ("AT t IN auto", 1_700_000_000_000, 1_700_000_000_000),
        ("AT t IN auto", "1700000000000000", 1_700_000_000_000),
        ("AT t IN auto", 1_700_000_000_000_000_000, 1_700_000_000_000),
        ("AT t", "1970-01-01T00:00:01Z", 1_000),
        ("AT t", "1970-01-01 00:00:01.0015", 1_001),
        ("AT t", "1969-12-31T23:59:59,9999Z", -1),
        ("AT t", "1970-01-01T01:00+01:00", 0),
        ("AT t", "1970-01-01T00:00:00-0130", 5_400_000),
        ("AT t", "1970-01-02", 86_400_000),
        ("AT t ZONE '+01:00'", "1970-01-01T01:00:00", 0),
        ("AT t ZONE 'Europe/Berlin'", "2024-07-01T12:00:00", 1719828000000),
        ("AT t ZONE 'Europe/Berlin'", "2024-07-01T12:00:00Z", 1719835200000),
        # Shown twice: the first, in summer time. Skipped: an hour later by the clock, with the offset of winter.
        ("AT t ZONE 'Europe/Berlin'", "2024-10-27T02:30:00", 1729989000000),
        ("AT t ZONE 'Europe/Berlin'", "2024-03-31T02:30:00", 1711848600000),
        ("AT t FORMAT '%d/%m/%Y %H:%M'", "31/01/2024 12:00", 1706702400000),
        ("AT t FORMAT '%d/%m/%Y %H:%M' ZONE 'Europe/Berlin'", "31/01/2024 13:00", 1706702400000),
        ("AT t FORMAT '%b %d %Y %I:%M:%S.%f %p'", "Jan 31 2024 12:00:00.25 PM", 1706702400250),
        ("AT t FORMAT '%Y-%m-%dT%H:%M:%S%z'", "2024-01-31T13:00:00+0100", 1706702400000),
        ("AT t FORMAT '%Y%m%d'", 20240131, 1706659200000),
        ("AT t FORMAT 'rfc2822'", "Wed, 31 Jan 2024 13:00:00 +0100", 1706702400000),
        ("AT t FORMAT 'rfc2822'", "31 Jan 2024 12:00 GMT", 1706702400000),
        ("AT t FORMAT '%d/%b/%Y:%T %z'", "31/jan/2024:13:00:00 +01", 1706702400000),
        ("AT t FORMAT '%A, %e %B %y  %R %Z'", "WEDNESDAY,  31 January 24 12:00 gmt", 1706702400000),
        ("AT t FORMAT '%D %I%p'", "01/31/24 12AM", 1706659200000),
        ("AT t FORMAT '%Y-%j'", "2024-31", 1706659200000),
        ("AT t FORMAT '%F %T.%f'", "2024-01-31 12:00:00.2509999999", 1706702400250),
        ("AT t IN s", "1.5e3", 1_500_000),
        ("AT t IN s", ".5", 500),
        ("AT t IN s", "5.", 5_000),
        ("AT t", "1970-01-01t00:00:01.00199999999999999999z", 1_001),
        ("AT t", "1970-01-01T01:00+01", 0),
        ("AT t ZONE '+0100'", "1970-01-01T01:00", 0),
        ("AT t FORMAT 'iso' ZONE '-01:00'", "2024-01-31T11:00:00", 1706702400000),
        ("AT coalesce(u, t)", 5, 5),
        ("", 5, 5),
    ],
)
def test_times(clauses: str, value: Value, ticks: int) -> None:
    outcome = read_one(f"STREAM s EDGE (a)-->('v') SET n = n {clauses}", {"a": "u", "t": value, "ts": value})
    assert outcome == (
        GivenRecord(Change.INSERT, Edge(EdgeId("0"), EventTime(ticks), VertexId("u"), VertexId("v"), "edge", made=True)),
    )


@pytest.mark.parametrize(
    ("clauses", "value"),
    [
        ("AT t IN s", "2024-01-31T12:00:00Z"),
        ("AT t IN s", "1e"),
        ("AT t IN s", "."),
        ("AT t ZONE 'Europe/Berlin'", "1899-12-31T12:00:00"),
        ("AT t ZONE 'Europe/Berlin'", "2100-01-01T12:00:00"),
        ("AT t FORMAT '%Y%m%d'", "2024131"),
        ("AT t FORMAT '%Y-%m-%d %I %p'", "2024-01-31 0 am"),
        ("AT t FORMAT '%Y %j'", "2023 366"),
        ("AT t FORMAT '%F%z'", "2024-01-31+2400"),
        ("AT t", "2024-02-30T12:00:00Z"),
        ("AT t", "2024-01-31T12:00:00 CET"),
        ("AT t", "\u0665"),
        ("AT t", " 5"),
        ("AT t", float("inf")),
        ("AT t", float("nan")),
        ("AT t FORMAT '%Y%m%d'", "2024-01-31"),
        ("AT t FORMAT 'rfc2822'", "Wed, 31 Jan 2024 12:00:00"),
        ("AT t FORMAT 'iso'", 5),
    ],
)
def test_times_that_cannot_be_read(clauses: str, value: Value) -> None:
    outcome = read_one(f"STREAM s EDGE (a)-->('v') {clauses}", {"a": "u", "t": value})
    assert outcome in {RefusedRecord(f"the time {value!r} cannot be read"), RefusedRecord("no time")}
