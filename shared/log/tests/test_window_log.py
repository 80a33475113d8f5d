"""The way back into the ordered log: what is found there, and that nothing is fetched any more after a look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import TransientError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.ports.log import Message, TopicPartition, TopicSpec
from graphtide_core.time import EventTime
from graphtide_log.follower import Follower
from graphtide_log.memory import MemoryLog
from graphtide_log.window_log import (
    Instant,
    between,
    between_all,
    edges_between,
    first_since,
    last_before,
    last_numbered,
    newest_before,
)
from graphtide_testing.ordered_records import ordered_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.log import LogReader, Record

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


class Counting:
    """A reader that counts how often records are asked for."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self.polls = 0

    def poll(self, timeout: float, most: int) -> list[Record]:
        self.polls += 1
        return self._reader.poll(timeout, most)

    def __getattr__(self, name: str) -> object:
        return getattr(self._reader, name)


@pytest.mark.parametrize("unreadable", [0, 1, 2, 5, 40])
def test_the_last_record_is_found_from_the_end(unreadable: int) -> None:
    log = MemoryLog()
    log.admin().ensure([TopicSpec(PLACE.topic)])
    edges = [Edge(EdgeId(f"e{n}"), EventTime(n), VertexId("a"), VertexId("b"), "x") for n in range(5_000)]
    log.writer().write(ordered_records(PLACE.topic, edges, 1))
    log.writer().write([Message(PLACE.topic, None, b"") for _ in range(unreadable)])
    counting: Any = Counting(log.reader(None))
    last = last_before(counting, PLACE, 5_000 + unreadable)
    assert last is not None
    assert last.last_ts == 4_999
    assert counting.polls <= 2 * (unreadable + 4), "it does not grow with the log"


def test_partitions_are_read_side_by_side_each_in_its_order_and_no_further() -> None:
    log, places = MemoryLog(), [TopicPartition("raw", number) for number in range(4)]
    log.admin().ensure([TopicSpec("raw", partitions=4)])
    for place in places:
        log.writer().write([Message("raw", None, b"%d" % n, partition=place.partition) for n in range(30)])
    ranges = {places[0]: (3, 20), places[1]: (0, 1), places[2]: (5, 5), places[3]: (28, 30)}
    reader = log.reader(None)
    found = list(between_all(reader, ranges, 4))
    by_place = {place: [each.offset for each in found if each.partition == place.partition] for place in places}
    assert by_place == {place: list(range(*bounds)) for place, bounds in ranges.items()}
    assert reader.poll(0, 10) == []


def test_a_partition_that_lacks_what_could_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphtide_log.window_log._PATIENCE", 0.05)
    log = MemoryLog()
    log.admin().ensure([TopicSpec("raw")])
    log.writer().write([Message("raw", None, b"1")])
    with pytest.raises(TransientError, match="raw could be read to 1, of 5, within"):
        list(between_all(log.reader(None), {TopicPartition("raw", 0): (0, 5)}))


def test_a_follower_catches_up_with_what_came_since() -> None:
    log = MemoryLog()
    log.admin().ensure([TopicSpec("control")])
    writer, follower = log.writer(), Follower(log, "control")
    writer.write([Message("control", b"a", b"1")])
    assert [each.value for each in follower.to_the_end()] == [b"1"]
    assert list(follower.catch_up()) == []
    writer.write([Message("control", b"a", b"2"), Message("control", b"b", b"3")])
    assert [each.value for each in follower.catch_up()] == [b"2", b"3"]
    follower.close()


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
