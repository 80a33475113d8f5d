"""Statistics of a stream as the planner reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.statistics import drift
from graphtide_wire import statistics
from graphtide_wire.statistics import StatisticsRecord

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.statistics.snapshot import StatisticsSnapshot


def following(stream: StreamName, snapshot: StatisticsSnapshot, last: bytes | None) -> bytes:
    """Return the record of a snapshot that follows the one published last, if there was one."""
    if last is None:
        return statistics.encode_statistics(StatisticsRecord(stream, 1, snapshot))
    before = statistics.decode_statistics(last)
    change = drift(before.snapshot, snapshot)
    moved = max(change.order, change.path_order)
    return statistics.encode_statistics(StatisticsRecord(stream, before.snapshot_version + 1, snapshot, moved))
