"""What a pattern reads, from the pattern.

Cost: O(size of the pattern).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.one_per import with_past
from graphtide_core.reads import Reach, Reads
from graphtide_core.window import EdgeCount

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern, MatchedPattern
    from graphtide_core.time import TimeUnit


def hindsight(pattern: AnyPattern, unit: TimeUnit) -> int:
    """Return how many ticks before a report a record can have a say in it: while ts > detected_at - hindsight.

    Of an event pattern that may be more than its reach, as of one that tells a match for each key, and of a graph query it is;
    0 where edges are counted.
    """
    if isinstance(pattern, GraphQuery):
        return pattern.hindsight(unit)
    of_match = pattern.hindsight(unit) if isinstance(pattern, EventPattern) else reads_of(pattern).reach.ticks(unit)
    return with_past(pattern.one_per, of_match, unit)


def reads_of(pattern: MatchedPattern) -> Reads:
    """Return what a pattern reads; its reach is its window. One that counts edges reads those that it cannot use, too.

    The labels of an event pattern are the types of its events; its reach is its time, twice where it looks beyond it.
    """
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
