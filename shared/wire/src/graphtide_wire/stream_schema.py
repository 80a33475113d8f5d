"""Write and read schemas of streams: declared attributes, and attributes seen on edges.

Each has a record of its own in the topic, so that who declares and who looks never overwrite one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from graphtide_core.errors import PoisonRecordError
from msgspec import Meta

from graphtide_wire.json_form import Name, decode, encode

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MOST_ATTRIBUTES: Final = 1_000
"""Attributes of a schema."""

LONGEST_ATTRIBUTE: Final = 200
"""Characters of an attribute's name."""

AttributeName = Annotated[str, Meta(min_length=1, max_length=LONGEST_ATTRIBUTE)]
Kind = Literal["any", "string", "integer", "number", "boolean"]
Source = Literal["declared", "seen"]
SOURCES: Final[tuple[Source, ...]] = ("declared", "seen")


class SchemaRecord(msgspec.Struct, frozen=True):
    """A stream's attributes from one source; `any` are values of several types."""

    stream: Name
    source: Source
    attributes: Annotated[dict[AttributeName, Kind], Meta(max_length=MOST_ATTRIBUTES)]


def schema_key(stream: str, source: Source) -> bytes:
    """Return the key of a record."""
    return f"{stream}@{source}".encode()


def encode_schema(record: SchemaRecord) -> bytes:
    """Return a record's value."""
    return encode(record)


def decode_schema(key: bytes | None, value: bytes | None) -> SchemaRecord:
    """Return a record.

    Raises:
        PoisonRecordError: the record is not a schema, or has another key.
    """
    record = decode(value, SchemaRecord, "schema of a stream")
    if schema_key(record.stream, record.source) != key:
        reason = f"the schema of {record.stream} is not under its key"
        raise PoisonRecordError(reason, value or b"")
    return record


def source_of(key: bytes | None) -> tuple[str, Source] | None:
    """Return the stream and the source of a key; None if it is not the key of a schema."""
    stream, _, source = (key or b"").decode(errors="replace").rpartition("@")
    match source:
        case "declared" | "seen":
            return stream, source
        case _:
            return None


def merge(one: Mapping[str, Kind], other: Mapping[str, Kind], read: Collection[str] = ()) -> dict[str, Kind]:
    """Return what two schemas say together: of an attribute of two types the one that has both values, or `any`.

    Of more than `MOST_ATTRIBUTES` those that patterns `read` are kept first, then the others in their order.
    """
    together = {name: wider(kind, other[name]) if name in other else kind for name, kind in one.items()}
    together |= {name: kind for name, kind in other.items() if name not in together}
    if len(together) <= MOST_ATTRIBUTES:
        return together
    first = [name for name in together if name in read][:MOST_ATTRIBUTES]
    others = [name for name in together if name not in read][: MOST_ATTRIBUTES - len(first)]
    kept = {*first, *others}
    return {name: kind for name, kind in together.items() if name in kept}


def wider(one: Kind, other: Kind) -> Kind:
    """Return the type that has the values of both, or `any`."""
    if one == other:
        return one
    return "number" if {one, other} == {"integer", "number"} else "any"
