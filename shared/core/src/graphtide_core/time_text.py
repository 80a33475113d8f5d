"""Times as texts, which are read as ticks of a stream: exactly, or not at all.

A time without a zone is one of UTC, so that a text means the same on every machine.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME, EventTime

if TYPE_CHECKING:
    from datetime import tzinfo

    from graphtide_core.time import TimeUnit

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,18}))?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_LONGEST_SHOWN: Final = 40


def ticks_alone(text: str) -> EventTime | None:
    """Return the time of a text with a number of ticks; None for other texts, or a number outside the range of times."""
    ts = int(text) if _INTEGER.fullmatch(text) else None
    return EventTime(ts) if ts is not None and MIN_EVENT_TIME <= ts <= MAX_EVENT_TIME else None


def nanoseconds_of(text: str, zone: tzinfo = UTC) -> Fraction | None:
    """Return the nanoseconds since 1970 of a date and time in ISO 8601; None for other texts.

    `zone` is that of a text that names none.
    """
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    whole, fraction, own = found.groups()
    try:
        moment = datetime.fromisoformat(whole + (own or ""))
    except ValueError:
        return None
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)) - _EPOCH
    rest = Fraction(int(fraction), 10 ** len(fraction)) if fraction else Fraction(0)
    return (since.days * 86_400 + since.seconds + rest) * 10**9


def instant_of(text: str, unit: TimeUnit) -> EventTime:
    """Return the time that a text says: a number of ticks, or a date and time that is a whole number of them.

    Raises:
        ValueError: it says none.
    """
    ts = ticks_alone(text)
    nanoseconds = nanoseconds_of(text) if ts is None else None
    if nanoseconds is not None:
        found = nanoseconds / unit.nanoseconds
        if found.denominator != 1:
            message = f"{text!r} is not a whole number of {unit.value}, the unit of the stream"
            raise ValueError(message)
        ts = EventTime(int(found)) if MIN_EVENT_TIME <= found <= MAX_EVENT_TIME else None
    if ts is None:
        message = (
            f"{text[:_LONGEST_SHOWN]!r} is not a time of a stream: give ticks, or a date and time such as 2024-01-31T12:00:00Z"
        )
        raise ValueError(message)
    return ts
