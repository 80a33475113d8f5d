"""Bodies of Avro and Protobuf for a stream whose STREAM statement reads them, cut into raw records where records end.

A body is an Avro object container file, one message, or Protobuf messages with their lengths before them. A raw record is a
message, or blocks of an Avro file behind its header, which are a file again. The sequencer reads both as those of the raw
topic, and makes the dead letters. What cannot be cut is an error that names the byte.
Cost: one pass of the decoder, and a copy of the bytes. Memory: a block or message, of `MOST_EDGE_BYTES` at most.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from graphtide_core import formats
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import Symbols, take_dead_letters
from graphtide_ordering.raw_decoding import Refused
from graphtide_wire.dead_letters import code_of

from graphtide_ingestion.domain.body_reading import MOST_EDGE_BYTES, Passage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_ordering.statements import Statement
    from graphtide_wire.stream_schema import Kind

MESSAGES: Final = frozenset({formats.AVRO.value, formats.PROTOBUF.value})
"""Formats whose bodies are cut into messages, or blocks."""

_MAGIC: Final = formats.AVRO.magic
_MARK: Final = 16
_PLACE: Final = re.compile(r"at byte (\d+)")
_LONGEST_VARINT: Final = 10


class Part(NamedTuple):
    """The value of a raw record, and by how much a byte of it lies further on in the body."""

    value: bytes
    shift: int = 0


class BodyParts(Protocol):
    """Cuts a body into the values of raw records."""

    def push(self, block: bytes) -> Iterator[Part]:
        """Take a block; yield the values that are whole.

        Raises:
            UnreadableStreamError: the body cannot be cut.
        """
        ...

    def finish(self) -> Iterator[Part]:
        """Take the end of the body; yield what it makes whole. Raises as `push`."""
        ...


class OneMessage:
    """A body that is one message."""

    def __init__(self, most_bytes: int) -> None:
        """Take at most so many bytes."""
        self._most_bytes = most_bytes
        self._held = bytearray()

    def push(self, block: bytes) -> Iterator[Part]:
        """See `BodyParts`."""
        self._held += block
        if len(self._held) > self._most_bytes:
            message = f"the message is longer than {self._most_bytes:,} bytes"
            raise UnreadableStreamError(message)
        yield from ()

    def finish(self) -> Iterator[Part]:
        """See `BodyParts`."""
        yield Part(bytes(self._held))


class DelimitedMessages:
    """Messages of Protobuf, each with its length before it."""

    def __init__(self, most_bytes: int) -> None:
        """Take messages of at most so many bytes."""
        self._most_bytes = most_bytes
        self._held = bytearray()
        self._place = 0

    def push(self, block: bytes) -> Iterator[Part]:
        """See `BodyParts`."""
        self._held += block
        start = 0
        try:
            while (found := self._head(start)) is not None:
                length, begin = found
                if len(self._held) < begin + length:
                    return
                yield Part(bytes(self._held[begin : begin + length]))
                start = begin + length
        finally:
            del self._held[:start]
            self._place += start

    def finish(self) -> Iterator[Part]:
        """See `BodyParts`."""
        if self._held:
            message = f"the message at byte {self._place:,} breaks off"
            raise UnreadableStreamError(message)
        yield from ()

    def _head(self, start: int) -> tuple[int, int] | None:
        """Return the length of a message and where it begins; None if its length is not there yet."""
        found = _varint(self._held, start)
        if found is None:
            if len(self._held) - start < _LONGEST_VARINT:
                return None
            message = f"at byte {self._place + start:,} is no length of a message"
            raise UnreadableStreamError(message)
        if found[0] > self._most_bytes:
            message = (
                f"the message at byte {self._place + start:,} has {found[0]:,} bytes; at most {self._most_bytes:,} are taken"
            )
            raise UnreadableStreamError(message)
        return found


class AvroFile:
    """The blocks of an Avro object container file, each group behind the header of the file."""

    def __init__(self, most_bytes: int) -> None:
        """Take headers and blocks of at most so many bytes."""
        self._most_bytes = most_bytes
        self._held = bytearray()
        self._place = 0
        self._header = b""

    def push(self, block: bytes) -> Iterator[Part]:
        """See `BodyParts`."""
        self._held += block
        if not self._header and not self._take_header():
            return
        start = first = 0
        while (end := self._end_of_block(start)) is not None:
            if start > first and end - first > self._most_bytes:
                yield self._part(first, start)
                first = start
            start = end
        if start > first:
            yield self._part(first, start)
        del self._held[:start]
        self._place += start

    def finish(self) -> Iterator[Part]:
        """See `BodyParts`."""
        if self._held or not self._header:
            message = f"the Avro file breaks off behind byte {self._place:,}"
            raise UnreadableStreamError(message)
        yield from ()

    def _part(self, first: int, end: int) -> Part:
        return Part(self._header + bytes(self._held[first:end]), self._place + first - len(self._header))

    def _take_header(self) -> bool:
        """Take the header, if all of it is there: the magic bytes, a map, and the mark behind each block."""
        end = _end_of_map(self._held, len(_MAGIC))
        if end is None or len(self._held) < end + _MARK:
            if len(self._held) > self._most_bytes:
                message = f"the header of the Avro file is longer than {self._most_bytes:,} bytes, or damaged"
                raise UnreadableStreamError(message)
            return False
        self._header = bytes(self._held[: end + _MARK])
        del self._held[: end + _MARK]
        self._place = end + _MARK
        return True

    def _end_of_block(self, start: int) -> int | None:
        """Return where a block ends with its mark; None if it is not whole."""
        count = _varint(self._held, start)
        size = None if count is None else _varint(self._held, count[1])
        if size is None:
            if len(self._held) - start < 2 * _LONGEST_VARINT:
                return None
            message = f"at byte {self._place + start:,} is no block of an Avro file"
            raise UnreadableStreamError(message)
        length = _zigzag(size[0])
        if not 0 <= length <= self._most_bytes:
            message = f"the block at byte {self._place + start:,} has {length:,} bytes; at most {self._most_bytes:,} are taken"
            raise UnreadableStreamError(message)
        end = size[1] + length + _MARK
        if len(self._held) < end:
            return None
        if self._held[end - _MARK : end] != self._header[-_MARK:]:
            message = f"the block at byte {self._place + start:,} is damaged: its mark is not that of the file"
            raise UnreadableStreamError(message)
        return end


class _Unknown:
    """A body of Avro until its first bytes show what it is."""

    def __init__(self, most_bytes: int, *, takes_messages: bool) -> None:
        self._most_bytes = most_bytes
        self._takes_messages = takes_messages
        self._held = b""
        self._found: BodyParts | None = None

    def push(self, block: bytes) -> Iterator[Part]:
        """See `BodyParts`."""
        if self._found is None:
            self._held += block
            if len(self._held) < len(_MAGIC) and _MAGIC.startswith(self._held):
                return
            is_file = self._held.startswith(_MAGIC)
            if not is_file and not self._takes_messages:
                message = "a message of Avro needs its schema here: state SCHEMA, or send messages of a registry by Kafka"
                raise UnreadableStreamError(message)
            self._found = AvroFile(self._most_bytes) if is_file else OneMessage(self._most_bytes)
            block, self._held = self._held, b""
        yield from self._found.push(block)

    def finish(self) -> Iterator[Part]:
        """See `BodyParts`."""
        if self._found is None:
            message = "the body is neither an Avro file nor a message"
            raise UnreadableStreamError(message)
        yield from self._found.finish()


class MessageReader:
    """Reads a body of Avro or Protobuf by a statement; attributes as those of `StatementReader`."""

    writes_letters: ClassVar[bool] = False

    def __init__(self, statement: Statement, *, is_delimited: bool = False, most_bytes: int = MOST_EDGE_BYTES) -> None:
        """Read one body.

        Args:
            statement: of the stream.
            is_delimited: whether a body of Protobuf is messages with their lengths before them, and not one message.
            most_bytes: of a block or message.

        Raises:
            UnreadableStreamError: messages cannot be read here by the statement.
        """
        self.accepted = 0
        self.statement: int | None = statement.version
        self.seen: dict[str, Kind] = {}
        self._decoder = statement.decoder(Symbols(), (), formats.DEFAULT, {})
        self._line = 1
        self._is_avro = statement.format_name(formats.DEFAULT) == formats.AVRO.value
        self._parts: BodyParts
        if self._is_avro:
            self._parts = _Unknown(most_bytes, takes_messages=statement.states_schema)
        else:
            self._parts = DelimitedMessages(most_bytes) if is_delimited else OneMessage(most_bytes)

    @property
    def filtered(self) -> int:  # noqa: D102 - as `StatementReader` has it
        return self._decoder.filtered()

    def push(self, block: bytes) -> tuple[list[Passage], list[Refused]]:
        """Take a block; return what is ready to be passed on, and what the sequencer will reject.

        Raises:
            UnreadableStreamError: the body as a whole is not what it claims to be.
        """
        return self._read(list(self._parts.push(block)))

    def finish(self) -> tuple[list[Passage], list[Refused]]:
        """Take the end of the body. Raises as `push`."""
        return self._read(list(self._parts.finish()))

    def _read(self, parts: list[Part]) -> tuple[list[Passage], list[Refused]]:
        passages: list[Passage] = []
        refused: list[Refused] = []
        for value, shift in parts:
            try:
                batch, ((*_, ordinal, _, line),) = self._decoder.decode_pieces([value], self._line)
            except UnreadableStreamError as error:
                raise UnreadableStreamError(_shift_places(str(error), shift)) from error
            letters = take_dead_letters(self._decoder)
            refused += (Refused(code_of(each.reason), each.reason, each.raw, each.line) for each in letters)
            self.accepted += len(batch)
            passages.append(Passage(value, len(batch), line, formats.DEFAULT))
            self._line = ordinal + 1 if self._is_avro else line + 1
        return passages, refused


def _shift_places(message: str, shift: int) -> str:
    """Return what a decoder says of a part, with places in the body."""
    return _PLACE.sub(lambda found: f"at byte {int(found[1]) + shift:,}", message)


def _varint(held: bytearray, start: int) -> tuple[int, int] | None:
    """Return an integer of variable length, and where it ends; None if it does not end in ten bytes, or breaks off."""
    value = 0
    for place, byte in enumerate(held[start : start + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, start + place + 1
    return None


def _zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _end_of_map(held: bytearray, start: int) -> int | None:
    """Return where a map of texts to bytes ends in Avro; None if it breaks off."""
    while True:
        found = _varint(held, start)
        if found is None:
            return None
        count, start = _zigzag(found[0]), found[1]
        if count == 0:
            return start
        if count < 0:
            size = _varint(held, start)
            if size is None:
                return None
            start = size[1]
        for _ in range(2 * abs(count)):
            length = _varint(held, start)
            if length is None or _zigzag(length[0]) < 0:
                return None
            start = length[1] + _zigzag(length[0])
            if start > len(held):
                return None
