"""Metrics of a divider: edges by outcome, and how far it is behind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from graphtide_log.lag import Lag
from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import Gauges, add

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_ordering.stream_divider import DividedRecords


class DividerMetrics:
    """The metrics of one stream's divider."""

    def __init__(self, worker: str, stream: StreamName) -> None:
        """Report nothing before `follow`."""
        self._of = {key.STREAM: str(stream)}
        self._lag = Lag({key.WORKER: worker, key.STREAM: str(stream)})
        self._gauges = Gauges()

    def follow(self) -> None:
        """Report from now on."""
        self._gauges.close()
        self._gauges.add(metrics.LAG, self._lag.observed)

    def polled(self, records: Sequence[Record], now: datetime) -> None:
        """Take note of what a round read."""
        self._lag.polled(records, now)

    def committed(self, divided: DividedRecords) -> None:
        """Count what a transaction of the divider let out."""
        outcomes = Counter(each.refused.code.value for each in divided.rejected)
        outcomes += Counter({"read": divided.read, "filtered": divided.filtered})
        for outcome, edges in outcomes.items():
            add(metrics.SEQUENCED_EDGES, edges, {**self._of, key.OUTCOME: outcome})

    def close(self) -> None:
        """Report nothing more."""
        self._gauges.close()
