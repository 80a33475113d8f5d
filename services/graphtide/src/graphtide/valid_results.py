"""A sink that keeps the results of streaming graph queries which are valid at an instant, and writes them at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_native.results_at import ResultsAt

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
        self._valid = ResultsAt(at)

    def take(self, matches: MatchBatch) -> None:
        """Take reports of results; those after the instant count for nothing."""
        self._valid.take(matches)

    def write(self) -> int:
        """Write the results, one record a line; return how many they are."""
        found = self._valid.results()
        if found is None:
            return 0
        for lines, _ in found.json_lines():
            self._sink.write(lines)
        return len(found)

    def flush(self) -> None:
        """Hand on what was written."""
        self._sink.flush()
