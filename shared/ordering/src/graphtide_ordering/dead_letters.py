"""Dead letters of the service as messages that every log takes: parts of any length are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_wire import dead_letters
from graphtide_wire.dead_letters import DeadLetterRecord, ErrorCode, Source
from graphtide_wire.topics import MOST_ORDERED_BYTES

from graphtide_ordering.raw_decoding import Refused

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Message

    from graphtide_ordering.ordered_records import TooLarge
    from graphtide_ordering.sequencer_output import RejectedPart

_LONGEST_HEADER: Final = 1_000


def letter(
    topic: str,
    refused: Refused,
    clock: Clock,
    *,
    source: Source | None = None,
    content_type: str | None = None,
    producer: str | None = None,
    traceparent: str | None = None,
) -> Message:
    """Return the message; of a record past what the log takes, the first bytes are kept."""
    return dead_letters.encode(
        topic,
        DeadLetterRecord(
            raw=refused.raw[:MOST_ORDERED_BYTES],
            code=refused.code.value,
            reason=refused.reason[:_LONGEST_HEADER],
            time=clock.now().isoformat(),
            source=source or Source(line=refused.line),
            content_type=_cut(content_type),
            producer=_cut(producer),
            traceparent=_cut(traceparent),
        ),
    )


def letter_of(topic: str, rejected: RejectedPart, clock: Clock) -> Message:
    """Return the message for a rejected part of a raw record."""
    record, origin = rejected.piece.record, rejected.piece.origin
    return letter(
        topic,
        rejected.refused,
        clock,
        source=Source(record.topic, record.partition, record.offset, rejected.refused.line),
        content_type=None if origin is None else origin.format.value,
        producer=None if origin is None else origin.producer,
        traceparent=None if origin is None else origin.traceparent,
    )


def refuse_too_large(edge: TooLarge, most_bytes: int) -> Refused:
    """Return an edge that no ordered record can hold as a rejected one."""
    return Refused(ErrorCode.TOO_LARGE, f"the edge takes more than the {most_bytes} bytes of an ordered record", edge.raw)


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:_LONGEST_HEADER]
