"""A pattern of any family, and the way to those of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.merged_streams import merged
from graphtide_core.pattern import SubgraphPattern
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import StreamName

MatchedPattern = SubgraphPattern | EventPattern
"""A pattern whose matches are found record by record."""

AnyPattern = MatchedPattern | GraphQuery
"""A pattern of any family."""


_HINT = "write a pattern of edges: PATTERN name MATCH (a)-[e]->(b)"


def ordered_stream(pattern: AnyPattern) -> StreamName:
    """Return the stream whose ordered edges a pattern takes: of a graph query over several, the one that they are merged to."""
    return merged(pattern.streams)


def subgraphs_alone(patterns: Iterable[AnyPattern]) -> tuple[SubgraphPattern, ...]:
    """Return the patterns, for what works on subgraphs alone.

    Raises:
        InvalidPatternError: one is an event pattern or a streaming graph query; with its place, if that is known.
    """
    found: list[SubgraphPattern] = []
    for pattern in patterns:
        # Each refusal has its own words and place; the core is below the families.
        if isinstance(pattern, GraphQuery):
            message = (
                f"{show(pattern.name)} is a streaming graph query: it can be checked and printed, but nothing answers it here"
            )
            raise InvalidPatternError(message, pattern.inputs[0].window.location, hint=_HINT)
        if isinstance(pattern, EventPattern):
            message = f"{show(pattern.name)} is an event pattern: it can be checked and printed, but nothing matches it here"
            place = next((event.location for event in pattern.events), None)
            raise InvalidPatternError(message, place, hint=_HINT)
        found.append(pattern)
    return tuple(found)
