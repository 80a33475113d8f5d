"""How long a window of each stream is counted: the longest that a pattern on it has, up to a bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_query import parse

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.time import Duration, TimeUnit
    from graphtide_wire.control import PatternRecord


@dataclass(slots=True)
class Windows:
    """The windows of the patterns that are registered.

    Attributes:
        most: the bound; memory grows with the edges of a window.
    """

    most: Duration
    _by_pattern: dict[str, tuple[StreamName, Duration]] = field(default_factory=dict)

    def take(self, name: str, record: PatternRecord | None) -> None:
        """Take a registration; None is a deleted one. One that cannot be parsed counts as none: it gets no plan."""
        self._by_pattern.pop(name, None)
        if record is None:
            return
        try:
            for pattern in parse(record.text):
                self._by_pattern[name] = (pattern.stream, pattern.window)
        except InvalidQueryError:
            return

    def streams(self) -> set[StreamName]:
        """Return the streams that patterns are on."""
        return {stream for stream, _ in self._by_pattern.values()}

    def ticks(self, stream: StreamName, unit: TimeUnit) -> int:
        """Return the ticks of a stream's window."""
        most = self.most.ticks_at_least(unit)
        return min(
            most, max((window.ticks_at_least(unit) for on, window in self._by_pattern.values() if on == stream), default=1)
        )
