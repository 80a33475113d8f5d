"""The order of arrival of blocks of several partitions, by the log's times; each partition keeps its own.

The same blocks always have the same order, however they came. Cost: O(blocks log partitions).
"""

from __future__ import annotations

import heapq
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_preprocess.domain.blocks import Block


def in_order_of_arrival(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks in their order."""
    partitions: dict[int, list[Block]] = {}
    for block in sorted(blocks, key=lambda block: (block.partition, block.head.offsets[0])):
        partitions.setdefault(block.partition, []).append(block)
    merged = heapq.merge(*(_add_times(found) for found in partitions.values()), key=lambda timed: timed[:2])
    return [block for _, _, block in merged]


def _add_times(blocks: list[Block]) -> Iterator[tuple[int, int, Block]]:
    """Yield the blocks of a partition with times that do not go back."""
    times = accumulate((block.head.timestamp for block in blocks), max)
    return ((time, block.partition, block) for time, block in zip(times, blocks, strict=True))
