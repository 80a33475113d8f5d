"""Metrics of batches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import add, observe, record
from pyspark.sql.streaming.listener import StreamingQueryListener

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.application.measured import Measured

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
        self._last: dict[str, Measured] = {}
        observe(metrics.PENDING_EDGES, self._pending)
        observe(metrics.WATERMARK_LAG, self._lag)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Take note of a batch."""
        progress = event.progress
        query = progress.name or ""
        record(metrics.BATCH_DURATION, progress.durationMs.get("triggerExecution", 0) / 1000, {key.WORKER: query})
        found = progress.observedMetrics.get(rows.MEASURED)
        if found is not None and found.measured is not None:
            for each in found.measured:
                self._measured(msgspec.json.decode(each, type=Measured))
        for operator in progress.stateOperators:
            self._states[metrics.BATCH_STATE_SIZE][query] = operator.memoryUsedBytes
            self._states[metrics.BATCH_STATE_ENTRIES][query] = operator.numRowsTotal

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing: the worker's loop reports failures."""

    def _measured(self, measured: Measured) -> None:
        of = {key.STREAM: measured.stream}
        add(metrics.BATCH_RECORDS, measured.records, of)
        if measured.is_rebuilt:
            add(metrics.BATCH_STATE_REBUILT, 1, of)
        for outcome, edges in measured.outcomes.items():
            add(metrics.SEQUENCED_EDGES, edges, {**of, key.OUTCOME: outcome})
        for stage, seconds in measured.seconds.items():
            record(metrics.BATCH_STAGE_DURATION, seconds, {**of, key.STAGE: stage})
        self._last[measured.stream] = measured

    def _pending(self) -> Iterator[Observed]:
        for stream, measured in list(self._last.items()):
            yield measured.pending, {key.STREAM: stream}

    def _lag(self) -> Iterator[Observed]:
        for stream, measured in list(self._last.items()):
            if measured.lag is not None:
                yield measured.lag, {key.STREAM: stream}

    def _observed(self, metric: Metric) -> Iterator[Observed]:
        for query, value in list(self._states[metric].items()):
            yield value, {key.WORKER: query}
