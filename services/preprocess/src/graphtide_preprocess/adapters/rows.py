"""Rows between the parts of the job: few and large, because Spark takes time for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pyarrow as pa

from graphtide_preprocess.domain.blocks import Block, BlockHead

if TYPE_CHECKING:
    from collections.abc import Iterable

READ: Final = "stream string, kind int, place int, head binary, body binary"
"""What the source gives: blocks or ranges of offsets, patterns, and one instant a batch, for the key of a stream or part."""

COMMITTED: Final = "measured string"
"""What the operator gives once a micro-batch is committed: its `Measured`, as JSON."""

MEASURED: Final = "measured"
"""What a query's progress calls all of them."""

BLOCK: Final = 0
PATTERN: Final = 1
INSTANT: Final = 2
RANGE: Final = 3

_READ_SCHEMA: Final = pa.schema(
    [("stream", pa.string()), ("kind", pa.int32()), ("place", pa.int32()), ("head", pa.binary()), ("body", pa.binary())]
)


class ReadRow(NamedTuple):
    """A row of the source, for the task that has the key."""

    key: str
    kind: int
    place: int
    head: bytes
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Instant:
    """The instants of a batch, as `Arrived` has them, and the record of the statement that reads it; None if there is none."""

    at: int
    as_of: int | None
    statement: bytes | None = None


def block_row(key: str, block: Block) -> ReadRow:
    """Return a block as a row."""
    return ReadRow(key, BLOCK, block.partition, msgspec.msgpack.encode(block.head), block.edges)


def block_of(row: ReadRow) -> Block:
    """Return the block of a row."""
    return Block(row.place, msgspec.msgpack.decode(row.head, type=BlockHead), row.body or b"")


def range_row(key: str, partition: int, start: int, stop: int) -> ReadRow:
    """Return the range of offsets of a partition, from `start` to before `stop`, as a row."""
    return ReadRow(key, RANGE, partition, msgspec.msgpack.encode((start, stop)), None)


def range_of(row: ReadRow) -> tuple[int, int]:
    """Return the first offset of a row's range, and the one after the last."""
    return msgspec.msgpack.decode(row.head, type=tuple[int, int])


def instant_row(key: str, instant: Instant) -> ReadRow:
    """Return an instant as a row."""
    return ReadRow(key, INSTANT, 0, msgspec.msgpack.encode((instant.at, instant.as_of)), instant.statement)


def instant_of(row: ReadRow) -> Instant:
    """Return the instant of a row."""
    return Instant(*msgspec.msgpack.decode(row.head, type=tuple[int, int | None]), row.body)


def read_batch(rows: Iterable[ReadRow]) -> pa.RecordBatch:
    """Return rows as Arrow's."""
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, each.type) for column, each in zip(columns, _READ_SCHEMA, strict=True)], _READ_SCHEMA
    )
