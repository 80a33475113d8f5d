"""Round times on an axis of time: years, months, days, hours, minutes, seconds, and what they are called.

Times are seconds since the epoch, in UTC. The step is the finest that makes few enough ticks. A tick says as much of its time
as the step leaves open; the title of the axis has the days of hours.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from math import ceil, floor, log10
from typing import Final, NamedTuple

EARLIEST: Final = -62_135_596_800
"""The beginning of the year 1, before which there are no dates."""
LATEST: Final = 253_402_300_799
"""The end of the year 9999."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_STEPS: Final = (
    *(1, 2, 5, 10, 15, 30),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14)),
)
_MONTH: Final = 365.2425 * _DAY / 12
_MONTHS: Final = (1, 3, 6, *(12 * factor * 10**power for power in range(4) for factor in (1, 2, 5)))


class Tick(NamedTuple):
    """A round time, and how it is written."""

    at: float
    text: str


def date_ticks(low: float, high: float, most: int) -> list[Tick]:
    """Return about `most` ticks, or none, from `low` to `high`; both within the years 1 to 9999."""
    rough = (high - low) / most
    if rough <= 0:
        return []
    if rough < 1:
        return _parts_of_seconds(low, high, rough)
    if rough <= _STEPS[-1]:
        step = _STEPS[bisect_left(_STEPS, rough)]
        # Weeks begin on Mondays; the epoch was a Thursday.
        offset = 4 * _DAY if step % (7 * _DAY) == 0 else 0
        first, last = ceil((low - offset) / step), floor((high - offset) / step)
        return [_tick(number * step + offset, _text_of(step)) for number in range(first, last + 1)]
    months = next((each for each in _MONTHS if each * _MONTH >= rough), _MONTHS[-1])
    return _months(low, high, months)


def title_of(low: float, high: float) -> str:
    """Return the title of an axis from `low` to `high`: with its day, where its ticks do not have it."""
    first, last = _moment(low), _moment(high)
    if high - low > _STEPS[-1] or first is None or last is None:
        return "time (UTC)"
    days = f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    return f"time (UTC), {days}"


def _moment(seconds: float) -> datetime | None:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _tick(at: float, form: str) -> Tick:
    moment = _moment(at)
    return Tick(at, "" if moment is None else moment.strftime(form))


def _text_of(step: int) -> str:
    if step < _MINUTE:
        return "%H:%M:%S"
    if step < _HOUR:
        return "%H:%M"
    return "%m-%d %H:%M" if step < _DAY else "%Y-%m-%d"


def _parts_of_seconds(low: float, high: float, rough: float) -> list[Tick]:
    power = 10.0 ** floor(log10(rough))
    step = next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9)) * power
    digits = max(1, -floor(log10(step) + 1e-9))
    ticks = []
    for number in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1):
        whole = floor(number * step + 1e-9)
        moment = _moment(whole)
        rest = f"{max(0.0, number * step - whole):.{digits}f}"[1:]
        ticks.append(Tick(number * step, "" if moment is None else f"{moment:%H:%M:%S}{rest}"))
    return ticks


def _months(low: float, high: float, months: int) -> list[Tick]:
    start = _moment(low)
    number = 0 if start is None else (start.year * 12 + start.month - 1) // months * months
    ticks = []
    while number < 12 * 10_000:
        year, month = divmod(number, 12)
        if year >= 1:
            at = (datetime(year, month + 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()
            if at > high:
                break
            if at >= low:
                ticks.append(Tick(at, f"{year}" if months % 12 == 0 else f"{year}-{month + 1:02}"))
        number += months
    return ticks
