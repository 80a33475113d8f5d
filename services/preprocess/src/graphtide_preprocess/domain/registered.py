"""What the registered patterns of one stream ask of it: how long to remember, which labels and attributes they use.

A pattern that cannot be read counts as none: it gets no plan either.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.merged_streams import parts_of
from graphtide_ordering.reference_tables import tables_in
from graphtide_ordering.statements import Statement, StatementSurroundings
from graphtide_wire import control
from graphtide_wire.json_form import decode as decode_json
from graphtide_wire.stream_statement import StatementRecord, decode_statement, stream_of_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_core.time import TimeUnit
    from graphtide_ordering.division import Division


class Registration(msgspec.Struct, frozen=True):
    """What one pattern asks for.

    Attributes:
        window: its lookback in ticks.
        edges: of its lookback, if it counts them; else 0.
        labels: of the edges it uses; None if it uses those of every label.
        attributes: that its conditions read.
    """

    window: int
    labels: frozenset[str] | None
    attributes: frozenset[str]
    edges: int = 0


def registration(value: bytes | None, stream: StreamName, unit: TimeUnit) -> Registration | None:
    """Return what a registration asks of the stream; None if it is deleted, unreadable or on other streams."""
    reads = control.registered_reads(value)
    if reads is None or stream not in reads.streams:
        return None
    labels = None if reads.labels is None else frozenset(reads.labels)
    return Registration(reads.lookback.ticks(unit), labels, frozenset(reads.attributes), reads.lookback.edges)


@lru_cache(maxsize=64)
def statement_of(record: bytes | None, tables: str | None = None) -> Statement | None:
    """Return the statement that a record of it has; None of none. A statement is read once in a process.

    `tables` is the folder of the tables that statements join.

    Raises:
        PoisonRecordError: it is another's record.
    """
    if record is None:
        return None
    found = decode_json(record, StatementRecord, "statement of a stream")
    return Statement(found, StatementSurroundings(tables=tables_in(tables)))


def last_statement(records: Iterable[Record], stream: StreamName) -> bytes | None:
    """Return the record of the last version of a stream's statement among these; None if there is none.

    Records of versions stay when the topic is compacted, so the same offsets have the same last version at any time. One that
    cannot be read counts as none, as in ingestion.
    """
    found: tuple[int, bytes | None] = (0, None)
    for record in records:
        name, version = stream_of_key(record.key)
        if name != stream or version is None or version <= found[0] or record.value is None:
            continue
        with suppress(PoisonRecordError):
            found = decode_statement(record.key, record.value).version, record.value
    return found[1]


def division_of(statement: Statement | None) -> Division | None:
    """Return how a statement divides its stream; None if it does not, or there is none."""
    return None if statement is None else statement.division


def ordered_names(stream: StreamName, division: Division | None) -> tuple[StreamName, ...]:
    """Return what is put in order: the parts of a stream, or the stream as a whole."""
    return (stream,) if division is None else parts_of(stream, division.parts)


def longest_window(registrations: Mapping[str, Registration]) -> int:
    """Return the ticks of the longest window; 0 without patterns."""
    return max((each.window for each in registrations.values()), default=0)


def counted_window(registrations: Mapping[str, Registration], most: int) -> int:
    """Return the ticks of the window to be counted: the longest, or the most where all patterns count edges."""
    return longest_window(registrations) or (most if most_edges(registrations) else 0)


def most_edges(registrations: Mapping[str, Registration]) -> int:
    """Return the most edges that a pattern counts; 0 where none does."""
    return max((each.edges for each in registrations.values()), default=0)


def used_labels(registrations: Iterable[Registration]) -> frozenset[str] | None:
    """Return the labels that patterns use; None for all."""
    found: frozenset[str] = frozenset()
    for each in registrations:
        if each.labels is None:
            return None
        found |= each.labels
    return found


def used_attributes(registrations: Iterable[Registration]) -> frozenset[str]:
    """Return the attributes that patterns read."""
    return frozenset().union(*(each.attributes for each in registrations))
