"""Times as Python has them, as ticks of a stream: exactly, or not at all.

A time without a zone is one of UTC, as it is in tables, so that a stream means the same on every machine. Where the options say
how times are written, they are read as in files: in the zone that the options name, and rounded down.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from graphtide_core.time import TimeUnit
from graphtide_core.time_text import nanoseconds_of
from graphtide_native.record_form import EPOCHS, ISO, TICKS, UTC_ZONE, zone_of

if TYPE_CHECKING:
    from datetime import tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMPY = re.compile(r"datetime64\[(\d*)(\w+)\]")
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,2})?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SHORT = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%D": "%m/%d/%y", "%R": "%H:%M"}
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "m": 60 * 10**9, "h": 3600 * 10**9, "D": 86_400 * 10**9}


class Clock:
    """How times of records are written, where the options say so."""

    def __init__(self, written: str, zone: str | None) -> None:
        """Take a format and the name of a zone; see `RecordOptions`.

        Raises:
            ValueError: there is no such zone.
        """
        self.zone = zone_of(zone or UTC_ZONE)
        self._written = re.sub("%[FTDR]", lambda found: _SHORT[found[0]], written)
        self._unit = TimeUnit(written) if written in EPOCHS else None

    def nanoseconds(self, value: object) -> Fraction | None:
        """Return the nanoseconds since 1970 of a text or number; None for other values, and for integers that count ticks.

        Raises:
            ValueError: it is not written so.
        """
        if self._unit is not None:
            if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
                return None
            if _NUMBER.fullmatch(str(value)) is None:
                message = f'ts "{value}" is not a number'
                raise ValueError(message)
            return Fraction(Decimal(str(value))) * self._unit.nanoseconds
        if not isinstance(value, str):
            return None
        if self._written in {TICKS, ISO}:
            return nanoseconds_of(f"{value}T00:00" if _DATE.fullmatch(value) else value, self.zone)
        try:
            return _of_datetime(datetime.strptime(value, self._written), self.zone)  # noqa: DTZ007 - it gets its zone there
        except ValueError as error:
            message = f'ts "{value}" is not a time of the format "{self._written}"'
            raise ValueError(message) from error


def ticks(value: object, unit: TimeUnit, clock: Clock | None = None) -> object:
    """Return the ticks of a datetime of Python, pandas or numpy, or of a date and time as text; anything else as it is.

    Without a `clock` texts are those of ISO 8601.

    Raises:
        ValueError: it is not a whole number of ticks; or it is the missing time of numpy or pandas.
    """
    nanoseconds: Fraction | None
    if isinstance(value, datetime):
        nanoseconds = _of_datetime(value, UTC if clock is None else clock.zone)
    elif clock is not None and isinstance(value, int | float | Decimal | str):
        nanoseconds = clock.nanoseconds(value)
    elif isinstance(value, str):
        nanoseconds = nanoseconds_of(value)
    elif type(value).__name__ == "datetime64":
        nanoseconds = _of_numpy(value)
    else:
        return value
    if nanoseconds is None:
        return value
    found = nanoseconds / unit.nanoseconds
    if clock is not None:
        return found.numerator // found.denominator
    if found.denominator != 1:
        message = f'ts "{value}" is not a whole number of {unit.value}; the option time_unit says what a stream counts'
        raise ValueError(message)
    return int(found)


def _of_datetime(moment: datetime, zone: tzinfo) -> Fraction:
    if moment != moment:  # noqa: PLR0124 - as pandas marks a missing time
        message = "ts is missing"
        raise ValueError(message)
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)) - _EPOCH
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
