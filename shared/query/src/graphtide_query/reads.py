"""What a pattern reads, from the pattern.

Cost: O(size of the pattern).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.one_per import with_past
from graphtide_core.reads import Reach, Reads
from graphtide_core.stream_window import WindowKind
from graphtide_core.suggestion import show
from graphtide_core.time import Duration, TimeUnit
from graphtide_core.window import EdgeCount

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern


def hindsight(pattern: AnyPattern, unit: TimeUnit) -> int:
    """Return how many ticks before a report a record can have a say in it: while ts > detected_at - hindsight.

    Of an event pattern that may be more than its reach, as of one that tells a match for each key; 0 where edges are counted.

    Raises:
        InvalidPatternError: as `reads_of`.
    """
    if isinstance(pattern, GraphQuery):
        return reads_of(pattern).reach.ticks(unit)
    of_match = pattern.hindsight(unit) if isinstance(pattern, EventPattern) else reads_of(pattern).reach.ticks(unit)
    return with_past(pattern.one_per, of_match, unit)


def reads_of(pattern: AnyPattern) -> Reads:
    """Return what a pattern reads; its reach is its window. One that counts edges reads those that it cannot use, too.

    The labels of an event pattern are the types of its events; its reach is its time, twice where it looks beyond it. That of a
    graph query is its longest window, closed: what ends just now is extended by what begins just now.

    Raises:
        InvalidPatternError: the windows of a graph query are partly of time and partly of ticks; which is the longest, only the
            stream knows.
    """
    if isinstance(pattern, GraphQuery):
        labels_read = {each.label for each in pattern.inputs}
        return Reads(
            streams=pattern.streams,
            reach=Reach(_longest_window(pattern), is_closed=True, is_rounded_up=True),
            labels=None if None in labels_read else tuple(sorted(each for each in labels_read if each is not None)),
            attributes=pattern.attributes,
        )
    if isinstance(pattern, EventPattern):
        types = {event.type for event in pattern.events}
        return Reads(
            streams=(pattern.stream,),
            reach=Reach(pattern.looks_back, is_closed=True),
            labels=None if None in types else tuple(sorted(each for each in types if each is not None)),
            attributes=pattern.attributes,
        )
    labels = {edge.label for edge in pattern.edges}
    counts = isinstance(pattern.window, EdgeCount)
    named = sorted(label for label in labels if label is not None)
    return Reads(
        streams=(pattern.stream,),
        reach=Reach(pattern.window, is_closed=pattern.morphism.has_closed_windows and not counts),
        labels=None if counts or None in labels else tuple(named),
        attributes=tuple(sorted(pattern.attributes)),
    )


def _longest_window(query: GraphQuery) -> Duration:
    """Return the longest window of a query; one of NOW is a tick, and no other is shorter."""
    windows = [each.window for each in query.inputs if each.window.kind is not WindowKind.NOW]
    lengths = {length: window for window in windows for length in (window.slide, window.length) if length is not None}
    first = next(iter(lengths), None)
    for length, window in lengths.items():
        if first is not None and (first.unit is None) != (length.unit is None):
            message = f"{show(query.name)} has windows and slides of time and of ticks, {first} and {length}"
            hint = "give each a unit, or none of them: what a tick is, the stream alone says"
            raise InvalidPatternError(message, window.location, hint=hint)
    return max(lengths, key=lambda each: each.ticks(TimeUnit.NANOSECOND), default=Duration(1))
