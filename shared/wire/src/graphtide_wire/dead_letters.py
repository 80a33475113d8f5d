"""Dead letters: records that could not be used, byte for byte, with the reason beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message

from graphtide_wire import headers as names
from graphtide_wire.headers import CONTENT_TYPE, TRACEPARENT
from graphtide_wire.raw import PRODUCER

if TYPE_CHECKING:
    from graphtide_core.ports.log import Record

CODE: Final = "graphtide-error-code"
REASON: Final = "graphtide-error-reason"
SOURCE_TOPIC: Final = "graphtide-source-topic"
SOURCE_PARTITION: Final = "graphtide-source-partition"
SOURCE_OFFSET: Final = "graphtide-source-offset"
SOURCE_LINE: Final = "graphtide-source-line"
TIME: Final = "graphtide-time"

_FUTURE: Final = re.compile(r"ts -?[0-9]+ is in the future: ")


class ErrorCode(Enum):
    """Why a record could not be used, for programs."""

    MALFORMED = "malformed"
    LATE = "late"
    FUTURE = "future"
    TOO_LARGE = "too-large"
    UNKNOWN_OPERATION = "unknown-operation"
    DUPLICATE = "duplicate"


def code_of(reason: str) -> ErrorCode:
    """Return the code for the reason of a decoder or a sequencer."""
    if reason.startswith("late: "):
        return ErrorCode.LATE
    if reason.startswith("op "):
        return ErrorCode.UNKNOWN_OPERATION
    if _FUTURE.match(reason):
        return ErrorCode.FUTURE
    too_long = reason.startswith("the record is longer than ") or reason.endswith(" are allowed")
    return ErrorCode.TOO_LARGE if too_long else ErrorCode.MALFORMED


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record stood: a place in the log, and the 1-based line in what its sender sent; None where there is none."""

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterRecord:
    """A rejected record.

    Attributes:
        raw: its bytes as they came.
        code: why, for programs; a text that `ErrorCode` may not know yet.
        reason: why, for people.
        time: when it was rejected, in ISO 8601.
        source: where it stood.
        content_type: what its sender said it was.
        producer: who sent it, if that is known.
        traceparent: trace it belongs to.
    """

    raw: bytes
    code: str
    reason: str
    time: str
    source: Source = Source()
    content_type: str | None = None
    producer: str | None = None
    traceparent: str | None = None


def encode(topic: str, letter: DeadLetterRecord) -> Message:
    """Return the message that keeps the letter."""
    headers = names.drop_empty(
        (CODE, letter.code),
        (REASON, letter.reason),
        (SOURCE_TOPIC, letter.source.topic),
        (SOURCE_PARTITION, letter.source.partition),
        (SOURCE_OFFSET, letter.source.offset),
        (SOURCE_LINE, letter.source.line),
        (TIME, letter.time),
        (CONTENT_TYPE, letter.content_type),
        (PRODUCER, letter.producer),
        (TRACEPARENT, letter.traceparent),
    )
    return Message(topic, None, letter.raw, headers)


def decode(record: Record) -> DeadLetterRecord:
    """Return the letter of a record.

    Raises:
        PoisonRecordError: the record is not a dead letter.
    """
    if record.value is None:
        reason = "a dead letter without a value"
        raise PoisonRecordError(reason)
    headers = names.by_name(record.headers)
    return DeadLetterRecord(
        raw=record.value,
        code=names.require(headers, CODE),
        reason=names.require(headers, REASON),
        time=names.require(headers, TIME),
        source=Source(
            names.text(headers, SOURCE_TOPIC),
            names.integer(headers, SOURCE_PARTITION),
            names.integer(headers, SOURCE_OFFSET),
            names.integer(headers, SOURCE_LINE),
        ),
        content_type=names.text(headers, CONTENT_TYPE),
        producer=names.text(headers, PRODUCER),
        traceparent=names.text(headers, TRACEPARENT),
    )
