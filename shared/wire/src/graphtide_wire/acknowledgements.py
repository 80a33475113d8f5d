"""Records of `control.acknowledgements`: who has seen which match, keyed by pattern and match id.

A record without a value takes the acknowledgement back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message
from msgspec import Meta

from graphtide_wire.json_form import Instant, Name, decode, encode
from graphtide_wire.mutes import MOST_REASON

if TYPE_CHECKING:
    from graphtide_core.ports.log import Record

_BETWEEN = "/"
"""Names of patterns do not have it."""


class AcknowledgementRecord(msgspec.Struct, frozen=True):
    """An acknowledgement of a match: the name of the caller who made it, when, and a note."""

    pattern: Name
    match_id: Name
    by: str
    at: Instant
    note: Annotated[str, Meta(max_length=MOST_REASON)] = ""


def encode_acknowledgement(topic: str, record: AcknowledgementRecord) -> Message:
    """Return the message of an acknowledgement."""
    return Message(topic, acknowledgement_key(record.pattern, record.match_id), encode(record))


def encode_removal(topic: str, pattern: str, match_id: str) -> Message:
    """Return the message that takes an acknowledgement back."""
    return Message(topic, acknowledgement_key(pattern, match_id), None)


def acknowledgement_key(pattern: str, match_id: str) -> bytes:
    """Return the key of an acknowledgement."""
    return f"{pattern}{_BETWEEN}{match_id}".encode()


def decode_acknowledgement(record: Record) -> AcknowledgementRecord:
    """Return the acknowledgement of a record that has a value.

    Raises:
        PoisonRecordError: it is none, or not under its key.
    """
    found = decode(record.value, AcknowledgementRecord, "acknowledgement")
    if acknowledgement_key(found.pattern, found.match_id) != record.key:
        reason = f"the acknowledgement of {found.match_id} is not under its key"
        raise PoisonRecordError(reason, record.value or b"")
    return found
