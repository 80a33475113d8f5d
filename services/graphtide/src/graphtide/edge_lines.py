"""Results of graph queries as a stream of edges, one JSON object a line, that is read again as any stream.

Cost: what it takes to make an object of each result, in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from graphtide_core.edge import Operation
from graphtide_core.result_edges import ResultEdges

if TYPE_CHECKING:
    from graphtide_core.edge import Edge
    from graphtide_core.ports.match_sink import MatchSink
    from graphtide_native.match_batch import MatchBatch


class EdgeLines:
    """Writes the edges of the results that it takes."""

    def __init__(self, sink: MatchSink) -> None:
        """Prepare; `sink` is where lines go."""
        self._sink = sink
        self._edges = ResultEdges()
        self._encoder = msgspec.json.Encoder()

    def take(self, matches: MatchBatch) -> None:
        """Write the edges of these results."""
        if lines := self._encoder.encode_lines([_record(edge) for edge in self._edges.of(matches)]):
            self._sink.write(lines)

    def flush(self) -> None:
        """Hand on what was written."""
        self._sink.flush()


def _record(edge: Edge) -> dict[str, Any]:
    if edge.operation is Operation.DELETE:
        return {"ts": edge.ts, "op": edge.operation.value, "id": edge.id}
    return {"ts": edge.ts, "src": edge.source, "dst": edge.target, "label": edge.label, "id": edge.id}
