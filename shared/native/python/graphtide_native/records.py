"""Records and what happens to them before matching: decoders, sequencer, duplicate filter.

The classes are the extension's own, handed on here as they are, because a wrapper would cost a call a batch and add nothing.
Their contracts are in the stub beside this file. What is added is the way from their tuples to the words of the domain.

The way of a stream, each step giving batches that the next one takes:
`CsvDecoder | JsonLinesDecoder | ArrowDecoder` → `Sequencer` → `Duplicates` → matcher. All of them release the GIL while they
work; none may be used by two threads at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.ports.dead_letter_sink import DeadLetter

from graphtide_native._native import (
    AddedFields,
    ArrowDecoder,
    CsvDecoder,
    Decoder,
    Duplicates,
    EdgeBatch,
    JsonLinesDecoder,
    OrderScan,
    RawBatchDecoder,
    Sequencer,
    StatementDecoder,
    Symbols,
    last_of_ascending,
)

if TYPE_CHECKING:
    from graphtide_core.time import TimeUnit

__all__ = [
    "SUBSTITUTE",
    "AddedFields",
    "ArrowDecoder",
    "CsvDecoder",
    "Decoder",
    "Duplicates",
    "EdgeBatch",
    "JsonLinesDecoder",
    "OrderScan",
    "RawBatchDecoder",
    "Sequencer",
    "StatementDecoder",
    "Symbols",
    "last_of_ascending",
    "take_dead_letters",
    "ticks_per_second",
]

SUBSTITUTE: Final = b"\x1a"
"""The line that stands for a record that was rejected before, for a decoder with `substitutes`."""

_NANOSECONDS_PER_SECOND = 1_000_000_000


def take_dead_letters(stage: Decoder | Sequencer) -> list[DeadLetter]:
    """Return what `stage` rejected since the last call, in the order of the stream."""
    return [DeadLetter(line, reason, raw) for line, reason, raw in stage.take_dead_letters()]


def ticks_per_second(unit: TimeUnit) -> int:
    """Return how many ticks of `unit` make a second, as `ArrowDecoder` wants it."""
    return _NANOSECONDS_PER_SECOND // unit.nanoseconds
