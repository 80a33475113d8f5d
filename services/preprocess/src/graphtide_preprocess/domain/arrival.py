"""The order of arrival of blocks of several partitions, by the log's times; each partition keeps its own.

The same blocks always have the same order, however they came. Blocks are asked for one by one, so they may be made meanwhile.
Cost: O(blocks log partitions).
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_preprocess.domain.blocks import Block


class Arriving(Protocol):
    """A block of records of one partition."""

    @property
    def partition(self) -> int:
        """Where the records stood."""
        ...

    @property
    def timestamp(self) -> int:
        """The log's time of the first record, in milliseconds."""
        ...


_Arriving = TypeVar("_Arriving", bound=Arriving)


def in_order_of_arrival(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks in their order, given in any."""
    partitions: dict[int, list[Block]] = {}
    for block in sorted(blocks, key=lambda block: (block.partition, block.head.offsets[0])):
        partitions.setdefault(block.partition, []).append(block)
    return merge_by_arrival(partitions.values())


def merge_by_arrival(partitions: Iterable[Iterable[_Arriving]]) -> Iterator[_Arriving]:
    """Yield the blocks of partitions, each given in its own order, in the order of arrival."""
    merged = heapq.merge(*(_add_times(blocks) for blocks in partitions), key=lambda timed: timed[:2])
    return (block for _, _, block in merged)


def _add_times(blocks: Iterable[_Arriving]) -> Iterator[tuple[int, int, _Arriving]]:
    """Yield the blocks of a partition with times that do not go back."""
    latest = 0
    for block in blocks:
        latest = max(latest, block.timestamp)
        yield latest, block.partition, block
