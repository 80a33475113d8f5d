"""Statistics of the first records of a stream, for plans that cannot wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_native.statistics import StreamStatistics

if TYPE_CHECKING:
    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide_native.records import EdgeBatch, Symbols


MOST = 10_000
"""Records that are counted: with many labels the types of 2-edge paths grow with the square of it."""


def sample(batch: EdgeBatch, symbols: Symbols) -> StatisticsSnapshot:
    """Count the first records of a batch, decoded with these symbols. Complexity: about a fifth of a microsecond a record."""
    counted = StreamStatistics(symbols)
    counted.push(batch, most=MOST)
    return counted.snapshot()
