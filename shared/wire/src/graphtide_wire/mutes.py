"""Records of `control.mutes`: matches that nobody is to be alerted of, keyed by the mute's id.

A mute hides nothing: muted matches are reported and listed as ever. A record without a value ends its mute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message
from msgspec import Meta

from graphtide_wire.json_form import Instant, Name, decode, encode
from graphtide_wire.matches import bound_vertices

if TYPE_CHECKING:
    from datetime import datetime

    from graphtide_core.ports.log import Record

MOST_REASON = 2_000
"""Characters of a reason, and of a note."""


class MuteKey(msgspec.Struct, frozen=True):
    """What muted matches have in common: they bind this vertex."""

    vertex: Name


class MuteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A mute of the matches of a pattern, or of all patterns, that have the key, or of all.

    Attributes:
        id: of the mute.
        pattern: name of the pattern; None mutes matches of all.
        key: what muted matches have in common; None mutes all of the pattern.
        until: when the mute ends; None is never.
        reason: why, for people.
        created_at: when it was made.
        created_by: name of the caller who made it.
    """

    id: Name
    pattern: Name | None = None
    key: MuteKey | None = None
    until: Instant | None = None
    reason: Annotated[str, Meta(max_length=MOST_REASON)] = ""
    created_at: Instant
    created_by: str

    def holds(self, now: datetime) -> bool:
        """Whether the mute has not ended."""
        return self.until is None or now < self.until

    def covers(self, pattern: str, body: bytes) -> bool:
        """Whether a match of a pattern is muted, by its record; a record that cannot be read binds no vertex."""
        if self.pattern is not None and self.pattern != pattern:
            return False
        return self.key is None or self.key.vertex in bound_vertices(body)


class MuteIndex:
    """Mutes, found by the matches that they cover; for one thread at once."""

    def __init__(self) -> None:
        """Have none."""
        self.by_id: dict[str, MuteRecord] = {}
        self._by_subject: dict[tuple[str | None, str | None], dict[str, MuteRecord]] = {}

    def take(self, record: Record) -> None:
        """Take a record of `control.mutes`: a mute, its replacement, or its end.

        Raises:
            PoisonRecordError: it is none of them; what had its id is over.
        """
        before = self.by_id.pop((record.key or b"").decode(errors="replace"), None)
        if before is not None:
            of_subject = self._by_subject[_subject(before)]
            del of_subject[before.id]
            if not of_subject:
                del self._by_subject[_subject(before)]
        if record.value is not None:
            mute = decode_mute(record)
            self.by_id[mute.id] = mute
            self._by_subject.setdefault(_subject(mute), {})[mute.id] = mute

    def find(self, pattern: str, body: bytes, now: datetime) -> MuteRecord | None:
        """Return a mute that covers a match now; None if none does.

        Complexity: O(vertices that the match binds + mutes of its subjects); O(1) without mutes.
        """
        if not self.by_id:
            return None
        subjects = ((of, vertex) for of in (None, pattern) for vertex in (None, *bound_vertices(body)))
        found = (mute for subject in subjects for mute in self._by_subject.get(subject, {}).values())
        return next((mute for mute in found if mute.holds(now)), None)


def _subject(mute: MuteRecord) -> tuple[str | None, str | None]:
    return mute.pattern, None if mute.key is None else mute.key.vertex


def encode_mute(topic: str, record: MuteRecord) -> Message:
    """Return the message of a mute."""
    return Message(topic, record.id.encode(), encode(record))


def encode_end(topic: str, id: str) -> Message:
    """Return the message that ends a mute."""
    return Message(topic, id.encode(), None)


def decode_mute(record: Record) -> MuteRecord:
    """Return the mute of a record that has a value.

    Raises:
        PoisonRecordError: it is none, or not under its id.
    """
    found = decode(record.value, MuteRecord, "mute")
    if found.id.encode() != record.key:
        reason = f"the mute {found.id} is not under its id"
        raise PoisonRecordError(reason, record.value or b"")
    return found
