"""The durations that a pattern is written with, and where they meet the unit of a stream's time.

A duration keeps its unit until then. One that is shorter than a tick would ask for records of one and the same time. That is
hardly ever meant, and divides by nothing where it is rounded down. It is refused, here alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.time import TimeUnit


def refuse_shorter_than_a_tick(pattern: AnyPattern, unit: TimeUnit) -> None:
    """Refuse a pattern on a stream whose time counts too coarse a unit for it.

    Raises:
        InvalidPatternError: a duration is shorter than a tick.
    """
    for word, length, location in pattern.durations():
        if length.ticks(unit) < 1:
            message = f"{word} {length} of {pattern.name!r} is shorter than a tick of the stream, 1{unit.value}"
            hint = (
                f"write {word} 1{unit.value} or longer, or count times in a smaller unit (--time-unit, or UNIT of the services)"
            )
            raise InvalidPatternError(message, location, hint=hint)
