"""Where records stand in their topic, as addresses, events and answers write it: `partition-offset`, and no other way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_PARTITION: Final = 9
_LONGEST_OFFSET: Final = 18
_SEPARATOR: Final = "."
_MOST_PARTITIONS: Final = 1_000


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
            message = f"{text[:40]!r} is not a place: partition-offset, such as 0-17"
            raise ValueError(message)
        if len(partition) > _LONGEST_PARTITION or len(offset) > _LONGEST_OFFSET:
            message = "a place that cannot be"
            raise ValueError(message)
        return cls(int(partition), int(offset))


@dataclass(frozen=True, slots=True)
class Places:
    """An offset in each of several partitions of a topic; written as places with dots between them, of one as a place is."""

    offsets: Mapping[int, int]

    def __str__(self) -> str:
        """Return it as it is written."""
        return _SEPARATOR.join(str(Place(*each)) for each in sorted(self.offsets.items()))

    @classmethod
    def of(cls, text: str) -> Self:
        """Read what `str` gave.

        Raises:
            ValueError: it is something else.
        """
        places = [Place.of(each) for each in text.split(_SEPARATOR, _MOST_PARTITIONS)]
        return cls({place.partition: place.offset for place in places})
