"""One report for each key in each interval of time: `REPORT … ONE PER key EVERY 10m` in the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError

if TYPE_CHECKING:
    from graphtide_core.predicate import Expression
    from graphtide_core.time import Duration, TimeUnit


@dataclass(frozen=True, slots=True)
class OnePer:
    """Report the first match of a key in each interval, and count the others.

    The interval of a match is [k·every, (k+1)·every) of its `detected_at`, with an integer k. A key that is missing is a key.
    """

    keys: tuple[Expression, ...]
    every: Duration


def refuse_empty(one_per: OnePer) -> None:
    """Refuse a key that distinguishes nothing.

    Raises:
        InvalidPatternError: no key, or no time.
    """
    if not one_per.keys:
        message = "ONE PER names at least one key"
        raise InvalidPatternError(message)
    if one_per.every.amount == 0:
        message = "EVERY must be longer than 0"
        raise InvalidPatternError(message, hint="for example EVERY 10m")


def with_past(one_per: OnePer | None, match_lookback: int, unit: TimeUnit) -> int:
    """Return how many ticks before a report a record can have a say in it, where of one match that is `match_lookback`.

    Whether it is the first of its key follows from its interval; whether its retraction is emitted, from whether it was.
    """
    return match_lookback if one_per is None else 2 * match_lookback + one_per.every.ticks_at_least(unit)
