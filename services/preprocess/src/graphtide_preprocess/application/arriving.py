"""Raw records of a micro-batch as the sequencer takes them: decoded, block by block, in the order of their arrival.

There are two ways. Other tasks read and decode the records, and packed blocks come from them. Or the task that orders the
records reads them itself, and nothing is packed. Both give the same edges with the same ids, and each gives the same when the
micro-batch is taken again. Blocks are made one by one, so one of them is in memory beside what waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from graphtide_ordering.raw_groups import group_records

from graphtide_preprocess.application.kept import KeptWaiting
from graphtide_preprocess.domain.arrival import merge_by_arrival

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from graphtide_core.ports.log import Record
    from graphtide_ordering.raw_decoding import Decoded, RawDecoder
    from graphtide_ordering.statements import Statement

_MOST_RECORDS: Final = 1_024
"""Records that are grouped at once: those of several partitions alternate by groups."""


@dataclass(frozen=True, slots=True)
class DecodedBlock:
    """Records of a partition that follow each other, decoded with the columns and the ordinals of the stream.

    Attributes:
        partition: where they stood.
        timestamp: the log's time of the first record, in milliseconds.
        decoded: what they hold.
        newest: the greatest time in them; None if they have no edge.
        keep: returns the form in which they wait for the next micro-batch.
    """

    partition: int
    timestamp: int
    decoded: Decoded
    newest: int | None
    keep: Callable[[], KeptWaiting]


def decode_in_order(
    decoder: RawDecoder,
    statement: Statement | None,
    records: Mapping[int, Iterable[Record]],
    ordinal_of: Callable[[int], int],
) -> Iterator[DecodedBlock]:
    """Decode the records of partitions, and yield their blocks in the order of arrival.

    `ordinal_of` returns the ordinal of the next edge of a partition; it is asked once for each.
    """
    found = statement if statement is not None and not statement.is_removed else None
    return merge_by_arrival(_decode(decoder, found, ordinal_of(partition), each) for partition, each in sorted(records.items()))


def _decode(
    decoder: RawDecoder, statement: Statement | None, ordinal: int, records: Iterable[Record]
) -> Iterator[DecodedBlock]:
    """Yield the blocks of one partition, whose first edge has this ordinal."""
    given = iter(records)
    while held := list(islice(given, _MOST_RECORDS)):
        for group in group_records(held):
            decoded = decoder.decode(group, ordinal, statement)
            first = decoded.pieces[0].record
            ordinal += sum(piece.ordinals for piece in decoded.pieces)
            newest = max((piece.newest for piece in decoded.pieces if piece.newest is not None), default=None)
            yield DecodedBlock(first.partition, first.timestamp, decoded, newest, _defer_packing(decoded))


def _defer_packing(decoded: Decoded) -> Callable[[], KeptWaiting]:
    # A packed batch has its ordinals, so it is read again from 0 on.
    return lambda: KeptWaiting(0, b"" if decoded.edges is None else decoded.edges.pack())
