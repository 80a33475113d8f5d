"""The newest changes of each plan, as JSON in a compacted topic: what was published, why, and by what evidence.

The key is `{name}@{slot}`, and the slot is the epoch of the plan modulo 20: each change takes the place of the one 20 before.
So compaction bounds the topic, and the planner need not know what is in it.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from graphtide_core.errors import PoisonRecordError

from graphtide_wire.json_form import Count, Instant, Name, decode, encode
from graphtide_wire.plans import CountedPartForm  # noqa: TC001 - msgspec reads the types of members

MOST_CHANGES: Final = 20
"""Changes of a plan that are kept."""


class PlanChangeRecord(msgspec.Struct, frozen=True):
    """A plan that was published for a pattern, or for a part of it as in `scan#3/8`, in place of the one before.

    `stream` is what the pattern reads; null if its text cannot be read any more. `reason` says what changed and why.
    `nanoseconds` and `partial_matches` are the estimates of the plan. `evidence` has the parts whose estimates were found wrong
    on a running plan, and were corrected.
    """

    name: Name
    version: Count
    epoch: Count
    at: Instant
    stream: Name | None
    engine: str
    service: Name
    shard: Count
    desired: Literal["running", "paused", "stopped"]
    reason: str
    nanoseconds: float | None = None
    partial_matches: float | None = None
    evidence: tuple[CountedPartForm, ...] = ()


def change_key(name: str, epoch: int) -> bytes:
    """Return the key of the change that an epoch of a plan is."""
    return f"{name}@{epoch % MOST_CHANGES}".encode()


def change_keys(name: str) -> list[bytes]:
    """Return all keys that changes of a plan may have."""
    return [change_key(name, slot) for slot in range(MOST_CHANGES)]


def encode_change(record: PlanChangeRecord) -> bytes:
    """Return a record's value."""
    return encode(record)


def decode_change(key: bytes | None, value: bytes) -> PlanChangeRecord:
    """Return a record.

    Raises:
        PoisonRecordError: it is none, or not under its key.
    """
    record = decode(value, PlanChangeRecord, "change of a plan")
    if change_key(record.name, record.epoch) != key:
        reason = f"epoch {record.epoch} of the plan of {record.name} is not under its key"
        raise PoisonRecordError(reason, value)
    return record
