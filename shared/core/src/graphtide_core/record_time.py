"""Where the time of a record is, and how it is written: `AT expression IN unit FORMAT '…' ZONE '…' BEFORE '…'`.

Numbers and texts become ticks of the stream exactly, and are rounded down where they lie between two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import Literal
from graphtide_core.record_expression import WITHOUT_QUOTATION
from graphtide_core.suggestion import did_you_mean, show
from graphtide_core.zones import check_zone

if TYPE_CHECKING:
    from graphtide_core.edge import Value
    from graphtide_core.record_expression import RecordExpression

LONGEST_FORMAT: Final = 256
"""Bytes of a format, in UTF-8."""

SYSLOG: Final = "syslog"
NAMED_FORMATS: Final = ("iso", "rfc2822", SYSLOG)
"""Formats that have a name. That of syslog is ISO 8601, or `Oct 11 22:14:15` with a year behind the day or without one."""

SHORT_FORMS: Final = {"F": "%Y-%m-%d", "D": "%m/%d/%y", "T": "%H:%M:%S", "R": "%H:%M", "h": "%b", "e": "%d"}
"""Directives that stand for others."""

DIRECTIVES: Final = "YymbBdjaAHIpMSfzZ" + "".join(SHORT_FORMS)
"""Letters after a percent sign, as in `strptime`, in the C locale; `%Z` is UTC, GMT or Z."""

_FIRST_YEAR: Final = 8
"""Every day of the calendar comes in the eight years before a day of a later one."""

_WITHOUT_YEAR: Final = "AT ts FORMAT '%b %d %H:%M:%S' BEFORE '2027-01-01'"
_YEARS: Final = frozenset("Yy")
_MONTHS: Final = frozenset("mbB")
_DIGIT: Final = re.compile("[0-9]")
_DIRECTIVE: Final = re.compile(r"%(.?)", re.DOTALL)
_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


class EpochUnit(Enum):
    """The unit of a number that is a time since 1970."""

    SECOND = "s"
    MILLISECOND = "ms"
    MICROSECOND = "us"
    NANOSECOND = "ns"
    AUTO = "auto"
    """Guessed for each number from its size: below 10^11 in seconds, 10^14 in ms, 10^17 in us, else in ns."""


@dataclass(frozen=True, slots=True)
class RecordTime:
    """The time of a record.

    Attributes:
        value: what states it.
        unit: of a number, or of a text with a decimal number; None for the unit of the stream.
        format: of a text: directives of `strptime`, or one of `NAMED_FORMATS`; None for ISO 8601 or a decimal number.
        zone: of a text that does not state one; None for UTC. Of a time that a clock shows twice, and of one that it skips, the
            offset before the change counts.
        before: a day, `2027-01-01`: a text that states no year is of the last one in which its day comes before this one. Both
            are days of the clock that the text shows.
    """

    value: RecordExpression
    unit: EpochUnit | None = None
    format: str | None = None
    zone: str | None = None
    before: str | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown format or zone, parts that contradict each other, and a constant that is not a time."""
        if isinstance(self.value, Literal) and not _may_be_a_time(self.value.value):
            message = f"AT has a constant, {_show_constant(self.value.value)}, which is not a time"
            raise InvalidPatternError(message, hint=WITHOUT_QUOTATION)
        if self.zone is not None:
            check_zone(self.zone)
        if self.before is not None:
            _check_day(self.before)
        if self.format is None:
            if self.before is not None:
                message = "BEFORE is for times whose format has no year"
                raise InvalidPatternError(message, hint=f"write {_WITHOUT_YEAR}, or leave BEFORE out")
            return
        if self.unit is not None:
            message = "IN is for times that are numbers, FORMAT for times that are texts"
            raise InvalidPatternError(message, hint="keep one of them")
        letters = frozenset[str]() if self.format in NAMED_FORMATS else _check_format(self.format, self.before)
        if self.before is not None and self.format in NAMED_FORMATS and self.format != SYSLOG:
            message = f"times of the format {self.format} state their year"
            raise InvalidPatternError(message, hint="leave BEFORE out")
        if self.zone is not None and (letters & frozenset("zZ") or self.format == "rfc2822"):
            message = "the format states the zone itself"
            raise InvalidPatternError(message, hint="leave ZONE out")


def _show_constant(value: Value) -> str:
    return show(value) if isinstance(value, str) else "NULL" if value is None else str(value).upper()


def _may_be_a_time(value: Value) -> bool:
    """Return whether a constant is a number, or a text with a digit: all that is written as a time has one."""
    return isinstance(value, int | float | str) and value is not True and value is not False and bool(_DIGIT.search(str(value)))


def expand_format(text: str) -> str:
    """Return a format with what its short forms stand for: `%F` is `%Y-%m-%d`."""
    return _DIRECTIVE.sub(lambda found: SHORT_FORMS.get(found[1], found[0]), text)


def _check_day(text: str) -> None:
    try:
        is_day = _DAY.fullmatch(text) is not None and date.fromisoformat(text).year > _FIRST_YEAR
    except ValueError:
        is_day = False
    if not is_day:
        message = f"{show(text)} is not a day"
        raise InvalidPatternError(message, hint="write the day after the last time: BEFORE '2027-01-01'")


def _check_format(text: str, before: str | None) -> frozenset[str]:
    """Return the letters of a format's directives."""
    if len(text.encode()) > LONGEST_FORMAT:
        message = f"a format has at most {LONGEST_FORMAT} bytes"
        raise InvalidPatternError(message)
    if "%" not in text:
        message = f"{show(text)} is not a format of times"
        hint = did_you_mean(text, NAMED_FORMATS) or "write directives, '%d/%m/%Y %H:%M:%S', or one of " + ", ".join(
            map(repr, NAMED_FORMATS)
        )
        raise InvalidPatternError(message, hint=hint)
    letters = [found[1] for found in _DIRECTIVE.finditer(expand_format(text)) if found[1] != "%"]
    for letter in letters:
        if not letter or letter not in DIRECTIVES:
            message = f"the format has an unknown directive {show('%' + letter)}"
            raise InvalidPatternError(message, hint="the directives are " + " ".join(f"%{each}" for each in DIRECTIVES))
        if letters.count(letter) > 1:
            message = f"the format has %{letter} twice"
            raise InvalidPatternError(message)
    stated = frozenset(letters)
    has_day, has_month = "d" in stated, bool(stated & _MONTHS)
    if not ("j" in stated or (has_day and has_month)) or not (stated & _YEARS or before is not None):
        message = "the format has no full date"
        hint = "a time needs its year (%Y), month (%m or %b) and day (%d)"
        if "j" in stated or (has_day and has_month):
            hint = f"add the year (%Y), or say before which day the times are: {_WITHOUT_YEAR}"
        raise InvalidPatternError(message, hint=hint)
    if stated & _YEARS and before is not None:
        message = "the format has the year"
        raise InvalidPatternError(message, hint="leave BEFORE out")
    if "j" in stated and (has_day or has_month):
        message = "the format has a day of the year (%j) and a day of a month"
        raise InvalidPatternError(message, hint="keep one of them")
    if "I" in stated and "p" not in stated:
        message = "the format has hours up to 12 (%I) and not which half of the day"
        raise InvalidPatternError(message, hint="add %p, or write %H for hours up to 24")
    return stated
