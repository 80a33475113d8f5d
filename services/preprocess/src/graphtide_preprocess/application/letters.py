"""Dead letters of a micro-batch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from graphtide_ordering.dead_letters import letter, letter_of, refuse_too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Message
    from graphtide_ordering.ordered_records import TooLarge
    from graphtide_ordering.raw_decoding import Refused
    from graphtide_ordering.sequencer_output import RejectedPart
    from graphtide_ordering.stream_sequencer import StreamSequencer
    from graphtide_wire.topics import Topics


class _Instant:
    """A clock that stands still at the instant of a micro-batch."""

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._milliseconds / 1000, UTC)

    def monotonic(self) -> float:
        return self._milliseconds / 1000

    def sleep(self, seconds: float) -> None:
        self._milliseconds += int(seconds * 1000)


class Letters:
    """Makes the letters of one micro-batch, which are written at its instant."""

    def __init__(self, topics: Topics, stream: StreamName, at: int) -> None:
        """Write for a stream; `at` is in milliseconds."""
        self._topic = topics.dead_letters(stream)
        self._clock = _Instant(at)

    def rejected(self, parts: Iterable[RejectedPart]) -> list[Message]:
        """Return letters for rejected parts of raw records."""
        return [letter_of(self._topic, each, self._clock) for each in parts]

    def unplaced(self, refused: Iterable[Refused]) -> list[Message]:
        """Return letters for rejected edges whose records are not known any more."""
        return [letter(self._topic, each, self._clock) for each in refused]

    def too_large(self, sequencer: StreamSequencer, edges: Sequence[TooLarge], most_bytes: int) -> list[Message]:
        """Return letters of edges that no ordered record can hold, which the sequencer takes back."""
        refused = [refuse_too_large(each, most_bytes) for each in edges]
        for edge, reason in zip(edges, refused, strict=True):
            sequencer.take_back(edge, reason)
        return self.unplaced(refused)
