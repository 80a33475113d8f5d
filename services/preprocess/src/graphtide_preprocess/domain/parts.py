"""A block as records that the sequencer takes: as one, or its records apart."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.ports.log import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_runtime.sequencing.raw_decoding import Decoded

    from graphtide_preprocess.domain.blocks import Block


def record_of(block: Block) -> Record:
    """Return the place in the log that the block reaches to; what it held is decoded already."""
    return _record(block, block.head.offsets[-1])


def taken_apart(block: Block, decoded: Decoded, ordinal: int) -> Iterator[tuple[Record, Decoded]]:
    """Yield the records of a block of several, each with what it gave; `ordinal` is that of the first edge."""
    edges = decoded.edges
    ordinals = [] if edges is None else edges.ordinals
    for place, offset in enumerate(block.head.offsets):
        start, stop = bisect_left(ordinals, ordinal + place), bisect_left(ordinals, ordinal + place + 1)
        refused = tuple(each for each in decoded.refused if each.line == place + 1)
        part = None if edges is None else edges.part(start, stop)
        yield _record(block, offset), replace(decoded, edges=part, refused=refused, ordinals=1)


def _record(block: Block, offset: int) -> Record:
    return Record("", block.partition, offset, block.head.timestamp, None, None, ())
