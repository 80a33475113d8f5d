"""Dead letters of a turn, in the order of the records that they come from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from graphtide_runtime.sequencing.dead_letters import letter
from graphtide_runtime.sequencing.raw_decoding import Refused
from graphtide_wire.dead_letters import ErrorCode, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Message
    from graphtide_runtime.sequencing.stream_sequencer import Output, PutAside
    from graphtide_wire.topics import Topics

    from graphtide_preprocess.domain.blocks import Block


class _Instant:
    """A clock that stands still at the instant of a turn."""

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._milliseconds / 1000, UTC)

    def monotonic(self) -> float:
        return self._milliseconds / 1000

    def sleep(self, seconds: float) -> None:
        self._milliseconds += int(seconds * 1000)


class Letters:
    """The letters of one turn, which were written at its instant."""

    def __init__(self, topics: Topics, stream: StreamName, at: int) -> None:
        """Start without any; `at` is in milliseconds."""
        self._raw_topic = topics.raw(stream)
        self._topic = topics.dead_letters(stream)
        self._clock = _Instant(at)
        self._letters: list[Message] = []

    def take(self, block: Block, output: Output) -> None:
        """Take from the output what was put aside of the block.

        Of joined records, a line is the place of one, in which it is the only line.
        """
        aside, output.put_aside = output.put_aside, []
        offsets = block.head.offsets
        if len(offsets) == 1:
            self._letters += [self._letter(each, block.partition, offsets[0], each.refused.line) for each in aside]
            return
        for each in sorted(aside, key=_place):
            self._letters.append(self._letter(each, block.partition, offsets[_place(each)], 1))

    def written(self) -> list[Message]:
        """Return the letters."""
        return self._letters

    def too_large(self, edges: Iterable[bytes], most_bytes: int) -> list[Message]:
        """Return letters of edges that no ordered record can hold."""
        reason = f"the edge takes more than the {most_bytes} bytes of an ordered record"
        return [letter(self._topic, Refused(ErrorCode.TOO_LARGE, reason, raw), self._clock) for raw in edges]

    def _letter(self, aside: PutAside, partition: int, offset: int, line: int | None) -> Message:
        return letter(
            self._topic,
            aside.refused,
            self._clock,
            source=Source(self._raw_topic, partition, offset, line),
            content_type=aside.decoded.content_type,
            producer=aside.decoded.producer,
            traceparent=aside.decoded.traceparent,
        )


def _place(aside: PutAside) -> int:
    """Return the place of a joined record among its neighbours."""
    return (aside.refused.line or 1) - 1
