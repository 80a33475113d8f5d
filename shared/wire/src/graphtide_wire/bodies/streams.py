"""What a server says of streams and their attributes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from graphtide_wire.bodies import Body, one_of

_STREAM: Final[dict[str, Any]] = {
    "name": "flows",
    "partitions": 4,
    "first": 0,
    "end": 17,
    "dead_letters": 1,
    "patterns": ["fan_out"],
}
_PROGRESS: Final[dict[str, Any]] = {
    "epoch": 0,
    "watermark": 1704067201000,
    "newest": 1704067201000,
    "read": 17,
    "late": 0,
    "future": 0,
    "lateness": 1000,
    "note": None,
}


class Stream(Body, frozen=True, kw_only=True):
    """A stream; dead letters are counted by offsets, so there may be a few less."""

    schema: ClassVar[str | None] = "StreamOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (_STREAM,)

    name: str
    partitions: int
    first: int
    end: int
    dead_letters: int
    patterns: tuple[str, ...] = ()


class StreamsPage(Body, frozen=True, kw_only=True):
    """Streams, by their names."""

    schema: ClassVar[str | None] = "StreamsOut"

    streams: list[Stream]


class StreamProgressOut(Body, frozen=True, kw_only=True):
    """How far a stream was put in order: its epoch, its times, edges read in the epoch and those rejected for their times.

    `lateness` is by how many ticks an edge may come later than a newer one; null where an older version wrote the position.
    `note` says what is odd, and what helps.
    """

    epoch: int
    watermark: int | None
    newest: int | None
    read: int
    late: int
    future: int
    lateness: int | None = None
    note: str | None


class StreamDetails(Stream, frozen=True, kw_only=True):
    """A stream and its progress; `standing` is null until a part of it was put in order."""

    schema: ClassVar[str | None] = None
    examples: ClassVar[tuple[dict[str, Any], ...]] = ({**_STREAM, "standing": _PROGRESS},)

    standing: StreamProgressOut | None = None


class AttributeSchema(Body, frozen=True):
    """An attribute, what it is, and how that is known: declared, or seen in edges, where `any` are values of several types."""

    schema: ClassVar[str | None] = "AttributeOut"

    name: str
    type: Annotated[str, one_of("any", "string", "integer", "number", "boolean")]
    source: Annotated[str, one_of("declared", "seen")]


class StreamSchema(Body, frozen=True):
    """What is known of a stream's attributes, by their names."""

    schema: ClassVar[str | None] = "SchemaOut"

    stream: str
    attributes: list[AttributeSchema]
