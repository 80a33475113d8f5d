"""Event time and durations with units.

Event time is a signed 64-bit integer in the stream's own unit; no wall clock is involved. A duration keeps the unit it was
written in until it meets a stream, because only the stream knows its unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import NewType, Self

EventTime = NewType("EventTime", int)
"""An instant of event time, in the stream's unit; may be negative (before the epoch)."""

MIN_EVENT_TIME = EventTime(-(2**63))
MAX_EVENT_TIME = EventTime(2**63 - 1)


class TimeUnit(Enum):
    """The time unit of one tick of a stream's `ts`."""

    SECOND = "s"
    MILLISECOND = "ms"
    MICROSECOND = "us"
    NANOSECOND = "ns"

    @property
    def nanoseconds(self) -> int:
        """Length of one tick."""
        return _NANOSECONDS[self.value]


def iso_time(ts: int, unit: TimeUnit) -> str:
    """Return a time as ISO 8601 in UTC, exactly: `2024-01-31T12:00:00Z`, with a fraction where there is one.

    One outside the years 1 to 9999, which ISO does not write, is the number itself.
    """
    seconds, rest = divmod(ts * unit.nanoseconds, 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return str(ts)
    digits = len(str(1_000_000_000 // unit.nanoseconds)) - 1
    fraction = f".{rest // unit.nanoseconds:0{digits}}" if rest else ""
    return f"{moment.replace(tzinfo=None).isoformat()}{fraction}Z"


_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "w": 604_800_000_000_000,
}

DURATION_UNITS = tuple(_NANOSECONDS)
"""The suffixes a duration may carry: `ns us ms s m h d w`."""

_DURATION = re.compile(rf"\s*([0-9]+)\s*({'|'.join(sorted(DURATION_UNITS, key=len, reverse=True))})?\s*")
_LONGEST_NUMBER = 40
"""Digits beyond which an amount is longer than any times can be apart."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of event time: `amount` of `unit`, or of the stream's own ticks where `unit` is None."""

    amount: int
    unit: str | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown unit or a negative amount."""
        if self.unit is not None and self.unit not in _NANOSECONDS:
            message = f"unknown unit of time {self.unit!r}; one of {', '.join(DURATION_UNITS)}"
            raise ValueError(message)
        if self.amount < 0:
            message = "a duration cannot be negative"
            raise ValueError(message)

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a duration as it is written: `500ms`, `10m`, or a number of ticks.

        Raises:
            ValueError: it is none, or longer than times can be apart.
        """
        found = _DURATION.fullmatch(text)
        if found is None:
            message = f"{text!r} is not a duration; write for example 500ms, 10m, or a number of ticks"
            raise ValueError(message)
        if len(found[1]) > _LONGEST_NUMBER:
            message = f"{text[:_LONGEST_NUMBER] + '…'!r} is longer than times can be apart: {MAX_EVENT_TIME} ticks"
            raise ValueError(message)
        return cls(int(found[1]), found[2])

    def ticks(self, unit: TimeUnit) -> Fraction:
        """Return the exact length in ticks of `unit`."""
        if self.unit is None:
            return Fraction(self.amount)
        return Fraction(self.amount * _NANOSECONDS[self.unit], unit.nanoseconds)

    def ticks_at_least(self, unit: TimeUnit) -> int:
        """Return the length rounded up to whole ticks.

        For a half-open window this is exact: between integers, `b - a < w` holds if and only if `b - a < ceil(w)`.
        """
        return -(-self.ticks(unit) // 1)

    def __str__(self) -> str:
        """Return the duration as the pattern language writes it."""
        return f"{self.amount}{self.unit or ''}"
