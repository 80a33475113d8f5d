"""The Python interface says what it could not use, and takes times as Python has them."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

import graphtide
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphtide import MatchOptions, PatternWarning, Session, StreamWarning, TimeUnit
from graphtide_core.edge import Edge
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 1h"
NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
NOON_MS = 1_706_702_400_000


def edge(ts: object, source: str = "a", target: str = "b", **more: object) -> dict[str, object]:
    return {"ts": ts, "src": source, "dst": target, "label": "pays", **more}


def pair(first: object, second: object) -> list[object]:
    return [edge(first, "a", "b"), edge(second, "b", "c")]


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([edge(1.5)], '1 of 1 record was rejected, the first at record 1 \\(ts "1.5" is not an integer\\)'),
        ([edge("soon")], 'record 1 \\(ts "soon" is not an integer\\)'),
        (
            [edge(1), {"ts": 2, "src": "b", "dst": "c"}],
            "1 of 2 records was rejected, the first at record 2 \\(label is missing\\)",
        ),
        (
            [edge(1), (2, "b", "c", "pays"), (3, "b", "c", "pays")],
            "2 of 3 .* record 2 \\(a tuple is not a record: give an Edge",
        ),
        ([edge(1), None], "a NoneType is not a record"),
        ([edge(2**70)], f'ts "{2**70}" does not fit in 64 bits'),
        ([edge(1, note=object())], "note: a object is not a value of a record"),
        ([edge(5), edge(4)], "1 of 2 .* record 2 \\(late: ts 4 is before the watermark 5"),
        ([edge(NOON + timedelta(microseconds=1))], 'ts "2024-01-31 12:00:00.000001\\+00:00" is not a whole number of ms'),
        ([edge("2024-01-31T12:00:00.0005Z")], 'ts "2024-01-31T12:00:00.0005Z" is not a whole number of ms'),
        ([edge(pd.NaT)], "ts is missing"),
        ([edge(np.datetime64("NaT", "ns"))], "ts is missing"),
    ],
)
def test_what_is_refused_is_named_at_the_place_of_the_call(items: list[object], said: str) -> None:
    with pytest.warns(StreamWarning, match=said + ".*take_dead_letters\\(\\) gives them") as caught:
        assert list(graphtide.match(PATTERN, items)) == []
    assert [warning.filename for warning in caught] == [__file__]


def test_the_letters_can_be_had_and_are_not_warned_of_again() -> None:
    matches = graphtide.match(PATTERN, [*pair(1, 2), (7, "b"), edge(1.5)])
    assert len([next(matches)]) == 1
    letters = matches.take_dead_letters()
    assert [(letter.line, letter.raw) for letter in letters] == [
        (3, b"(7, 'b')"),
        (4, b'{"ts":1.5,"src":"a","dst":"b","label":"pays"}'),
    ]
    assert list(matches) == []
    assert matches.take_dead_letters() == []


def test_a_stream_without_end_is_warned_of_at_once_where_nothing_is_of_use() -> None:
    matches = graphtide.match(PATTERN, (edge(float(ts)) for ts in itertools.count()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(StreamWarning, match="the first at record 1"):
            next(matches)
    matches.close()


def test_letters_that_are_not_taken_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphtide.session.MOST_LETTERS", 2)
    matches = graphtide.match(PATTERN, [*pair(1, 2), None, None, None])
    with pytest.warns(StreamWarning, match="3 of 5 .* gives the first 2 of them"):
        assert len(list(matches)) == 1
    assert [letter.line for letter in matches.take_dead_letters()] == [3, 4]


def test_a_session_warns_at_its_end() -> None:
    session = Session(PATTERN)
    session.push(pair(1, 2))
    session.push([edge(1)])
    with pytest.warns(StreamWarning, match="1 of 3 records was rejected") as caught:
        session.finish()
    assert [warning.filename for warning in caught] == [__file__]


def test_explaining_warns_of_both_streams() -> None:
    with pytest.warns(StreamWarning, match="1 of 3") as caught:
        graphtide.explain(PATTERN, [*pair(1, 2), None], analyze=[*pair(1, 2), None])
    assert [warning.filename for warning in caught] == [__file__] * 2


def test_attributes_that_no_value_can_be_are_warned_of() -> None:
    pattern = PATTERN.replace("ORDER", "WHERE y.tags IS NULL ORDER")
    with pytest.warns(StreamWarning, match="'tags' was a list or object in 1 record, the first at record 2"):
        assert len(list(graphtide.match(pattern, [edge(1), edge(2, "b", "c", tags=("t",))]))) == 1
    table = pa.table({"ts": [1, 2], "src": ["a", "b"], "dst": ["b", "c"], "label": ["pays", "pays"], "tags": [None, ["t"]]})
    with pytest.raises(UnreadableStreamError, match='column "tags" is of type List'):
        list(graphtide.match(pattern, table))


def test_attributes_of_all_pieces_of_a_stream_are_reported_at_its_end() -> None:
    session = Session(PATTERN.replace("ORDER", "WHERE y.tags IS NULL ORDER"))
    for ts in range(3):
        session.push([edge(ts), edge(ts, "b", "c", tags={})])
    with pytest.warns(StreamWarning, match="'tags' was a list or object in 3 records, the first at record 2") as caught:
        session.finish()
    assert [each.category for each in caught] == [StreamWarning, PatternWarning]


def test_a_letter_has_what_was_there() -> None:
    matches = graphtide.match(PATTERN, [edge(1), {"src": "a", "dst": "b", "label": "pays"}, {"ts": "soon"}])
    with pytest.warns(StreamWarning, match="2 of 3"):
        list(matches)
    assert [letter.raw for letter in matches.take_dead_letters()] == [
        b'{"src":"a","dst":"b","label":"pays"}',
        b'{"ts":"soon"}',
    ]


def test_times_of_pandas_keep_their_nanoseconds() -> None:
    first = pd.Timestamp("2024-01-31T12:00:00.000000001Z")
    options = MatchOptions(time_unit=TimeUnit.NANOSECOND)
    (found,) = graphtide.match(PATTERN, pair(first, "2024-01-31T12:00:00.000000002Z"), options)
    assert (found.first_ts, found.last_ts) == (NOON_MS * 10**6 + 1, NOON_MS * 10**6 + 2)


@pytest.mark.parametrize(
    "first",
    [
        NOON,
        NOON.astimezone(timezone(timedelta(hours=5, minutes=30))),
        NOON.replace(tzinfo=None),
        pd.Timestamp(NOON),
        np.datetime64("2024-01-31T12:00:00", "s"),
        np.datetime64("2024-01-31T12:00:00", "ns"),
        "2024-01-31T12:00:00Z",
        "2024-01-31 12:00",
        "2024-01-31T17:30:00.000000000+05:30",
        np.int64(NOON_MS),
    ],
)
def test_times_as_python_has_them_are_exact(first: object) -> None:
    (found,) = graphtide.match(PATTERN, pair(first, NOON + timedelta(milliseconds=1)))
    assert (found.first_ts, found.last_ts) == (NOON_MS, NOON_MS + 1)


@given(st.datetimes(timezones=st.timezones()), st.sampled_from(list(TimeUnit)))
def test_a_datetime_is_its_exact_ticks_or_refused(moment: datetime, unit: TimeUnit) -> None:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    nanoseconds = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000
    ticks, rest = divmod(nanoseconds, unit.nanoseconds)
    pattern = "PATTERN p MATCH (a)-[x:pays]->(b) ON payments WINDOW 1"
    for written in (moment, moment.isoformat()):
        if isinstance(written, str) and (moment.utcoffset() or timedelta()).seconds % 60:
            continue
        matches = graphtide.match(pattern, [edge(written)], MatchOptions(time_unit=unit))
        if rest == 0 and abs(ticks) < 2**63:
            assert [found.last_ts for found in matches] == [ticks]
        else:
            with pytest.warns(StreamWarning, match="is not a whole number of|does not fit in 64 bits"):
                assert list(matches) == []


class Named(NamedTuple):
    ts: int
    src: str
    dst: str
    label: str = "pays"


@dataclass
class Row:
    ts: object
    src: str
    dst: str
    label: str = "pays"


def test_named_tuples_and_dataclasses_are_records() -> None:
    assert (
        len(list(graphtide.match(PATTERN, [Named(NOON_MS, "a", "b"), Row(NOON, "b", "c"), Named(NOON_MS + 1, "b", "c")]))) == 1
    )


def test_an_attribute_past_64_bits_is_the_nearest_number_as_in_files() -> None:
    pattern = PATTERN.replace("ORDER", "WHERE y.n > 1 ORDER")
    assert len(list(graphtide.match(pattern, [edge(1), edge(2, "b", "c", n=2**70)]))) == 1


EDGES = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("uvwx"), st.sampled_from("uvwx")), max_size=25)


@given(EDGES, st.sampled_from(["pyarrow", "pandas", "polars"]))
def test_a_table_is_put_in_order_and_ids_stay_those_of_its_rows(rows: list[tuple[int, str, str]], kind: str) -> None:
    chain = "PATTERN p MATCH (a)-[x]->(b)-[y]->(c) ORDER x < y ON s WINDOW 9"
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("ts", "src", "dst"))}
    table = pa.table(
        columns | {"label": ["pays"] * len(rows)},
        schema=pa.schema({"ts": pa.int64(), "src": pa.string(), "dst": pa.string(), "label": pa.string()}),
    )
    given_as = {"pyarrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}[kind]
    edges = [
        Edge(EdgeId(str(number)), EventTime(ts), VertexId(source), VertexId(target), "pays", made=True)
        for number, (ts, source, target) in enumerate(rows)
    ]
    (pattern,) = parse_subgraphs(chain)
    expected = sorted(SubgraphOracle(pattern).run(sorted(edges, key=lambda each: each.ts)))
    assert keys(list(graphtide.match(chain, given_as))) == expected


def test_a_table_out_of_order_is_handed_on_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphtide.readers.decoding._ORDERED_AT_ONCE", 2)
    frame = pd.DataFrame([edge(ts, f"v{ts}", f"v{ts + 1}") for ts in (3, 1, 2, 7, 5, 6, 4)])
    assert [dict(found.edges) for found in graphtide.match(PATTERN, frame)] == [
        {"x": "1", "y": "2"},
        {"x": "2", "y": "0"},
        {"x": "0", "y": "6"},
        {"x": "6", "y": "4"},
        {"x": "4", "y": "5"},
        {"x": "5", "y": "3"},
    ]


def test_a_stream_of_record_batches_is_not_put_in_order() -> None:
    table = pa.Table.from_pylist([edge(5), edge(4)])
    with pytest.warns(StreamWarning, match="row 2 .late: ts 4"):
        assert list(graphtide.match(PATTERN, table.to_reader())) == []


def test_the_error_of_a_source_reaches_the_caller() -> None:
    def broken() -> Iterator[dict[str, object]]:
        yield edge(1)
        message = "the source broke"
        raise ConnectionError(message)

    with pytest.raises(ConnectionError, match="the source broke"):
        list(graphtide.match(PATTERN, broken()))
