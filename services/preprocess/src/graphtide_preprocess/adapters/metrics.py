"""What batches tell of themselves, as metrics of OpenTelemetry; the one list of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry import metrics
from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

BATCH_SECONDS: Final = "graphtide.preprocess.batch.duration"
"""Seconds from a batch's planning to its commit, by query."""

STATE_BYTES: Final = "graphtide.preprocess.state.memory"
"""Bytes of memory that the state store takes, by query."""

STATE_ROWS: Final = "graphtide.preprocess.state.rows"
"""Entries in the state store, by query."""

FAILURES: Final = "graphtide.preprocess.query.failures"
"""Queries that ended by an error, by query."""


class BatchMetrics(StreamingQueryListener):
    """Records every batch."""

    def __init__(self) -> None:
        """Make the instruments."""
        meter = metrics.get_meter("graphtide.preprocess")
        self._seconds = meter.create_histogram(BATCH_SECONDS, unit="s")
        self._bytes = meter.create_gauge(STATE_BYTES, unit="By")
        self._rows = meter.create_gauge(STATE_ROWS, unit="1")
        self._failures = meter.create_counter(FAILURES, unit="1")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Record a batch."""
        progress = event.progress
        query = {"query": progress.name or ""}
        self._seconds.record(progress.durationMs.get("triggerExecution", 0) / 1000, query)
        for operator in progress.stateOperators:
            self._bytes.set(operator.memoryUsedBytes, query)
            self._rows.set(operator.numRowsTotal, query)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Count a failure."""
        if event.exception is not None:
            self._failures.add(1)
