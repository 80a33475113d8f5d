"""Alerts on the registry's metrics. The chart makes its `PrometheusRule` of them, the documentation its table.

Each has a page in `docs/runbooks`.
"""

from __future__ import annotations

from typing import Final

from graphtide_telemetry import metrics
from graphtide_telemetry.exposed import list_series
from graphtide_telemetry.names import Alert, Metric


def _series(metric: Metric) -> str:
    """Return the series that expressions ask for: that of a metric, for a histogram its count."""
    return list_series(metric)[-1]


_EDGES: Final = f"sum by (graphtide_stream) (rate({_series(metrics.SEQUENCED_EDGES)}{{%HERE%, graphtide_outcome"
_REQUESTS: Final = f"sum by (service) (rate({_series(metrics.REQUEST_DURATION)}{{%HTTP%"
_SEQUENCERS: Final = f"{_series(metrics.SEQUENCERS)}{{%SEQUENCER%}}"

SERVICE_DOWN = Alert(
    "GraphtideServiceDown",
    "critical",
    5,
    "up{%HERE%} == 0",
    (),
    "Prometheus cannot read the metrics of a process",
    "{{ $labels.pod }} does not report its health",
    "Prometheus has had no metrics of {{ $labels.pod }} ({{ $labels.service }}) for five minutes.",
)
WORKER_FAILS = Alert(
    "GraphtideWorkerFails",
    "warning",
    10,
    f"increase({_series(metrics.WORKER_FAILURES)}{{%HERE%}}[15m]) > 5",
    (metrics.WORKER_FAILURES,),
    "a worker was opened again more than five times in 15 minutes",
    "{{ $labels.graphtide_worker }} fails again and again",
    'A worker of {{ $labels.pod }} was opened again {{ $value | printf "%.0f" }} times in 15 minutes.',
)
READER_BEHIND = Alert(
    "GraphtideReaderBehind",
    "warning",
    5,
    f"{_series(metrics.LAG)}{{%HERE%}} > %THRESHOLD%",
    (metrics.LAG,),
    "what a reader of a stream reads is older than so many seconds",
    "{{ $labels.graphtide_worker }} is behind on {{ $labels.graphtide_stream }}",
    'What it reads is {{ $value | printf "%.0f" }} s old.',
    threshold="lagSeconds",
)
CHECKPOINT_OLD = Alert(
    "GraphtideCheckpointOld",
    "warning",
    5,
    f"{_series(metrics.CHECKPOINT_AGE)}{{%HERE%}} > %THRESHOLD%",
    (metrics.CHECKPOINT_AGE,),
    "the last checkpoint of a shard is older than so many seconds",
    "{{ $labels.pod }} has saved no checkpoint of {{ $labels.graphtide_stream }}",
    'The last one is {{ $value | printf "%.0f" }} s old: should the shard end now, it reads as much again.',
    threshold="checkpointSeconds",
    needs="matchers",
)
NO_SEQUENCER = Alert(
    "GraphtideNoSequencer",
    "critical",
    5,
    f"sum({_SEQUENCERS}) == 0 or absent({_SEQUENCERS})",
    (metrics.SEQUENCERS,),
    "no stream is put in order",
    "no stream is put in order",
    "Edges are kept, but matchers get none of them.",
    needs="sequencer",
)
WATERMARK_BEHIND = Alert(
    "GraphtideWatermarkBehind",
    "warning",
    10,
    f"{_series(metrics.WATERMARK_LAG)}{{%HERE%}} > %THRESHOLD%",
    (metrics.WATERMARK_LAG,),
    "the watermark is so many seconds behind the newest edge",
    "the watermark of {{ $labels.graphtide_stream }} does not follow",
    'It is {{ $value | printf "%.0f" }} s behind the newest edge, in the stream\'s own time.',
    threshold="watermarkSeconds",
)
DEAD_LETTERS = Alert(
    "GraphtideDeadLetters",
    "warning",
    10,
    f'{_EDGES}!~"read|ordered|duplicate|replaced|filtered"}}[10m])) / {_EDGES}="read"}}[10m])) > %THRESHOLD%',
    (metrics.SEQUENCED_EDGES,),
    "more than this share of a stream's edges became dead letters in ten minutes",
    "edges of {{ $labels.graphtide_stream }} become dead letters",
    "{{ $value | humanizePercentage }} of them could not be used in the last ten minutes.",
    threshold="deadLetterShare",
)
PATTERN_FAILED = Alert(
    "GraphtidePatternFailed",
    "warning",
    1,
    f'max({_series(metrics.PATTERNS)}{{%HERE%, graphtide_state="failed"}}) > 0',
    (metrics.PATTERNS,),
    "a pattern has failed",
    "{{ $value }} patterns have failed",
    "A pattern that failed reports nothing until it is resumed or changed.",
)
REQUESTS_FAIL = Alert(
    "GraphtideRequestsFail",
    "warning",
    10,
    f'{_REQUESTS}, http_response_status_code=~"5.."}}[10m])) / {_REQUESTS}}}[10m])) > %THRESHOLD%',
    (metrics.REQUEST_DURATION,),
    "more than this share of a service's requests ended in an error of its own in ten minutes",
    "requests to {{ $labels.service }} fail",
    "{{ $value | humanizePercentage }} of them ended in an error of the service in the last ten minutes.",
    threshold="errorShare",
)
REQUESTS_REFUSED = Alert(
    "GraphtideRequestsRefused",
    "warning",
    10,
    f"rate({_series(metrics.REFUSED_REQUESTS)}{{%HERE%}}[10m]) > 0",
    (metrics.REFUSED_REQUESTS,),
    "ingestion refused requests, since it held all that it may",
    "{{ $labels.pod }} takes less than senders have",
    'Senders are asked to retry: {{ $value | printf "%.2f" }} requests a second.',
)
