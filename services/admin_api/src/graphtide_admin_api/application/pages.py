"""Pages of a topic, the newest records first; a cursor names a page, without offsets of records that may be gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from graphtide_core.errors import FatalError
from graphtide_log.window_log import between
from graphtide_wire.place import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.ports.log import LogReader, Record, TopicPartition

_T = TypeVar("_T")

_FIRST_READ: Final = 32
"""Offsets that the first read back goes; each further one goes twice as far, up to the most that a page holds at once."""


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """What was found, the newest of each partition first, and the places where the next page begins; None if it is the last.

    A page may hold fewer than the limit, or none, even if another page follows: a request looks at a bounded number of records.
    """

    found: list[_T]
    following: Places | None


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a page may be.

    Attributes:
        most: records that are wanted.
        most_looked_at: records that are read for them.
        most_bytes: of those that are wanted; the one that reaches the bound is the last.
        most_at_once: offsets that one read goes back.
    """

    most: int
    most_looked_at: int = 20_000
    most_bytes: int = 32 * 1024 * 1024
    most_at_once: int = 1_024


def page_of(
    reader: LogReader, topic: str, cursor: Places | None, extent: Extent, wanted: Callable[[Record], _T | None]
) -> Page[_T]:
    """Return the page of a topic below a cursor; without one, that of its newest records.

    Complexity: O(records looked at), with those that are not wanted.

    Raises:
        TransientError: the log does not answer.
    """
    found: list[_T] = []
    following: dict[int, int] = {}
    looked_at = size = 0
    for place in reader.partitions(topic):
        if cursor is not None and place.partition not in cursor.offsets:
            continue
        first, end = reader.ends([place])[place]
        reached = end if cursor is None else min(end, cursor.offsets[place.partition])
        for record in backwards(reader, place, first, reached, extent.most_at_once):
            if len(found) == extent.most or looked_at == extent.most_looked_at or size >= extent.most_bytes:
                break
            looked_at, reached = looked_at + 1, record.offset
            each = wanted(record)
            if each is not None:
                found.append(each)
                size += len(record.value or b"")
        else:
            continue
        following[place.partition] = reached
    return Page(found, Places(following) if following else None)


def backwards(reader: LogReader, place: TopicPartition, first: int, below: int, most_at_once: int) -> Iterator[Record]:
    """Yield the records below an offset, the newest first; it ends where the log has just deleted them."""
    back = min(_FIRST_READ, most_at_once)
    while below > first:
        start = max(first, below - back)
        try:
            records = list(between(reader, place, start, below, back))
        except FatalError:
            return
        yield from reversed(records)
        below, back = start, min(2 * back, most_at_once)
