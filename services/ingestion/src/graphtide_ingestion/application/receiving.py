"""A body of edges on its way to the log: what to write, and what to answer the sender."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError, TransientError
from graphtide_ordering.dead_letters import letter
from graphtide_wire import dead_letters, raw
from graphtide_wire.raw import RawEdges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Message
    from graphtide_ordering.raw_decoding import Refused
    from graphtide_wire.dead_letters import DeadLetterRecord, ErrorCode
    from graphtide_wire.stream_schema import Kind
    from graphtide_wire.topics import Topics

    from graphtide_ingestion.application.streams import MadeStream
    from graphtide_ingestion.domain.body_reading import BodyReader, Passage
    from graphtide_ingestion.domain.message_reading import MessageReader
    from graphtide_ingestion.domain.statement_reading import StatementReader

SHOWN_ERRORS: Final = 10
"""Refused edges that an answer names; all of them are in the dead letters."""

_PATIENCE: Final = 5.0

_NO_EDGE: Final = {"src is missing", "dst is missing", "label is missing"}
"""The reason for a record without a type, which is read as an edge."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a body.

    Attributes:
        stream: that it sends to.
        content_type: of the body.
        producer: its name.
        traceparent: its trace.
        new: the stream, if it may be made for the body.
        is_of_events: whether the body has events, by its address.
        receipt: what it waits for the verdict of ordering by; None if it does not wait.
        is_delimited: whether a body of Protobuf is messages with their lengths before them.
    """

    stream: StreamName
    content_type: str
    producer: str | None = None
    traceparent: str | None = None
    new: NewStream | None = None
    is_of_events: bool = False
    receipt: str | None = None
    is_delimited: bool = False


@dataclass(slots=True)
class NewStream:
    """A stream that is made with the first edge of a request that can be used: one that has none leaves nothing behind.

    Attributes:
        made: what an answer says of it.
        is_there: whether it was made.
        held: what is written once it is.
    """

    made: MadeStream
    is_there: bool = False
    held: list[Message] = field(default_factory=list)


@dataclass(slots=True)
class Reception:
    """One body.

    Edges of a producer go to one partition, so that they keep their order; those without go to the first.

    Attributes:
        rejected: edges rejected so far.
        errors: the first of them.
        by_code: how many were rejected for each reason, and the first of each.
        records: raw records made so far.
    """

    sender: Sender
    reader: BodyReader | StatementReader | MessageReader
    topics: Topics
    clock: Clock
    rejected: int = 0
    errors: list[Refused] = field(default_factory=list)
    by_code: dict[ErrorCode, tuple[int, Refused]] = field(default_factory=dict)
    records: int = 0

    @property
    def filtered(self) -> int:
        """Records so far that are not of the stream, as its statement says."""
        return self.reader.filtered

    @property
    def accepted(self) -> int:
        """Edges on their way so far."""
        return self.reader.accepted

    @property
    def seen(self) -> dict[str, Kind]:
        """Attributes in the beginning of the body, and what they are."""
        return self.reader.seen

    def push(self, block: bytes) -> list[Message]:
        """Take a block of the body; return what is to be written.

        Raises:
            UnreadableStreamError: the body is not what it claims to be.
        """
        passages, refused = self.reader.push(block)
        return [*map(self._raw, passages), *self._reject(refused)]

    def finish(self) -> list[Message]:
        """Take the end of the body; return what is to be written.

        Raises:
            UnreadableStreamError: as `push`.
        """
        passages, refused = self.reader.finish()
        return [*map(self._raw, passages), *self._reject(refused)]

    def _reject(self, refused: Iterable[Refused]) -> list[Message]:
        """Reject what the reader does; return the dead letters, unless the sequencer makes them of what is passed on."""
        letters = self.refuse(refused)
        return letters if self.reader.writes_letters else []

    def refuse(self, refused: Iterable[Refused]) -> list[Message]:
        """Reject edges; return their dead letters."""
        messages = []
        for given in refused:
            each = given
            if self.sender.is_of_events and given.reason in _NO_EDGE:
                each = replace(given, reason="type is missing")
            self.rejected += 1
            count, first = self.by_code.get(each.code, (0, each))
            self.by_code[each.code] = (count + 1, first)
            if len(self.errors) < SHOWN_ERRORS:
                self.errors.append(each)
            messages.append(self._letter(each))
        return messages

    def _raw(self, passage: Passage) -> Message:
        producer = self.sender.producer
        edges = RawEdges(
            passage.body,
            passage.format,
            passage.columns,
            passage.types,
            producer,
            passage.is_batch,
            self.reader.statement,
            self.sender.receipt,
            passage.line,
            self.sender.traceparent,
        )
        self.records += 1
        message = raw.encode(self.topics.raw(self.sender.stream), edges, None if producer is None else producer.encode())
        return message._replace(partition=0) if producer is None else message

    def _letter(self, refused: Refused) -> Message:
        sender = self.sender
        return letter(
            self.topics.dead_letters(sender.stream),
            refused,
            self.clock,
            content_type=sender.content_type,
            producer=sender.producer,
            traceparent=sender.traceparent,
        )


def letter_at(log: Log, topics: Topics, stream: StreamName, partition: int, offset: int) -> DeadLetterRecord | None:
    """Return the dead letter of a stream at a place; None if there is none. Waits for the log.

    Raises:
        TransientError: the log does not answer.
        PoisonRecordError: the record there is not a dead letter.
    """
    reader = log.reader(None)
    try:
        place = next((each for each in reader.partitions(topics.dead_letters(stream)) if each.partition == partition), None)
        if place is None:
            return None
        first, end = reader.ends([place])[place]
        if not first <= offset < end:
            return None
        reader.assign({place: offset})
        records = reader.poll(_PATIENCE, 1)
        if not records and not reader.at_end():
            message = f"{place.topic} gave nothing within {_PATIENCE:g} seconds"
            raise TransientError(message)
    except FatalError:
        return None  # Retention took it between the two looks.
    finally:
        reader.close()
    return dead_letters.decode(records[0]) if records and records[0].offset == offset else None
