"""Groups of raw records to decode together: neighbours of one partition, in one format, by one producer.

A record may hold a single edge, and a call of the decoder for each would cost more than its reading. A record keeps
its own headers. Cost: O(1) a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import PoisonRecordError
from graphtide_wire import raw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ports.log import Record
    from graphtide_wire.raw import RawOrigin, Reset

MOST_GROUP_BYTES: Final = 1024 * 1024
"""Most bytes of a group, but for a single larger record: records of a group wait together."""


_SAME: Final = 7
"""First fields of an origin that records which are read together share: up to `receipt`."""


class Member(NamedTuple):
    """A record, its headers, and its edges."""

    record: Record
    origin: RawOrigin
    body: bytes


@dataclass(frozen=True, slots=True)
class RawGroup:
    """Records in the order of their partition.

    Attributes:
        members: at least one; all have the format, columns, types, producer, statement and receipt of the first, and all are
            batches or none is.
        size: bytes of their edges.
    """

    members: list[Member]
    size: int

    @property
    def partition(self) -> int:
        """Where the records stood."""
        return self.members[0].record.partition

    @property
    def statement(self) -> int:
        """The version of the statement that must be known to read them; 0 if none must."""
        return self.members[0].origin.statement or 0

    @property
    def producer(self) -> str | None:
        """Who sent them, if it said so."""
        return self.members[0].origin.producer


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """A record that cannot be used as a whole."""

    record: Record
    reason: str

    @property
    def partition(self) -> int:
        """Where the record stood."""
        return self.record.partition


@dataclass(frozen=True, slots=True)
class ResetRecord:
    """A record that is a command in place of edges."""

    record: Record
    reset: Reset

    @property
    def partition(self) -> int:
        """Where the record stood."""
        return self.record.partition


@dataclass(frozen=True, slots=True)
class AllDividedRecord:
    """A record that says that all of a raw partition is divided so far; see `graphtide_wire.raw.ALL_DIVIDED`."""

    record: Record

    @property
    def partition(self) -> int:
        """Where the record stood."""
        return self.record.partition


RawGroups = RawGroup | UnreadableRecord | ResetRecord | AllDividedRecord
"""What raw records are read as."""


def group_records(records: Iterable[Record]) -> Iterator[RawGroups]:
    """Yield groups of the largest allowed size, unreadable records, and commands, all in order."""
    members: list[Member] = []
    size = 0
    for record in records:
        alone: UnreadableRecord | ResetRecord | AllDividedRecord | None = None
        try:
            member = Member(record, *raw.parts(record))
        except PoisonRecordError as error:
            alone = UnreadableRecord(record, error.reason)
        else:
            if member.origin.reset is not None:
                alone = ResetRecord(record, member.origin.reset)
            elif member.origin.is_all_divided:
                alone = AllDividedRecord(record)
        if alone is not None:
            if members:
                yield RawGroup(members, size)
                members, size = [], 0
            yield alone
            continue
        if members and (size + len(member.body) > MOST_GROUP_BYTES or not _alike(members[0], member)):
            yield RawGroup(members, size)
            members, size = [], 0
        members.append(member)
        size += len(member.body)
    if members:
        yield RawGroup(members, size)


def _alike(first: Member, other: Member) -> bool:
    if first.record.partition != other.record.partition:
        return False
    one, two = first.origin, other.origin
    return one is two or one[:_SAME] == two[:_SAME]
