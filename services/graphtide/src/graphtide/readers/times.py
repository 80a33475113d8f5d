"""Times as Python has them, as ticks of a stream: exactly, or not at all.

A time without a zone is one of UTC, as it is in tables, so that a stream means the same on every machine.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from graphtide_core.time_text import nanoseconds_of

if TYPE_CHECKING:
    from graphtide_core.time import TimeUnit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMPY = re.compile(r"datetime64\[(\d*)(\w+)\]")
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "m": 60 * 10**9, "h": 3600 * 10**9, "D": 86_400 * 10**9}


def ticks(value: object, unit: TimeUnit) -> object:
    """Return the ticks of a datetime of Python, pandas or numpy, or of a date and time as ISO text; anything else as it is.

    Raises:
        ValueError: it is not a whole number of ticks; or it is the missing time of numpy or pandas.
    """
    nanoseconds: Fraction | None
    if isinstance(value, datetime):
        nanoseconds = _of_datetime(value)
    elif isinstance(value, str):
        nanoseconds = nanoseconds_of(value)
    elif type(value).__name__ == "datetime64":
        nanoseconds = _of_numpy(value)
    else:
        return value
    if nanoseconds is None:
        return value
    found = nanoseconds / unit.nanoseconds
    if found.denominator != 1:
        message = f'ts "{value}" is not a whole number of {unit.value}; the option time_unit says what a stream counts'
        raise ValueError(message)
    return int(found)


def _of_datetime(moment: datetime) -> Fraction:
    if moment != moment:  # noqa: PLR0124 - as pandas marks a missing time
        message = "ts is missing"
        raise ValueError(message)
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH
    whole = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000
    # Of pandas, which counts finer than its base class.
    return Fraction(whole + getattr(moment, "nanosecond", 0))


def _of_numpy(value: Any) -> Fraction | None:
    found = _NUMPY.fullmatch(value.dtype.name)
    if found is None or found[2] not in _UNITS:
        return None
    if value != value:  # noqa: PLR0124 - as numpy marks a missing time
        message = "ts is missing"
        raise ValueError(message)
    return Fraction(int(value.astype("int64")) * int(found[1] or 1) * _UNITS[found[2]])
