"""Raw records that can be read together: neighbours of one partition, written alike, by one producer.

A record may hold a single edge, and a call of the decoder for each would cost more than its reading. What a record's own
headers say of it stays with it. Cost: O(1) a record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import PoisonRecordError
from graphtide_wire import raw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ports.log import Record
    from graphtide_wire.raw import RawEdges

MOST_GROUP_BYTES: Final = 1024 * 1024
"""Bytes of a group, but for a record that is larger by itself: what is read together waits together."""

LONGEST_TRACEPARENT: Final = 100
"""Characters of a trace's name; a longer one is none."""


class Member(NamedTuple):
    """A record, and what is in it."""

    record: Record
    edges: RawEdges


@dataclass(frozen=True, slots=True)
class RawGroup:
    """Records in the order of their partition.

    Attributes:
        members: at least one; all have the format, columns and producer of the first.
        size: bytes of their edges.
    """

    members: list[Member]
    size: int

    @property
    def partition(self) -> int:
        """Where the records stood."""
        return self.members[0].record.partition

    @property
    def producer(self) -> str | None:
        """Who sent them, if it said so."""
        return self.members[0].edges.producer


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """A record that cannot be used as a whole."""

    record: Record
    reason: str

    @property
    def partition(self) -> int:
        """Where the record stood."""
        return self.record.partition


def grouped(records: Iterable[Record]) -> Iterator[RawGroup | UnreadableRecord]:
    """Yield groups as large as they may be, and what cannot be read, all in order."""
    members: list[Member] = []
    size = 0
    for record in records:
        try:
            member = Member(record, _described(record))
        except PoisonRecordError as error:
            if members:
                yield RawGroup(members, size)
                members, size = [], 0
            yield UnreadableRecord(record, error.reason)
            continue
        if members and (size + len(member.edges.body) > MOST_GROUP_BYTES or not _alike(members[0], member)):
            yield RawGroup(members, size)
            members, size = [], 0
        members.append(member)
        size += len(member.edges.body)
    if members:
        yield RawGroup(members, size)


def _described(record: Record) -> RawEdges:
    edges = raw.decode(record)
    is_long = edges.traceparent is not None and len(edges.traceparent) > LONGEST_TRACEPARENT
    return replace(edges, traceparent=None) if is_long else edges


def _alike(first: Member, other: Member) -> bool:
    one, two = first.edges, other.edges
    return (
        first.record.partition == other.record.partition
        and one.format is two.format
        and one.columns == two.columns
        and one.producer == two.producer
    )
