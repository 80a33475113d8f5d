"""One partition in memory: records in their places, some of transactions that have not ended.

As in Kafka, a record gets its offset when it is written, and a transaction's end takes one offset in every partition it wrote
to. So offsets have gaps, as in production, and no caller can rely on there being none.

Invariant: records below `stable_end` never change; they only leave at the front.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from graphtide_core.ports.log import Record

if TYPE_CHECKING:
    from graphtide_core.ports.log import Message, TopicPartition


class Outcome(Enum):
    """How far a transaction is."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Transaction:
    """A set of records that come into sight together, or never."""

    def __init__(self) -> None:
        """Start it."""
        self.outcome = Outcome.OPEN
        self.touched: set[Partition] = set()

    def end(self, outcome: Outcome) -> None:
        """Settle the records, and give every partition its mark."""
        self.outcome = outcome
        for partition in self.touched:
            partition.mark_end(self)


@dataclass(frozen=True, slots=True)
class _Slot:
    """The content of an offset: a record, or None for the mark of a transaction's end."""

    record: Record | None
    transaction: Transaction | None
    size: int


class Partition:
    """Records by offset. Keeps at most about `most_bytes` of what can be read, if given; the oldest leave first."""

    def __init__(self, place: TopicPartition, most_bytes: int | None) -> None:
        """Start empty at offset 0."""
        self._place = place
        self._most_bytes = most_bytes
        self._slots: list[_Slot] = []
        self._gone = 0
        """Slots at the front of the list that count as gone; they are cut off in bulk."""
        self._base = 0
        """Offset of the first slot of the list."""
        self._bytes = 0
        self._open: dict[Transaction, int] = {}

    @property
    def first(self) -> int:
        """Offset of the oldest record that is kept."""
        return self._base + self._gone

    @property
    def end(self) -> int:
        """The offset that the next record gets."""
        return self._base + len(self._slots)

    @property
    def stable_end(self) -> int:
        """The offset after the last that can be read: where the oldest open transaction begins."""
        return min(self._open.values(), default=self.end)

    def append(self, message: Message, timestamp: int, transaction: Transaction | None) -> None:
        """Put the message at the end; O(1) amortised."""
        offset = self.end
        if transaction is not None and transaction not in self._open:
            self._open[transaction] = offset
            transaction.touched.add(self)
        record = Record(
            topic=self._place.topic,
            partition=self._place.partition,
            offset=offset,
            timestamp=timestamp,
            key=message.key,
            value=message.value,
            headers=message.headers,
        )
        self._put(_Slot(record, transaction, size(message)))

    def mark_end(self, transaction: Transaction) -> None:
        """Note that the transaction has ended."""
        del self._open[transaction]
        self._put(_Slot(None, None, 0))

    def read(self, offset: int, most: int) -> tuple[list[Record], int]:
        """Return up to `most` records from `offset` on that can be read, and the next offset to read; O(slots passed)."""
        found: list[Record] = []
        end = self.stable_end
        while offset < end and len(found) < most:
            slot = self._slots[offset - self._base]
            offset += 1
            hidden = slot.transaction is not None and slot.transaction.outcome is Outcome.ABORTED
            if slot.record is not None and not hidden:
                found.append(slot.record)
        return found, offset

    def _put(self, slot: _Slot) -> None:
        self._slots.append(slot)
        self._bytes += slot.size
        if self._most_bytes is None:
            return
        while self._bytes > self._most_bytes and self.first < self.stable_end - 1:
            self._bytes -= self._slots[self._gone].size
            self._gone += 1
        if self._gone * 2 > len(self._slots):
            del self._slots[: self._gone]
            self._base += self._gone
            self._gone = 0


def size(message: Message) -> int:
    """Return the bytes of key, value and headers."""
    return (
        len(message.key or b"")
        + len(message.value or b"")
        + sum(len(name.encode()) + len(value) for name, value in message.headers)
    )
