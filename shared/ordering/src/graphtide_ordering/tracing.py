"""Traces on their way through the sequencer: a span for a transaction with traced edges, and where each edge continues from."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphtide_telemetry import attributes as key
from graphtide_telemetry import spans
from graphtide_telemetry.tracing import context_of, of_messaging, span, traceparent_of
from graphtide_wire.ordered import TracedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_native.records import EdgeBatch

    from graphtide_ordering.ordered_records import GoingOut
    from graphtide_ordering.traces import Traces


@dataclass(frozen=True, slots=True)
class Onward:
    """Trace fields of ordered records.

    Attributes:
        traceparent: the span of the transaction; None where no edge of it is traced.
        traces: of the stream.
    """

    traceparent: str | None = None
    traces: Traces | None = None

    def rows(self, batch: EdgeBatch) -> list[TracedRows]:
        """Return which edges are traced, and from where: the transaction's span where it is in their trace, else their own."""
        if self.traceparent is None or self.traces is None:
            return []
        found: list[TracedRows] = []
        for run in self.traces.runs(batch.ordinals):
            origin = _later(self.traceparent, run.record.traceparent)
            before = found[-1] if found else None
            if before is not None and before.traceparent == origin and before.first + before.rows == run.row:
                found[-1] = TracedRows(before.first, before.rows + run.rows, origin)
            else:
                found.append(TracedRows(run.row, run.rows, origin))
        return found


def _later(together: str, own: str) -> str:
    """Return the transaction's span where an edge is in its trace, else the edge's own."""
    return together if together.split("-")[1] == own.split("-")[1] else own


@contextmanager
def sequencing(topic: str, stream: str, output: GoingOut[Any], traces: Traces) -> Iterator[Onward]:
    """Make a span around a transaction, if traced edges go out by it: in the trace of the newest, linked to all.

    Args:
        topic: that they come from.
        stream: its name.
        output: what goes out.
        traces: of the stream.
    """
    contexts = [found for each in traces.among(output.batches) if (found := context_of(each.traceparent)) is not None]
    if not contexts:
        yield Onward()
        return
    attributes = of_messaging(spans.SEQUENCE, topic) | {
        key.MESSAGING_BATCH: output.records,
        key.EDGES: output.edges,
        key.STREAM: stream,
    }
    with span(spans.SEQUENCE, topic, attributes, parent=contexts[-1], links=contexts) as made:
        yield Onward(traceparent_of(made.get_span_context()), traces)
