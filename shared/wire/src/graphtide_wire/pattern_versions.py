"""The texts that a pattern had, one record a version, as JSON in a compacted topic; the key is `{name}@{version}`."""

from __future__ import annotations

import msgspec
from graphtide_core.errors import PoisonRecordError

from graphtide_wire.json_form import Count, Instant, Name, decode, encode


class VersionRecord(msgspec.Struct, frozen=True):
    """A text that a pattern had from an instant on."""

    name: Name
    version: Count
    text: str
    at: Instant


def version_key(name: str, version: int) -> bytes:
    """Return the key of a version."""
    return f"{name}@{version}".encode()


def encode_version(record: VersionRecord) -> bytes:
    """Return a record's value."""
    return encode(record)


def decode_version(key: bytes | None, value: bytes) -> VersionRecord:
    """Return a record.

    Raises:
        PoisonRecordError: it is none, or not under its key.
    """
    record = decode(value, VersionRecord, "version of a pattern")
    if version_key(record.name, record.version) != key:
        reason = f"version {record.version} of {record.name} is not under its key"
        raise PoisonRecordError(reason, value)
    return record
