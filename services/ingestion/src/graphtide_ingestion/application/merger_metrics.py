"""Metrics of a merger: edges by outcome, what waits, and how far it is behind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from graphtide_log.lag import Lag
from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import Gauges, add
from graphtide_wire.dead_letters import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_core.time import TimeUnit
    from graphtide_ordering.merging.stream_merger import Merged, StreamMerger
    from graphtide_telemetry.instruments import Observed


class MergerMetrics:
    """The metrics of one merged stream."""

    def __init__(self, worker: str, stream: StreamName, unit: TimeUnit) -> None:
        """Report nothing before `follow`."""
        self._of = {key.STREAM: str(stream)}
        self._ticks_per_second = 1_000_000_000 / unit.nanoseconds
        self._lag = Lag({key.WORKER: worker, key.STREAM: str(stream)})
        self._gauges = Gauges()

    def follow(self, merger: StreamMerger) -> None:
        """Report the state of this merger, and no other."""
        self._gauges.close()
        self._gauges.add(metrics.PENDING_EDGES, lambda: [(merger.pending, self._of)])
        self._gauges.add(metrics.WATERMARK_LAG, lambda: self._watermark_lag(merger))
        self._gauges.add(metrics.LAG, self._lag.observed)

    def polled(self, records: Sequence[Record], now: datetime) -> None:
        """Take note of what a round read."""
        self._lag.polled(records, now)

    def committed(self, output: Merged, packed: int, too_large: int) -> None:
        """Count what a transaction let out."""
        outcomes = Counter({"read": output.edges, "ordered": packed, ErrorCode.TOO_LARGE.value: too_large})
        outcomes += Counter(each.refused.code.value for each in output.rejected)
        for outcome, edges in outcomes.items():
            add(metrics.SEQUENCED_EDGES, edges, {**self._of, key.OUTCOME: outcome})

    def close(self) -> None:
        """Report nothing more."""
        self._gauges.close()

    def _watermark_lag(self, merger: StreamMerger) -> Iterator[Observed]:
        if merger.newest is not None and merger.watermark is not None:
            yield max(0, merger.newest - merger.watermark) / self._ticks_per_second, self._of
