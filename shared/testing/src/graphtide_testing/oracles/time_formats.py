"""Texts of times by a format of `strptime`: each directive is a regular expression that takes all it can.

It gives nothing back: `%Y%m%d` of `2024131` has the month 13 and is refused, where Python's `strptime` would try again. A
number has as many digits as its field, at most. A blank is one or more of ASCII, and letters are of any case; `%f` has any
number of digits.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from typing import Final

from graphtide_core.record_time import expand_format

_MONTHS: Final = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"
]  # fmt: skip
_DAYS: Final = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_ZONE: Final = r"z|[+-][0-9]{2}(?::?[0-9]{2})?+"
_TAKEN: Final = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "m": "[0-9]{1,2}+",
    "d": " [0-9]|[0-9]{1,2}+",
    "j": "[0-9]{1,3}+",
    "H": "[0-9]{1,2}+",
    "I": "[0-9]{1,2}+",
    "M": "[0-9]{1,2}+",
    "S": "[0-9]{1,2}+",
    "f": "[0-9]++",
    "p": "am|pm",
    "z": _ZONE,
    "Z": "utc|gmt|z",
    "b": "|".join(month[:3] for month in _MONTHS),
    "B": "|".join(_MONTHS),
    "a": "|".join(day[:3] for day in _DAYS),
    "A": "|".join(_DAYS),
}
_PART: Final = re.compile(r"%(.)|([ \t\n\f\r]+)|(.)", re.DOTALL)


def read_moment(text: str, form: str, before: str | None = None) -> tuple[datetime, Fraction] | None:
    """Return the moment that a text states, and the part of a second after it.

    The moment is to the second, with a zone if the text states one.

    None if it states none. One without a year is of the last year in which its day comes before the day `before`.
    """
    found = re.fullmatch(_expression(form), text, re.IGNORECASE | re.ASCII)
    if found is None:
        return None
    part = {name: value.lower() for name, value in found.groupdict().items()}
    if before is not None:
        year = next((year for year in range(int(before[:4]), 0, -1) if _is_before(part | {"Y": f"{year:04}"}, before)), None)
        if year is None:
            return None
        part["Y"] = f"{year:04}"
    try:
        moment = datetime(_year(part), *_month_and_day(part), _hour(part), int(part.get("M", 0)), int(part.get("S", 0)))  # noqa: DTZ001 - it may have none
    except ValueError:
        return None
    digits = part.get("f", "0")
    offset = read_offset("z" if "Z" in part else part["z"]) if part.keys() & {"z", "Z"} else None
    if part.keys() & {"z", "Z"} and offset is None:
        return None
    zoned = moment if offset is None else moment.replace(tzinfo=timezone(offset))
    return zoned, Fraction(int(digits), 10 ** len(digits))


def read_offset(text: str) -> timedelta | None:
    """Return the offset from UTC that `Z`, `+02`, `+0200` or `+02:00` states; None for other texts."""
    if re.fullmatch(_ZONE, text, re.IGNORECASE) is None:
        return None
    if text in {"z", "Z"}:
        return timedelta(0)
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if text[0] == "-" else offset


def _expression(form: str) -> str:
    parts = []
    for letter, blank, other in _PART.findall(expand_format(form)):
        if letter and letter != "%":
            parts.append(f"(?P<{letter}>(?>{_TAKEN[letter]}))")
        else:
            parts.append(r"[ \t\n\f\r]++" if blank else re.escape(other or letter))
    return "".join(parts)


def _year(part: dict[str, str]) -> int:
    if "Y" in part:
        return int(part["Y"])
    year = int(part["y"])
    return 2000 + year if year < 69 else 1900 + year


def _month_and_day(part: dict[str, str]) -> tuple[int, int]:
    if "j" in part:
        first = datetime(_year(part), 1, 1)  # noqa: DTZ001 - a date alone
        day = first + timedelta(days=int(part["j"]) - 1)
        if day.year != first.year:
            raise ValueError
        return day.month, day.day
    if "m" in part:
        return int(part["m"]), int(part["d"])
    months = [month[:3] for month in _MONTHS] if "b" in part else _MONTHS
    return months.index(part.get("b", part.get("B", ""))) + 1, int(part["d"])


def _is_before(part: dict[str, str], before: str) -> bool:
    try:
        return date(_year(part), *_month_and_day(part)) < date.fromisoformat(before)
    except (ValueError, OverflowError):
        return False


def _hour(part: dict[str, str]) -> int:
    if "I" not in part:
        return int(part.get("H", 0))
    hour = int(part["I"])
    if not 1 <= hour <= 12:
        raise ValueError
    return hour % 12 + (12 if part["p"] == "pm" else 0)
