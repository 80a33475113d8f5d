"""Dead letters of a micro-batch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from graphtide_ordering.dead_letters import letter, letter_of
from graphtide_ordering.raw_decoding import Refused
from graphtide_wire.dead_letters import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Message
    from graphtide_ordering.stream_sequencer import RejectedPart
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

    def too_large(self, edges: Iterable[bytes], most_bytes: int) -> list[Message]:
        """Return letters of edges that no ordered record can hold."""
        reason = f"the edge takes more than the {most_bytes} bytes of an ordered record"
        return [letter(self._topic, Refused(ErrorCode.TOO_LARGE, reason, raw), self._clock) for raw in edges]
