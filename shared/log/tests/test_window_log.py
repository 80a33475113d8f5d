"""The way back into the ordered log: what is found there, and that nothing is fetched any more after a look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.ports.log import TopicPartition, TopicSpec
from graphtide_core.time import EventTime
from graphtide_log.memory import MemoryLog
from graphtide_log.window_log import Instant, between, edges_between, first_since, last_before, last_numbered, newest_before
from graphtide_testing.ordered_records import ordered_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.log import LogReader

PLACE = TopicPartition("ordered", 0)
RECORDS = 10


@pytest.fixture
def reader() -> LogReader:
    """Return a reader of a log of ten records, of an edge each, with times from 100 on."""
    log = MemoryLog()
    log.admin().ensure([TopicSpec(PLACE.topic)])
    edges = [Edge(EdgeId(f"e{n}"), EventTime(100 + n), VertexId("a"), VertexId("b"), "x") for n in range(RECORDS)]
    log.writer().write(ordered_records(PLACE.topic, edges, 1))
    return log.reader(None)


def test_a_window_is_found_and_read(reader: LogReader) -> None:
    assert newest_before(reader, PLACE, 8) == Instant(0, 107)
    assert first_since(reader, PLACE, Instant(0, 103), RECORDS) == 3
    assert [record.offset for record in between(reader, PLACE, 3, 6)] == [3, 4, 5]


@pytest.mark.parametrize(("number", "found"), [(-1, 2), (0, 2), (2, 2), (5, 5), (8, 8), (9, 8), (100, 8)])
def test_where_a_window_of_edges_begins_is_found_between_two_offsets(reader: LogReader, number: int, found: int) -> None:
    assert last_numbered(reader, PLACE, number, 2, 9) == found


def test_what_the_last_record_says_is_found(reader: LogReader) -> None:
    last = last_before(reader, PLACE, 8)
    assert last is not None
    assert (last.last_ts, last.ordinal, last.records, last.number) == (107, 7, 1, 7)
    assert last_before(reader, PLACE, 0) is None


@pytest.mark.parametrize(
    ("start", "end"), [(0, RECORDS), (3, 7), (9, RECORDS), (RECORDS, RECORDS), (RECORDS, RECORDS + 1), (7, 3)]
)
def test_edges_between_offsets_are_counted(reader: LogReader, start: int, end: int) -> None:
    assert edges_between(reader, PLACE, start, end) == len(range(start, min(end, RECORDS)))


@pytest.mark.parametrize(
    "look",
    [
        lambda reader: newest_before(reader, PLACE, 8),
        lambda reader: first_since(reader, PLACE, Instant(0, 103), RECORDS),
        lambda reader: edges_between(reader, PLACE, 2, 8),
        lambda reader: last_numbered(reader, PLACE, 5, 2, 8),
        lambda reader: list(between(reader, PLACE, 3, 6)),
        lambda reader: next(between(reader, PLACE, 3, 6, 1), None),
    ],
    ids=["newest", "first", "edges between", "numbered", "between", "the first between"],
)
def test_who_has_looked_leaves_nothing_that_is_fetched(reader: LogReader, look: Callable[[LogReader], object]) -> None:
    look(reader)
    assert reader.poll(0, RECORDS) == []
