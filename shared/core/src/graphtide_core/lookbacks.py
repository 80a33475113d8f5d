"""How far back the patterns on each stream look, and which attributes of its edges they read.

Cost: O(streams of the pattern) to take one; to ask, O(different reaches), which are few however many patterns there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.reads import Lookback, Reads
    from graphtide_core.time import TimeUnit


@dataclass(slots=True)
class Lookbacks:
    """The reaches of patterns, by stream."""

    _by_pattern: dict[str, Reads] = field(default_factory=dict)
    _by_stream: defaultdict[StreamName, Counter[Lookback]] = field(default_factory=lambda: defaultdict(Counter))
    _attributes: defaultdict[StreamName, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def take(self, name: str, reads: Reads | None) -> None:
        """Set the current reads of a pattern; None if the pattern was removed."""
        old = self._by_pattern.pop(name, None)
        if old is not None:
            self._forget(old)
        if reads is not None:
            self._by_pattern[name] = reads
            for stream in reads.streams:
                self._by_stream[stream][reads.lookback] += 1
                self._attributes[stream].update(reads.attributes)

    def streams(self) -> set[StreamName]:
        """Return the streams that patterns read."""
        return set(self._by_stream)

    def longest(self, stream: StreamName, unit: TimeUnit) -> int:
        """Return the longest lookback of a stream in its ticks; 0 if no pattern reads it."""
        return max((lookback.ticks(unit) for lookback in self._by_stream.get(stream, ())), default=0)

    def most_edges(self, stream: StreamName) -> int:
        """Return the most edges of a stream that a pattern's lookback counts; 0 if none does."""
        return max((lookback.edges for lookback in self._by_stream.get(stream, ())), default=0)

    def attributes(self, stream: StreamName) -> frozenset[str]:
        """Return the attributes of a stream's edges that patterns read."""
        return frozenset(self._attributes.get(stream, ()))

    def _forget(self, reads: Reads) -> None:
        for stream in reads.streams:
            lookbacks = self._by_stream[stream]
            lookbacks[reads.lookback] -= 1
            if not lookbacks[reads.lookback]:
                del lookbacks[reads.lookback]
            if not lookbacks:
                del self._by_stream[stream]
            for name in reads.attributes:
                self._attributes[stream][name] -= 1
                if not self._attributes[stream][name]:
                    del self._attributes[stream][name]
            if not self._attributes[stream]:
                del self._attributes[stream]
