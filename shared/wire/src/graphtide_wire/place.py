"""Where a record stands in its topic, as addresses, events and answers write it: `partition-offset`, and no other way."""

from __future__ import annotations

from typing import Final, NamedTuple

_LONGEST_PARTITION: Final = 9
_LONGEST_OFFSET: Final = 18


class Place(NamedTuple):
    """A partition and an offset in it; written `partition-offset`."""

    partition: int
    offset: int

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.partition}-{self.offset}"

    @classmethod
    def of(cls, text: str) -> Place:
        """Read what `str` gave.

        Raises:
            ValueError: it is something else.
        """
        partition, _, offset = text.partition("-")
        if not (partition.isdecimal() and offset.isdecimal() and partition.isascii() and offset.isascii()):
            message = f"{text[:40]!r} is no place: partition-offset, such as 0-17"
            raise ValueError(message)
        if len(partition) > _LONGEST_PARTITION or len(offset) > _LONGEST_OFFSET:
            message = "a place that cannot be"
            raise ValueError(message)
        return cls(int(partition), int(offset))
