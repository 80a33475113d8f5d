"""Spans, and the text that carries traces through records: `traceparent` (W3C Trace Context).

Where no trace is recorded in this process, a span has the context it was given, so a trace continues through services that
record nothing. Spans are made for traces that are sampled alone; the others cost nothing here.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from graphtide_wire.headers import TRACEPARENT_FORM
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, TraceFlags

from graphtide_telemetry import attributes as key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opentelemetry.trace import Span

    from graphtide_telemetry.names import Name, SpanName

TRACER: Final = "graphtide"
KINDS: Final = {
    "server": SpanKind.SERVER,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
    "internal": SpanKind.INTERNAL,
}


def context_of(traceparent: str | None) -> SpanContext | None:
    """Return the span that a header names; None if it is damaged or missing."""
    found = TRACEPARENT_FORM.fullmatch(traceparent) if traceparent is not None else None
    if found is None:
        return None
    return SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=TraceFlags(int(found[3], 16) & 1))


def traceparent_of(context: SpanContext) -> str:
    """Return the header that names a span."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"


def within(parent: SpanContext | None) -> Context:
    """Return a context whose current span is from elsewhere; None begins a trace."""
    return Context() if parent is None else trace.set_span_in_context(NonRecordingSpan(parent), Context())


def sampled_now() -> SpanContext | None:
    """Return the current span if its trace is sampled."""
    context = trace.get_current_span().get_span_context()
    return context if context.is_valid and context.trace_flags.sampled else None


@contextmanager
def span(
    name: SpanName,
    target: str,
    attributes: Mapping[Name, str | int],
    *,
    parent: SpanContext | None = None,
    links: Iterable[SpanContext] = (),
) -> Iterator[Span]:
    """Make a span the current one for the block; it ends with it, and an error that leaves the block is noted.

    Args:
        name: its name's beginning.
        target: the rest.
        attributes: those that are known at the start.
        parent: a span from elsewhere; None is the current one.
        links: spans that it follows from, too.
    """
    tracer = trace.get_tracer(TRACER)
    with tracer.start_as_current_span(
        f"{name.operation} {target}",
        context=None if parent is None else within(parent),
        kind=KINDS[name.role],
        attributes={str(name): value for name, value in attributes.items()},
        links=[Link(each) for each in links],
    ) as made:
        yield made


def of_messaging(name: SpanName, topic: str) -> dict[Name, str | int]:
    """Return the attributes that every span has which works on a topic."""
    return {
        key.MESSAGING_SYSTEM: "kafka",
        key.MESSAGING_DESTINATION: topic,
        key.MESSAGING_OPERATION: name.operation,
        key.MESSAGING_OPERATION_TYPE: "send" if name.role == "producer" else "process",
    }
