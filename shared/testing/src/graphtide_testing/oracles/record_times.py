"""Times of records, the plain way, with exact fractions and `zoneinfo`: `graphtide_core.record_time` word by word.

What that leaves open is decided here.

* A value between two ticks is rounded down, also before 1970.
* A floating-point number is the decimal number with its shortest digits: 1521911721.258458 is exactly that many seconds. A
  decoder that reads texts must use the digits of the text.
* A timestamp of a format that has them (`Moment`) is a time whatever IN and FORMAT say. Without a zone it is of that of ZONE.
* A text without FORMAT is a decimal number, in the unit of IN or of the stream. Or it is a date (midnight) or date and time in
  ISO 8601. With IN it is a number. With FORMAT a number is read as its digits: `AT day FORMAT '%Y%m%d'`.
* A local time that a clock shows twice, or skips, has the offset from before the change: `fold=0` of `zoneinfo`.
  The clocks of a zone with a name are known from 1900 to 2099; a local time outside is none.
* A text of syslog is ISO 8601 if it begins with a digit. Else it is a month, a day and a time, with a year behind the day or
  not.
* A text without a year is of the last year in which its day comes before that of BEFORE. The 29th of February is that of the
  last such leap year.
* `%y` is 1969 to 2068, and names of days and months are English (`time_formats`).
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from graphtide_core.record_time import EpochUnit
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME, TimeUnit
from graphtide_core.zones import offset_of

from graphtide_testing.oracles.record_texts import Moment, WrittenFloat, WrittenInt, write_text
from graphtide_testing.oracles.time_formats import read_moment, read_offset

if TYPE_CHECKING:
    from graphtide_core.edge import Value
    from graphtide_core.record_time import RecordTime

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST: Final = 400
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_ISO: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:[.,]([0-9]+))?)?(.*))?")
_KNOWN: Final = (datetime(1900, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
_RFC: Final = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?([0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}(?::[0-9]{2})?) "
    r"([+-][0-9]{4}|GMT|UT|UTC|Z)"
)
_SYSLOG: Final = re.compile(r"([A-Za-z]{3} +[0-9]{1,2})( +[0-9]{4})?( +[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?")
_SIZES: Final = ((10**11, TimeUnit.SECOND), (10**14, TimeUnit.MILLISECOND), (10**17, TimeUnit.MICROSECOND))


def ticks_of(value: Value, time: RecordTime, unit: TimeUnit) -> int:
    """Return the time that a value states, in ticks of `unit`.

    Raises:
        ValueError: it states none, with the reason of the dead letter.
    """
    if value is None:
        message = "no time"
        raise ValueError(message)
    nanoseconds = None if isinstance(value, bool) else _nanoseconds(value, time, unit)
    if nanoseconds is None:
        message = f"the time {value!r} cannot be read"
        raise ValueError(message)
    ticks = math.floor(nanoseconds / unit.nanoseconds)
    if not MIN_EVENT_TIME <= ticks <= MAX_EVENT_TIME:
        message = f"the time {value!r} is out of range"
        raise ValueError(message)
    return ticks


def local_time(value: Value, unit: TimeUnit, zone: str) -> datetime | None:
    """Return the time in a zone that a text in ISO 8601, or a number of ticks, states; None if it states none."""
    match value:
        case bool() | float() | None:
            return None
        case int():
            nanoseconds: Fraction | None = Fraction(value * unit.nanoseconds)
        case str():
            nanoseconds = _of_iso(value, UTC)
    if nanoseconds is None:
        return None
    clock = _zone(zone)
    try:
        moment = _EPOCH + timedelta(seconds=math.floor(nanoseconds / 10**9))
        return None if isinstance(clock, ZoneInfo) and not _KNOWN[0] <= moment < _KNOWN[1] else moment.astimezone(clock)
    except OverflowError:
        return None


def _nanoseconds(value: bool | int | float | str, time: RecordTime, unit: TimeUnit) -> Fraction | None:
    """Return the nanoseconds since 1970 that a value states."""
    zone = _zone(time.zone or "UTC")
    if isinstance(value, Moment):
        return _of_iso(value, zone)
    if time.format is not None:
        text = write_text(value)
        return None if text is None or len(text) > _LONGEST else _by_format(text, time.format, zone, time.before)
    number = _number(value)
    if number is not None:
        return number * _unit_of(number, time.unit, unit).nanoseconds
    return _of_iso(value, zone) if isinstance(value, str) and time.unit is None else None


def _number(value: bool | int | float | str) -> Fraction | None:
    match value:
        case str():
            return Fraction(Decimal(value)) if len(value) <= _LONGEST and _NUMBER.fullmatch(value) else None
        case WrittenInt() | WrittenFloat():
            return _number(value.written)
        case float():
            return Fraction(Decimal(repr(value))) if math.isfinite(value) else None
        case _:
            return Fraction(value)


def _unit_of(number: Fraction, stated: EpochUnit | None, unit: TimeUnit) -> TimeUnit:
    match stated:
        case None:
            return unit
        case EpochUnit.AUTO:
            return next((each for size, each in _SIZES if abs(number) < size), TimeUnit.NANOSECOND)
        case _:
            return TimeUnit(stated.value)


def _by_format(text: str, form: str, zone: tzinfo, before: str | None) -> Fraction | None:
    match form:
        case "iso":
            return _of_iso(text, zone)
        case "rfc2822":
            found = _RFC.fullmatch(text)
            if found is None:
                return None
            day, stated = found.groups()
            seconds = ":%S" if day.count(":") > 1 else ""
            return _since(f"{day} {stated if stated[0] in '+-' else 'Z'}", f"%d %b %Y %H:%M{seconds} %z", zone)
        case "syslog":
            found = _SYSLOG.fullmatch(text)
            if found is None:
                return _of_iso(text, zone)
            _, year, _, fraction = found.groups()
            written = f"%b %d{' %Y' if year else ''} %H:%M:%S{'.%f' if fraction else ''}"
            if year is None and before is None:
                message = f"the time {text!r} has no year"
                raise ValueError(message)
            return _since(text, written, zone, None if year else before)
        case _:
            return _since(text, form, zone, before)


def _since(text: str, form: str, zone: tzinfo, before: str | None = None) -> Fraction | None:
    found = read_moment(text, form, before)
    if found is None:
        return None
    moment, rest = found
    return _of_moment(moment, rest, zone)


def _of_iso(text: str, zone: tzinfo) -> Fraction | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    day, clock, seconds, fraction, stated = found.groups()
    offset = read_offset(stated) if stated else None
    if stated and offset is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{(seconds or ':00')[:3]}")
    except ValueError:
        return None
    rest = Fraction(int(fraction), 10 ** len(fraction)) if fraction else Fraction(0)
    return _of_moment(moment if offset is None else moment.replace(tzinfo=timezone(offset)), rest, zone)


def _of_moment(moment: datetime, rest: Fraction, zone: tzinfo) -> Fraction | None:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone, fold=0)
        if isinstance(zone, ZoneInfo) and not _KNOWN[0] <= moment < _KNOWN[1]:
            return None
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds + rest) * 10**9


def _zone(name: str) -> tzinfo:
    offset = offset_of(name)
    return ZoneInfo(name) if offset is None else timezone(offset)
