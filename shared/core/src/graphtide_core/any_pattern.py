"""A pattern of any family, and the way to those of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.merged_streams import merge
from graphtide_core.pattern import SubgraphPattern
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from dataclasses import Field

    from graphtide_core.annotations import Annotations
    from graphtide_core.errors import Location
    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.time import Duration, TimeUnit
    from graphtide_core.window import Extent

MatchedPattern = SubgraphPattern | EventPattern
"""A pattern whose matches are found record by record."""


class AnyPattern(Protocol):
    """A pattern of any family: a frozen dataclass. What it asks for, its family knows."""

    # `dataclasses.replace` asks for it.
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def name(self) -> PatternName:
        """The name."""
        ...

    @property
    def version(self) -> int:
        """The version of that name."""
        ...

    @property
    def family(self) -> str:
        """The name of its family."""
        ...

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The streams that it reads, each once, in their order."""
        ...

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of records that it reads; what every record has is none."""
        ...

    @property
    def annotations(self) -> Annotations:
        """What it says of itself to people and alerts."""
        ...

    @property
    def is_view(self) -> bool:
        """Whether its results are a stream, called after it, that others may read."""
        ...

    @property
    def reports_changes(self) -> bool:
        """Whether each record of a match says what changed."""
        ...

    @property
    def consumes(self) -> bool:
        """Whether what it can match depends on what it matched before."""
        ...

    def durations(self) -> Iterator[tuple[str, Duration, Location | None]]:
        """Yield each duration with its keyword and, where it is known, its place."""
        ...

    def extent(self, unit: TimeUnit, /) -> Extent:
        """Return how long a record can be of use: in ticks, or while it is among the last so many edges."""
        ...

    def lookback(self, unit: TimeUnit, /) -> int:
        """Return how many ticks a record can be of use: with `now` the newest time, while ts > now - lookback."""
        ...


_HINT = "write a pattern of edges: PATTERN name MATCH (a)-[e]->(b)"


def ordered_stream(pattern: AnyPattern) -> StreamName:
    """Return the stream whose ordered edges a pattern takes: of a graph query over several, the one that they are merged to."""
    return merge(pattern.streams)


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
        if not isinstance(pattern, SubgraphPattern):
            message = (
                f"{show(pattern.name)} is not a pattern of edges: it can be checked and printed, but nothing matches it here"
            )
            raise InvalidPatternError(message, hint=_HINT)
        found.append(pattern)
    return tuple(found)
