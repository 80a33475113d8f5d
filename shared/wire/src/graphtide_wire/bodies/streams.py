"""HTTP bodies of streams and their attributes."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - msgspec reads annotations while the program runs
from typing import Annotated, Any, ClassVar, Final

import msgspec

from graphtide_wire.bodies import TIME, Body, one_of

_STREAM: Final[dict[str, Any]] = {
    "name": "flows",
    "partitions": 4,
    "first": 0,
    "end": 17,
    "dead_letters": 1,
    "patterns": ["fan_out"],
    "parts": None,
}
_PROGRESS: Final[dict[str, Any]] = {
    "epoch": 0,
    "watermark": 1704067201000,
    "newest": 1704067201000,
    "read": 17,
    "late": 0,
    "future": 0,
    "lateness": 1000,
    "ordered": 15,
    "duplicates": 1,
    "replaced": 0,
    "rejected": 1,
    "filtered": 0,
    "first": {"code": "malformed", "reason": 'ts "x" is not an integer', "place": "0-3", "line": 2},
    "note": None,
}

_STATEMENT: Final[dict[str, Any]] = {
    "version": 1,
    "text": "STREAM flows EDGE (src)-['flow']->(dst) AT ts IN s",
    "definition": {
        "name": "flows",
        "time": {"value": {"is": "path", "steps": ["ts"]}, "unit": "s"},
        "unit": "s",
        "clauses": [
            {
                "gives": "edge",
                "source": {"value": {"is": "path", "steps": ["src"]}},
                "target": {"value": {"is": "path", "steps": ["dst"]}},
                "label": {"is": "constant", "value": "flow"},
            }
        ],
    },
    "updated_at": TIME,
}


class Stream(Body, frozen=True, kw_only=True):
    """A stream; dead letters are counted by offsets, so there may be a few less.

    `parts` is in how many parts its statement divides it, and null where it is one. Then `first` and `end` are sums over them.
    """

    schema: ClassVar[str | None] = "StreamOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (_STREAM,)

    name: str
    partitions: int
    first: int
    end: int
    dead_letters: int
    patterns: tuple[str, ...] = ()
    parts: int | None = None


class StreamsPage(Body, frozen=True, kw_only=True):
    """Streams, by their names."""

    schema: ClassVar[str | None] = "StreamsOut"

    streams: list[Stream]


class FirstRejection(Body, frozen=True, kw_only=True):
    """The first record of an epoch that was rejected; `place` and `line` are null where they are not known."""

    code: str
    reason: str
    place: str | None = None
    line: int | None = None


class StreamProgressOut(Body, frozen=True, kw_only=True):
    """The progress of a stream's sequencing: its epoch, its times, and what became of the edges read in the epoch.

    `read` counts good and bad ones. `late`, `future` and `rejected` are dead letters: for their times, or for another reason.
    `ordered` went out, and `duplicates` did not, since their ids were there. `replaced` are those of the ordered ones that went
    out in the place of what had their id. `filtered` are records that are not of the stream, as its statement says. `first` is
    the first record that was rejected without an answer that says so. `lateness` is the number of ticks by which an edge may be
    older than the newest; null for positions of older versions. `note` describes a problem and its remedy.
    """

    epoch: int
    watermark: int | None
    newest: int | None
    read: int
    late: int
    future: int
    lateness: int | None = None
    ordered: int = 0
    duplicates: int = 0
    replaced: int = 0
    rejected: int = 0
    filtered: int = 0
    first: FirstRejection | None = None
    note: str | None


class StreamStatement(Body, frozen=True, kw_only=True):
    """The STREAM statement of a stream: how its records become edges and events, from this version on.

    `definition` is what the text means, for programs that do not know the language.
    """

    schema: ClassVar[str | None] = "StatementOut"

    version: int
    text: str
    definition: dict[str, object]
    updated_at: datetime


class StreamDetails(Stream, frozen=True, kw_only=True):
    """A stream, its progress and its statement.

    `standing` is null until a part of it was sequenced; `statement` is null if none is registered. `warnings` name attributes
    that features of the statement read and the stream does not have.
    """

    schema: ClassVar[str | None] = None
    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {**_STREAM, "standing": _PROGRESS, "statement": _STATEMENT, "warnings": []},
    )

    standing: StreamProgressOut | None = None
    statement: StreamStatement | None = None
    warnings: tuple[str, ...] = ()


class AttributeSchema(Body, frozen=True, rename={"values": "examples"}):
    """An attribute, its type and the source of the type: declared, or seen in edges; `any` are values of several types.

    `values`, in JSON `examples`, are those of new edges, where they were asked for.
    """

    schema: ClassVar[str | None] = "AttributeOut"

    name: str
    type: Annotated[str, one_of("any", "string", "integer", "number", "boolean")]
    source: Annotated[str, one_of("declared", "seen")]
    values: tuple[bool | int | float | str, ...] = ()


class StreamSchema(Body, frozen=True):
    """The attributes of a stream, by name, and how often each label of an edge or type of an event was counted lately."""

    schema: ClassVar[str | None] = "SchemaOut"

    stream: str
    attributes: list[AttributeSchema]
    labels: dict[str, int] = msgspec.field(default_factory=dict)
