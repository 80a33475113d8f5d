"""The number of reported matches of a pattern, counted from the topic of matches, whatever happened to hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import PoisonRecordError

from graphtide_wire.json_form import Count, Name, decode, encode

if TYPE_CHECKING:
    from graphtide_core.ports.log import Record


class CountsRecord(msgspec.Struct, frozen=True):
    """Matches and retractions of a pattern by the versions that reported them; those found in history do not count."""

    name: Name
    matches: dict[Count, Count] = {}
    retractions: dict[Count, Count] = {}

    def since(self, registration: int) -> tuple[int, int]:
        """Return how many matches and retractions there were since the version that the name was registered with."""
        matches, retractions = (
            sum(count for version, count in counts.items() if version >= registration)
            for counts in (self.matches, self.retractions)
        )
        return matches, retractions


def encode_counts(record: CountsRecord) -> bytes:
    """Return a record's value; its key is the pattern's name."""
    return encode(record)


def decode_counts(record: Record) -> CountsRecord:
    """Return the counts of a record that has a value.

    Raises:
        PoisonRecordError: it has none, or another pattern's.
    """
    found = decode(record.value, CountsRecord, "count of matches")
    if found.name.encode() != record.key:
        reason = f"the counts of {found.name} are not under its name"
        raise PoisonRecordError(reason, record.value or b"")
    return found
