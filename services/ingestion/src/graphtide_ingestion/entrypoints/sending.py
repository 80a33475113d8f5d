"""A request's trace on its way into the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request
from graphtide_telemetry import spans
from graphtide_telemetry.tracing import of_messaging, sampled_now, span, traceparent_of

from graphtide_ingestion.entrypoints import bodies


@contextmanager
def sending(topic: str, request: Request) -> Iterator[str | None]:
    """Make a span around writing to a topic, if the request's trace is sampled; gives what the records are to carry.

    That is the span, if there is one, else what the request came with: a trace that is not sampled stays unsampled.
    """
    if sampled_now() is None:
        yield bodies.traceparent(request)
        return
    with span(spans.SEND, topic, of_messaging(spans.SEND, topic)) as made:
        yield traceparent_of(made.get_span_context())
