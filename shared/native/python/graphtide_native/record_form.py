"""How the records of a stream are written, as decoders take it: times, columns, comments, missing values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import TimeUnit

from graphtide_native.records import JsonLinesDecoder, Symbols, ticks_per_second

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

TICKS: Final = "ticks"
"""The format of times that are integers and count the stream's unit."""

ISO: Final = "iso"
"""The format of dates and times of ISO 8601."""

EPOCHS: Final = tuple(unit.value for unit in TimeUnit)
"""Formats of times that are numbers since 1970, with decimals or not, whatever the stream's unit is."""

UTC_ZONE: Final = "UTC"

_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)
_FIRST: Final = datetime(1900, 1, 1, tzinfo=UTC)
_END: Final = datetime(2100, 1, 1, tzinfo=UTC)
_EVER: Final = 2**63 - 1
_DAY: Final = 86_400


class TimeForm(NamedTuple):
    """How times are written: a format, and the clocks of those that name no zone.

    Attributes:
        format: `s`, `ms`, `us` or `ns` for numbers since 1970; `iso`; or a format of `strptime`.
        ticks_per_second: of the stream.
        changes: for each change of clocks, what they show then in seconds since 1970. Beside it are the seconds that they are
            ahead of UTC from then on; ascending.
        until: what clocks show when they are no longer known.
    """

    format: str
    ticks_per_second: int
    changes: Sequence[tuple[int, int]]
    until: int


@dataclass(frozen=True, slots=True)
class RecordForm:
    """How records are written, where that is not as their format has it by itself.

    Attributes:
        times: how times are written; None for integers that count ticks.
        label: of edges that have none; None if every edge must have one.
        nulls: texts that stand for a missing value.
        comment: beginning of lines that are no records; empty if there are none.
        heading: where CSV has the names of its columns: in a `line`, `given` here, their `numbers`, or in `directives`, as
            Zeek writes them.
        header: the names, if they are given.
        has_decimal_comma: whether numbers of CSV are written `1.234,50`.
        path: keys that lead to records of JSON that stand anywhere; None if each is a line.
    """

    times: TimeForm | None = None
    label: str | None = None
    nulls: Sequence[str] = ()
    comment: str = ""
    heading: Literal["line", "given", "numbers", "directives"] = "line"
    header: Sequence[str] = ()
    has_decimal_comma: bool = False
    path: Sequence[str] | None = None


def time_form(written: str, zone: str | None, unit: TimeUnit) -> TimeForm | None:
    """Return how times are written; None for integers that count ticks.

    A zone without a format is that of timestamps of tables, and of dates of ISO 8601.

    Args:
        written: `ticks`, `s`, `ms`, `us`, `ns`, `iso` or a format of `strptime`.
        zone: of dates that name none: `Europe/Berlin`, `+02:00`; None for UTC.
        unit: what the stream counts.

    Raises:
        ValueError: there is no such zone.
    """
    if written == TICKS and zone is None:
        return None
    return TimeForm(ISO if written == TICKS else written, ticks_per_second(unit), *_clocks(zone or UTC_ZONE))


def refuse_unknown_time_format(written: str) -> None:
    """Refuse what is not a format of times.

    Raises:
        ValueError: it is neither a word nor a format of `strptime` that can be read and gives a date.
    """
    words = (TICKS, *EPOCHS, ISO)
    if written not in words and "%" not in written:
        message = f"{written!r} is not a format of times: give {', '.join(words)}, or one of strptime such as '%d/%m/%Y %H:%M'"
        raise ValueError(message)
    try:
        JsonLinesDecoder(Symbols(), (), {}, form=RecordForm(times=time_form(written, None, TimeUnit.SECOND)))
    except UnreadableStreamError as error:
        raise ValueError(str(error)) from error


def zone_of(name: str) -> tzinfo:
    """Return a zone by its name.

    Raises:
        ValueError: there is none, or it is not known on this machine.
    """
    if (found := _OFFSET.fullmatch(name)) is not None and int(found[2]) < 24 and int(found[3]) < 60:
        ahead = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-ahead if found[1] == "-" else ahead)
    if name == UTC_ZONE:
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - most streams name no zone

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        message = (
            f"{name!r} is not a time zone that this machine knows: give one such as Europe/Berlin, +02:00 or UTC; "
            "pip install tzdata adds those of the world"
        )
        raise ValueError(message) from error


def clocks_of_zones(names: Iterable[str]) -> dict[str, tuple[tuple[tuple[int, int], ...], int]]:
    """Return the changes of clocks of zones, and until when they are known, as a `TimeForm` has them, by name.

    Raises:
        ValueError: there is no such zone.
    """
    return {name: _clocks(name) for name in sorted(set(names))}


@cache
def _clocks(name: str) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return the changes of clocks of a zone, and until when they are known; see `TimeForm`.

    Changes are looked for day by day from 1900 to 2100, then to the second.
    """
    zone = zone_of(name)
    if isinstance(zone, timezone):
        return ((-_EVER - 1, _ahead(zone, 0)),), _EVER
    first, end = int(_FIRST.timestamp()), int(_END.timestamp())
    last = _ahead(zone, first)
    changes = [(first + last, last)]
    for day in range(first + _DAY, end, _DAY):
        ahead = _ahead(zone, day)
        if ahead == last:
            continue
        low, high = day - _DAY, day
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _ahead(zone, middle) == last else (low, middle)
        # Clocks that go back show a time twice, and the first counts; those that go forward skip one.
        changes.append((high + max(last, ahead), ahead))
        last = ahead
    return tuple(changes), end + last


def _ahead(zone: tzinfo, moment: int) -> int:
    offset = datetime.fromtimestamp(moment, zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())
