"""Traces on their way through a host: a span for a record with traced edges, and one for each match that such an edge ends.

The headers of an ordered record say which of its edges are traced, so a record without costs nothing.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.merged_streams import whole_of
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics, spans
from graphtide_telemetry.instruments import add
from graphtide_telemetry.tracing import context_of, of_messaging, sampled_now, span, traceparent_of
from graphtide_wire.matches import participants

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_wire.ordered import OrderedHeader
    from opentelemetry.trace import SpanContext

_LOG = structlog.get_logger()

MOST_SPANS: Final = 100
"""Most spans of matches for one ordered record; further matches carry the span of the edge that ended them."""


def matching(record: Record, header: OrderedHeader, stream: StreamName) -> AbstractContextManager[None]:
    """Make a span around the work on an ordered record, if edges in it are traced."""
    return _matching(record, header, stream) if header.traces else nullcontext()


def traceparents(record: Record, header: OrderedHeader, matches: Sequence[EncodedMatch], topic: str) -> list[str | None]:
    """Return, for each match of an ordered record, the span that the match's record carries.

    A match is in the trace of the edge or event that ended it. A result of a graph query that names no edge is in that of the
    last edge of the instant when it was detected. Where edges of the record are traced, this costs O(edges of the record).
    Tracing never stops a match: where it fails, the matches carry no trace, and the fault is logged and counted.
    """
    if not header.traces or not matches:
        return [None] * len(matches)
    try:
        return list(_traceparents(record, header, matches, topic))
    except Exception as error:
        _LOG.exception(events.TRACING_FAILED, topic=record.topic, offset=record.offset, error=repr(error))
        add(metrics.RECORD_FAULTS, 1, {key.WORKER: record.topic, key.OUTCOME: "tracing"})
        return [None] * len(matches)


def _traceparents(record: Record, header: OrderedHeader, matches: Sequence[EncodedMatch], topic: str) -> Iterator[str | None]:
    traced = header.traces
    batch = ArrowDecoder(Symbols(), [], {}).decode(record.value or b"")
    rows: dict[str, int] = {}
    instants: dict[int, int] = {}
    for row, each in enumerate(batch.to_records()):
        rows[each["id"]] = instants[each["ts"]] = row
    for number, match in enumerate(matches):
        named = participants(match.json)
        ids = chain.from_iterable([each] if isinstance(each, str) else each for each in named.values())
        last = max((rows[id] for id in ids if id in rows), default=-1)
        if not named:
            last = instants.get(match.detected_at, -1)
        origin = context_of(next((run.traceparent for run in traced if run.first <= last < run.first + run.rows), None))
        if origin is None or number >= MOST_SPANS:
            yield None if origin is None else traceparent_of(origin)
        else:
            yield _start_span(origin, match, topic)


@contextmanager
def _matching(record: Record, header: OrderedHeader, stream: StreamName) -> Iterator[None]:
    attributes = of_messaging(spans.MATCH, record.topic) | {key.EDGES: header.records, key.STREAM: stream}
    with span(spans.MATCH, record.topic, attributes, parent=context_of(header.traceparent)):
        yield


def _start_span(origin: SpanContext, match: EncodedMatch, topic: str) -> str:
    """Make the span of a match: below the record's span where that is in the same trace, else linked to it."""
    around = sampled_now()
    is_same = around is not None and around.trace_id == origin.trace_id
    attributes = of_messaging(spans.REPORT, topic) | {
        key.PATTERN: whole_of(match.pattern.name),
        key.MATCH_ID: match.match_id,
        key.MATCH_KIND: match.kind.value,
    }
    links = () if around is None or is_same else (around,)
    with span(spans.REPORT, topic, attributes, parent=around if is_same else origin, links=links) as made:
        return traceparent_of(made.get_span_context())
