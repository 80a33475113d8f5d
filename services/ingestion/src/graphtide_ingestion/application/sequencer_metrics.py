"""Metrics of a sequencer: edges by outcome, what waits, and how far it is behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from graphtide_log.lag import Lag
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.health import note
from graphtide_telemetry.instruments import Gauges, add

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_core.time import TimeUnit
    from graphtide_ordering.sequencer_output import SequencerOutput
    from graphtide_ordering.stream_sequencer import StreamSequencer
    from graphtide_telemetry.instruments import Observed

_LOG = structlog.get_logger()


class SequencerMetrics:
    """The metrics of one stream's sequencer."""

    def __init__(self, worker: str, stream: StreamName, unit: TimeUnit) -> None:
        """Report nothing before `follow`."""
        self._of = {key.STREAM: str(stream)}
        self._ticks_per_second = 1_000_000_000 / unit.nanoseconds
        self._lag = Lag({key.WORKER: worker, key.STREAM: str(stream)})
        self._gauges = Gauges()
        self._stream = str(stream)
        self._is_full = False

    def follow(self, sequencer: StreamSequencer) -> None:
        """Report the state of this sequencer, and no other."""
        self._gauges.close()
        note(sequencer.stream_progress.note(self._stream))
        self._gauges.add(metrics.PENDING_EDGES, lambda: [(sequencer.pending, self._of)])
        self._gauges.add(metrics.WATERMARK_LAG, lambda: self._watermark_lag(sequencer))
        self._gauges.add(metrics.LAG, self._lag.observed)

    def polled(self, records: Sequence[Record], now: datetime) -> None:
        """Take note of what a round read."""
        self._lag.polled(records, now)

    def committed(self, sequencer: StreamSequencer, output: SequencerOutput, packed: int, too_large: int) -> None:
        """Count what a transaction of the sequencer let out."""
        for outcome, edges in output.outcomes(packed, too_large).items():
            add(metrics.SEQUENCED_EDGES, edges, {**self._of, key.OUTCOME: outcome})
        self._left_out(output, sequencer.stream_progress.left_out)
        note(sequencer.stream_progress.note(self._stream))

    def _left_out(self, output: SequencerOutput, lately: int) -> None:
        """Count names that were left out, and log it once for each list of attributes that is full."""
        if output.left_out:
            add(metrics.ATTRIBUTES_LEFT_OUT, output.left_out, self._of)
        if lately and not self._is_full:
            _LOG.warning(events.ATTRIBUTES_LEFT_OUT, stream=self._stream, most=MOST_ATTRIBUTES, names=lately)
        self._is_full = lately > 0

    def close(self) -> None:
        """Report nothing more."""
        self._gauges.close()

    def _watermark_lag(self, sequencer: StreamSequencer) -> Iterator[Observed]:
        if sequencer.newest is not None and sequencer.watermark is not None:
            yield max(0, sequencer.newest - sequencer.watermark) / self._ticks_per_second, self._of
