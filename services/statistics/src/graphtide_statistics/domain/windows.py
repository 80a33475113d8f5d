"""How long a window of each stream is counted: the longest lookback of a pattern on it, up to a bound.

Where all patterns count edges, no time is asked for, and the bound is taken: labels are as frequent there as anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.lookbacks import Lookbacks

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.reads import Reads
    from graphtide_core.time import Duration, TimeUnit


@dataclass(slots=True)
class Windows:
    """The windows that registered patterns ask for. Which labels they read is all the same: edges of every label are counted.

    Attributes:
        most: the bound; memory grows with the edges of a window.
    """

    most: Duration
    _lookbacks: Lookbacks = field(default_factory=Lookbacks)

    def take(self, name: str, reads: Reads | None) -> None:
        """Take what a pattern reads of ordered streams; None of one that is deleted or cannot be read."""
        self._lookbacks.take(name, reads)

    def streams(self) -> set[StreamName]:
        """Return the streams whose ordered edges patterns take."""
        return self._lookbacks.streams()

    def ticks(self, stream: StreamName, unit: TimeUnit) -> int:
        """Return the ticks of a stream's window."""
        most, longest = self.most.ticks_at_least(unit), self._lookbacks.longest(stream, unit)
        if not longest and self._lookbacks.most_edges(stream):
            return most
        return min(most, max(1, longest))
