"""The views that a host runs, each with its stream: their results are written as edges, too.

Invariant: a view's stream is read from the log after the view was given to this host, before anything is written to it here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_log.registered_lookbacks import RegisteredLookbacks
from graphtide_ordering.dead_letters import letter
from graphtide_ordering.faults import reason_of
from graphtide_ordering.heartbeats import DEFAULT_HEARTBEAT_SECONDS
from graphtide_ordering.raw_decoding import Refused
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.ordered import ARROW_STREAM
from graphtide_wire.topics import MOST_ORDERED_BYTES

from graphtide_matcher_host.faults import PlanFaultError
from graphtide_matcher_host.view_stream import ViewLookback, ViewStream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ids import PatternName
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, Message
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_wire.ordered import OrderedHeader
    from graphtide_wire.topics import Topics

    from graphtide_matcher_host.assignment import Assignment


_TOO_LARGE: Final = f"the edge takes more than the {MOST_ORDERED_BYTES} bytes of an ordered record"


class Views:
    """The views of a host. Cost of a record: O(matches), and once a second the views of its stream."""

    def __init__(self, log: Log, topics: Topics, reader: LogReader, clock: Clock) -> None:
        """Start without views; `reader` is for looking at what is written, and must not be used elsewhere meanwhile."""
        self._log = log
        self._topics = topics
        self._reader = reader
        self._clock = clock
        self._lookbacks: RegisteredLookbacks | None = None
        self._running: dict[StreamName, dict[PatternName, Assignment]] = {}
        self._streams: dict[PatternName, ViewStream] = {}
        self._passed_at: dict[StreamName, float] = {}
        self._epochs: dict[StreamName, int] = {}

    def begin(self, assignment: Assignment) -> None:
        """Take a plan that runs from now on, if it is that of a view.

        Raises:
            TransientError: the log does not answer.
        """
        if not assignment.plan.pattern.is_view:
            return
        self._running.setdefault(assignment.stream, {})[assignment.name] = assignment
        self._streams.pop(assignment.name, None)
        self._log.admin().ensure(self._topics.of_view(StreamName(assignment.name)))
        if self._lookbacks is None:
            self._lookbacks = RegisteredLookbacks(self._log, self._topics.patterns)

    def end(self, name: PatternName) -> None:
        """Release a view, if it is one: another host may write its stream."""
        self._streams.pop(name, None)
        for views in self._running.values():
            views.pop(name, None)

    def poll(self) -> None:
        """Learn the readers of the streams; call it where all that was written is committed."""
        if self._lookbacks is None:
            return
        self._lookbacks.poll()
        for views in self._running.values():
            for name, view in views.items():
                known, longest = self._streams.get(name), self._longest(view)
                if known is not None and (longest.ticks > known.lookback.ticks or longest.edges > known.lookback.edges):
                    del self._streams[name]

    def emit(self, stream: StreamName, header: OrderedHeader, matches: Sequence[EncodedMatch], now: float) -> list[Message]:
        """Return the edges of these matches, for a record of a stream with this header; or a heartbeat.

        Raises:
            TransientError: the log does not answer.
            PlanFaultError: an edge of a view cannot be written.
        """
        views = self._running.get(stream)
        if not views:
            return []
        emitted: dict[PatternName, list[EncodedMatch]] = {}
        for match in matches:
            if match.pattern.name in views:
                emitted.setdefault(match.pattern.name, []).append(match)
        messages = [each for name, own in emitted.items() for each in self._emitted(views[name], header, own)]
        is_new = self._epochs.get(stream) != header.epoch
        if is_new or now - self._passed_at.get(stream, -math.inf) >= DEFAULT_HEARTBEAT_SECONDS:
            self._passed_at[stream], self._epochs[stream] = now, header.epoch
            messages += [each for view in views.values() for each in self._stream(view).pass_time(header)]
        return messages

    def _emitted(self, view: Assignment, header: OrderedHeader, matches: Sequence[EncodedMatch]) -> list[Message]:
        written = self._stream(view)
        try:
            messages = written.emit(header, matches)
        except Exception as error:
            raise PlanFaultError(view.name, reason_of(error)) from error
        too_large, written.too_large = written.too_large, []
        topic = self._topics.dead_letters(StreamName(view.name))
        refused = (Refused(ErrorCode.TOO_LARGE, _TOO_LARGE, edge) for edge in too_large)
        return messages + [letter(topic, each, self._clock, content_type=ARROW_STREAM) for each in refused]

    def close(self) -> None:
        """Close what it opened."""
        if self._lookbacks is not None:
            self._lookbacks.close()

    def _stream(self, view: Assignment) -> ViewStream:
        if view.name not in self._streams:
            place = TopicPartition(self._topics.ordered(StreamName(view.name)), 0)
            self._streams[view.name] = ViewStream.read(self._reader, place, view.unit, self._longest(view))
        return self._streams[view.name]

    def _longest(self, view: Assignment) -> ViewLookback:
        ticks, edges = (0, 0) if self._lookbacks is None else self._lookbacks.longest(StreamName(view.name), view.unit)
        return ViewLookback(max(ticks, view.window), edges)
