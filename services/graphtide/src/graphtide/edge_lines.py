"""A sink that writes results of graph queries as a stream of edges, one JSON object a line, which is read as any stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_native.edge_lines import EdgeLines

if TYPE_CHECKING:
    from graphtide_core.ports.match_sink import MatchSink
    from graphtide_native.match_batch import MatchBatch


class EdgeLinesSink:
    """Writes the edges of the results that it takes."""

    def __init__(self, sink: MatchSink) -> None:
        """Prepare; `sink` is where lines go."""
        self._sink = sink
        self._edges = EdgeLines()

    def take(self, matches: MatchBatch) -> None:
        """Write the edges of these results."""
        if lines := self._edges.of(matches):
            self._sink.write(lines)

    def flush(self) -> None:
        """Hand on what was written."""
        self._sink.flush()
