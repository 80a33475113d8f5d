"""The durations that a pattern is written with, and where they meet the unit of a stream's time.

A duration keeps its unit until then. One that is shorter than a tick would ask for records of one and the same time: that is
hardly ever meant, and divides by nothing where it is rounded down. It is refused, here alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.time import Duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.errors import Location
    from graphtide_core.time import TimeUnit


def durations(pattern: AnyPattern) -> Iterator[tuple[str, Duration, Location | None]]:
    """Yield each duration of a pattern with its keyword and, where it is known, its place."""
    if isinstance(pattern, GraphQuery):
        for each in pattern.inputs:
            yield "WINDOW", each.window.length, each.window.location
            if each.window.slide is not None:
                yield "SLIDE", each.window.slide, each.window.location
        return
    if isinstance(pattern, EventPattern):
        yield "WITHIN", pattern.within, None
    elif isinstance(pattern.window, Duration):
        yield "WINDOW", pattern.window, None
    if pattern.one_per is not None:
        yield "EVERY", pattern.one_per.every, None


def refuse_shorter_than_a_tick(pattern: AnyPattern, unit: TimeUnit) -> None:
    """Refuse a pattern on a stream whose time counts too coarse a unit for it.

    Raises:
        InvalidPatternError: a duration is shorter than a tick.
    """
    for word, length, location in durations(pattern):
        if length.ticks(unit) < 1:
            message = f"{word} {length} of {pattern.name!r} is shorter than a tick of the stream, 1{unit.value}"
            hint = (
                f"write {word} 1{unit.value} or longer, or count times in a smaller unit (--time-unit, or UNIT of the services)"
            )
            raise InvalidPatternError(message, location, hint=hint)
