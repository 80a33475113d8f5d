"""What the ordering stage did with the edges of one raw record, for a sender that waits for it.

A verdict is written once, in the transaction in which the last of the record's edges is decided. Records are written only for
senders that wait, and are gone after an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.ports.log import Message

from graphtide_wire.json_form import Count, Name, decode, encode

if TYPE_CHECKING:
    from graphtide_core.ports.log import Record

MOST_EXAMPLES: Final = 10
"""Rejected edges that a verdict names."""

LONGEST_REASON: Final = 500


class RejectedExample(msgspec.Struct, frozen=True):
    """A rejected edge: its line in what the sender sent, and why."""

    code: str
    reason: str
    line: int | None = None


class VerdictRecord(msgspec.Struct, frozen=True):
    """The verdict on a raw record.

    Attributes:
        receipt: what the sender knows the record by; records of one request have the same.
        place: of the raw record, `partition-offset`.
        ordered: edges and events that went out in order.
        replaced: those of them that replaced what had their id.
        duplicates: that came under a known id, and were dropped.
        late: that were before the watermark.
        rejected: that could not be used for another reason.
        examples: the first of the late and the rejected ones.
    """

    receipt: Name
    place: Name
    ordered: Count = 0
    replaced: Count = 0
    duplicates: Count = 0
    late: Count = 0
    rejected: Count = 0
    examples: tuple[RejectedExample, ...] = ()


def encode_verdict(topic: str, verdict: VerdictRecord) -> Message:
    """Return the message that carries a verdict."""
    return Message(topic, verdict.receipt.encode(), encode(verdict))


def decode_verdict(record: Record) -> VerdictRecord:
    """Return the verdict that a record carries.

    Raises:
        PoisonRecordError: it carries none.
    """
    return decode(record.value, VerdictRecord, "verdict on a record")
