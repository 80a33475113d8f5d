"""Metrics of batches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import observe, record
from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_telemetry.instruments import Observed
    from graphtide_telemetry.names import Metric
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class BatchMetrics(StreamingQueryListener):
    """Reports every batch; a query has the name of its worker."""

    def __init__(self) -> None:
        """Report none."""
        self._states: dict[Metric, dict[str, int]] = {metrics.BATCH_STATE_SIZE: {}, metrics.BATCH_STATE_ENTRIES: {}}
        for metric in self._states:
            observe(metric, partial(self._observed, metric))

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Take note of a batch."""
        progress = event.progress
        query = progress.name or ""
        record(metrics.BATCH_DURATION, progress.durationMs.get("triggerExecution", 0) / 1000, {key.WORKER: query})
        for operator in progress.stateOperators:
            self._states[metrics.BATCH_STATE_SIZE][query] = operator.memoryUsedBytes
            self._states[metrics.BATCH_STATE_ENTRIES][query] = operator.numRowsTotal

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing: the worker's loop reports failures."""

    def _observed(self, metric: Metric) -> Iterator[Observed]:
        for query, value in list(self._states[metric].items()):
            yield value, {key.WORKER: query}
