"""Metrics of a host: edges and matches as they are committed, and the state of its plans and streams."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from graphtide_core.merged_streams import whole_of
from graphtide_log.lag import Lag
from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import Gauges, add

from graphtide_matcher_host.assignment import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.match import MatchKind
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Record
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_native.reports import PatternReport
    from graphtide_telemetry.instruments import Observed

    from graphtide_matcher_host.assignment import PlanStatus
    from graphtide_matcher_host.stream_work import StreamWork


class HostMetrics:
    """The metrics of one host.

    What a transaction brings is counted when it is committed; one that fails counts nothing.
    """

    def __init__(self, worker: str, clock: Clock) -> None:
        """Report nothing before `follow`."""
        self._worker = worker
        self._clock = clock
        self._gauges = Gauges()
        self._lags: dict[StreamName, Lag] = {}
        self._edges: Counter[StreamName] = Counter()
        self._matches: Counter[tuple[PatternName, MatchKind]] = Counter()

    def follow(
        self,
        plan_statuses: Mapping[PatternName, PlanStatus],
        reports: Mapping[PatternName, PatternReport],
        works: Mapping[StreamName, StreamWork],
    ) -> None:
        """Report the state of these from now on; the host changes them as it goes."""
        self.close()
        self._gauges.add(metrics.PLANS, lambda: _by_state(plan_statuses))
        self._gauges.add(metrics.PARTIAL_MATCHES, lambda: _of_running(plan_statuses, reports, lambda of: of.partial_matches))
        self._gauges.add(metrics.STATE_SIZE, lambda: _of_running(plan_statuses, reports, lambda of: of.state_bytes))
        self._gauges.add(metrics.CHECKPOINT_AGE, lambda: self._ages(works))
        self._gauges.add(metrics.LAG, lambda: [each for lag in list(self._lags.values()) for each in lag.observed()])

    def polled(self, newest: Mapping[StreamName, Record], streams: Iterable[StreamName]) -> None:
        """Take note of a round: the last record that was read of each stream, and the streams that are read."""
        now = self._clock.now()
        for stream in streams:
            lag = self._lags.setdefault(stream, Lag({key.WORKER: self._worker, key.STREAM: stream}))
            lag.polled([newest[stream]] if stream in newest else [], now)

    def lag_seconds(self, stream: StreamName) -> float:
        """Return how old the last record of a stream was when it was read; 0 at the end of the log."""
        lag = self._lags.get(stream)
        return lag.seconds if lag is not None else 0.0

    def matched(self, stream: StreamName, edges: int) -> None:
        """Take note of edges that were matched in the transaction under way."""
        self._edges[stream] += edges

    def reported(self, matches: Sequence[EncodedMatch]) -> None:
        """Take note of matches in the transaction under way."""
        self._matches.update((whole_of(match.pattern.name), match.kind) for match in matches)

    def committed(self) -> None:
        """Count what the transaction brought."""
        for stream, edges in self._edges.items():
            add(metrics.MATCHED_EDGES, edges, {key.STREAM: stream})
        for (pattern, kind), matches in self._matches.items():
            add(metrics.MATCHES, matches, {key.PATTERN: pattern, key.MATCH_KIND: kind.value})
        self._edges.clear()
        self._matches.clear()

    def close(self) -> None:
        """Report nothing more, and drop what was not committed."""
        self._gauges.close()
        self._lags.clear()
        self._edges.clear()
        self._matches.clear()

    def _ages(self, works: Mapping[StreamName, StreamWork]) -> Iterator[Observed]:
        now = self._clock.monotonic()
        for stream, work in list(works.items()):
            if work.covered_at is not None:
                yield now - work.covered_at, {key.STREAM: stream}


def _by_state(plan_statuses: Mapping[PatternName, PlanStatus]) -> Iterator[Observed]:
    for state, plans in Counter(each.state for each in list(plan_statuses.values())).items():
        yield plans, {key.STATE: state.value}


def _of_running(
    plan_statuses: Mapping[PatternName, PlanStatus],
    reports: Mapping[PatternName, PatternReport],
    count: Callable[[PatternReport], int],
) -> Iterator[Observed]:
    for name, report in list(reports.items()):
        plan_status = plan_statuses.get(name)
        if plan_status is not None and plan_status.state is State.RUNNING:
            yield count(report), {key.PATTERN: name}
