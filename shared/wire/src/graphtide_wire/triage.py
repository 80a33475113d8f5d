"""What people decide of matches, as JSON in a compacted topic: that they looked at one, and that some shall not disturb.

Records of two kinds share the topic, by their keys: `mute@{id}` and `match@{pattern}@{match_id}`. A record without a value
takes the decision back.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from graphtide_core.errors import PoisonRecordError
from msgspec import Meta

from graphtide_wire.json_form import Instant, Name, decode, encode

_MUTE: Final = b"mute@"
_MATCH: Final = b"match@"
MOST_REASON: Final = 1_000
"""Characters of a reason or a note."""

Reason = Annotated[str, Meta(max_length=MOST_REASON)]


class MuteRecord(msgspec.Struct, frozen=True):
    """That matches of a pattern, or of all, do not disturb: those that bind a vertex, or all; for ever, or until an instant."""

    id: Name
    pattern: Name | None
    vertex: Name | None
    until: Instant | None
    reason: Reason
    created_by: str
    created_at: Instant


class AcknowledgementRecord(msgspec.Struct, frozen=True):
    """That somebody looked at a match."""

    pattern: Name
    match_id: Name
    note: Reason
    created_by: str
    created_at: Instant


def mute_key(id: str) -> bytes:
    """Return the key of a mute."""
    return _MUTE + id.encode()


def acknowledgement_key(pattern: str, match_id: str) -> bytes:
    """Return the key of the acknowledgement of a match."""
    return _MATCH + f"{pattern}@{match_id}".encode()


def is_mute(key: bytes | None) -> bool:
    """Whether a key is that of a mute."""
    return (key or b"").startswith(_MUTE)


def is_acknowledgement(key: bytes | None) -> bool:
    """Whether a key is that of an acknowledgement."""
    return (key or b"").startswith(_MATCH)


def encode_mute(record: MuteRecord) -> bytes:
    """Return a record's value."""
    return encode(record)


def decode_mute(key: bytes | None, value: bytes) -> MuteRecord:
    """Return a record.

    Raises:
        PoisonRecordError: it is none, or not under its key.
    """
    record = decode(value, MuteRecord, "mute")
    if mute_key(record.id) != key:
        reason = f"the mute {record.id} is not under its key"
        raise PoisonRecordError(reason, value)
    return record


def encode_acknowledgement(record: AcknowledgementRecord) -> bytes:
    """Return a record's value."""
    return encode(record)


def decode_acknowledgement(key: bytes | None, value: bytes) -> AcknowledgementRecord:
    """Return a record.

    Raises:
        PoisonRecordError: it is none, or not under its key.
    """
    record = decode(value, AcknowledgementRecord, "acknowledgement")
    if acknowledgement_key(record.pattern, record.match_id) != key:
        reason = f"the acknowledgement of {record.match_id} is not under its key"
        raise PoisonRecordError(reason, value)
    return record
