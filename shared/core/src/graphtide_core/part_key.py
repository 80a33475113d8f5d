"""The key by which a stream is divided into parts, and the part of a record.

A record goes to the part of its key: murmur2 of the key's text in UTF-8, without the sign, modulo the number of parts. So do
the default partitioners of Kafka's Java client and of librdkafka (`murmur2_random`), for records whose key is that text.

Invariant: values that the pattern language calls equal have one text, so that their records are in one part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError

if TYPE_CHECKING:
    from graphtide_core.edge import Value

MOST_PARTS: Final = 1_024
"""Parts that a stream may have."""

_INTEGERS: Final = 2**63
"""Integers of streams are from the negative of this to below it."""

_MULTIPLIER: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_WORD: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class PartKey:
    """What the records of a part have in common.

    Attributes:
        field: of a record: an end (`src`, `dst`), another field of every record, or an attribute. None for the vertices of an
            edge: it goes to the parts of both its ends, and the part that owns a match's vertex reports the match.
    """

    field: str | None

    def __post_init__(self) -> None:
        """Refuse a field without a name."""
        if self.field is not None and not self.field:
            message = "the name is empty"
            raise InvalidPatternError(message)

    @property
    def is_vertex(self) -> bool:
        """Whether an edge goes to the parts of both its ends."""
        return self.field is None

    def __str__(self) -> str:
        """Return the key as people read it."""
        return "vertex" if self.field is None else self.field


BY_VERTEX: Final = PartKey(None)
"""`PARTITION BY VERTEX`."""


def check_parts(parts: int) -> None:
    """Check a number of parts.

    Raises:
        InvalidPatternError: it is less than 1 or more than a stream may have.
    """
    if not 1 <= parts <= MOST_PARTS:
        message = f"a stream has 1 to {MOST_PARTS:,} parts"
        raise InvalidPatternError(message)


def key_text(value: Value) -> str:
    """Return the text of a key: integers without a point, other numbers as the shortest decimal; missing is the empty text."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and -_INTEGERS <= value < _INTEGERS:
            return str(int(value))
        case _:
            return str(value)


def part_of(value: Value, parts: int) -> int:
    """Return the part of a record with a key, from 0. Complexity: O(length of the text)."""
    return (_murmur2(key_text(value).encode("utf-8", "surrogatepass")) & 0x7FFFFFFF) % parts


def _murmur2(data: bytes) -> int:
    """Return the 32 bits of Austin Appleby's MurmurHash2, as Kafka computes them."""
    hashed = _SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _WORD
        word = (word ^ word >> 24) * _MULTIPLIER & _WORD
        hashed = hashed * _MULTIPLIER & _WORD ^ word
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _WORD
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _WORD
    return hashed ^ hashed >> 15
