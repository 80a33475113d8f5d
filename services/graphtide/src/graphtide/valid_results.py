"""A sink that keeps the results of streaming graph queries which are valid at an instant, and writes them at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.match import IntervalMatch
from graphtide_core.valid_results import ValidResults

if TYPE_CHECKING:
    from graphtide_core.ports.match_sink import MatchSink
    from graphtide_core.time import EventTime
    from graphtide_native.match_batch import MatchBatch


class ValidResultsSink:
    """Takes results as they are reported; at the end, writes those that are valid at an instant."""

    def __init__(self, at: EventTime, sink: MatchSink) -> None:
        """Prepare for an instant; `sink` is where the records of its results go."""
        self.at = at
        self._sink = sink
        self._valid = ValidResults(at)

    def take(self, matches: MatchBatch) -> None:
        """Take reports of results; those after the instant count for nothing."""
        for found in matches:
            if isinstance(found, IntervalMatch):
                self._valid.take(found)

    def write(self) -> int:
        """Write the results, one record a line; return how many they are."""
        lines = [each.to_json().encode() + b"\n" for each in self._valid.results()]
        self._sink.write(b"".join(lines))
        return len(lines)

    def flush(self) -> None:
        """Hand on what was written."""
        self._sink.flush()
