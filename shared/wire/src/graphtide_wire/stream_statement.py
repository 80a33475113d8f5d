"""Write and read STREAM statements: how records of a stream become edges and events.

A stream's name is the key of its last statement. Each version is under a key of its own, too, as long as the stream is there.
So records that are read again are read by the version that they were read by first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import InvalidPatternError, PoisonRecordError

from graphtide_wire.json_form import Count, Instant, Name, decode, encode
from graphtide_wire.stream_definition import DefinitionForm, definition_of, form_of_definition

if TYPE_CHECKING:
    from datetime import datetime

    from graphtide_core.stream_definition import StreamDefinition


class StatementRecord(msgspec.Struct, frozen=True):
    """The statement of a stream: its text, and what the text means for readers that do not know the language.

    Another text is a new version, and so is that the stream has none any more: without text and definition. Records of the
    stream are decoded by the version that holds when they are read.
    """

    stream: Name
    version: Count
    text: str
    definition: DefinitionForm | None
    updated_at: Instant

    @classmethod
    def of(cls, text: str, definition: StreamDefinition, version: int, at: datetime) -> StatementRecord:
        """Return the record of a statement that has this text."""
        return cls(definition.name, version, text, form_of_definition(definition), at)

    @property
    def is_removed(self) -> bool:
        """Whether the version is that the stream has no statement."""
        return self.definition is None

    @classmethod
    def removed(cls, stream: str, version: int, at: datetime) -> StatementRecord:
        """Return the record that the stream has no statement from this version on."""
        return cls(stream, version, "", None, at)


def statement_key(stream: str) -> bytes:
    """Return the key of the last statement of a stream."""
    return stream.encode()


def version_key(stream: str, version: int) -> bytes:
    """Return the key of a version."""
    return f"{stream}@{version}".encode()


def stream_of_key(key: bytes | None) -> tuple[str, int | None]:
    """Return the stream of a key, and the version if it is that of a version."""
    stream, separator, version = (key or b"").decode(errors="replace").rpartition("@")
    if not separator or not (version.isascii() and version.isdigit()):
        return f"{stream}{separator}{version}", None
    return stream, int(version)


def encode_statement(record: StatementRecord) -> bytes:
    """Return a record's value."""
    return encode(record)


def decode_statement(key: bytes | None, value: bytes | None) -> StatementRecord:
    """Return a record; its definition is one that the model takes.

    Raises:
        PoisonRecordError: the record is not a statement, is of another stream than its key, or the model refuses it.
    """
    what = "statement of a stream"
    record = decode(value, StatementRecord, what)
    stream, version = stream_of_key(key)
    named = record.stream if record.definition is None else record.definition.name
    if {record.stream, named} != {stream} or version not in (None, record.version):
        reason = f"the statement of {record.stream} is not under its key"
        raise PoisonRecordError(reason, value or b"")
    try:
        if record.definition is not None:
            definition_of(record.definition)
    except (InvalidPatternError, ValueError, RecursionError) as error:
        reason = f"no {what}: {error}"
        raise PoisonRecordError(reason, value or b"") from error
    return record
