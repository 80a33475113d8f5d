"""The telemetry of a process, as tests look at it: metrics as Prometheus reads them, spans in memory or by OTLP."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import TYPE_CHECKING

from graphtide_telemetry.settings import TelemetrySettings
from graphtide_telemetry.setup import set_up
from graphtide_telemetry.tracing import KINDS
from opentelemetry import trace
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, DEFAULT_OFF, Sampler, SamplingResult
from opentelemetry.trace import SpanKind
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Link, TraceState
    from opentelemetry.util.types import Attributes

_ROLES = {kind: role for role, kind in KINDS.items()}


@dataclass(frozen=True)
class EndedSpan:
    """A span that has ended; ids in hexadecimal, no parent is empty."""

    service: str
    name: str
    role: str
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def traceparent(self) -> str:
        """The traceparent of a record that continues it."""
        return f"00-{self.trace_id}-{self.span_id}-01"


def metrics_of(text: str) -> dict[str, float]:
    """Return the samples of an exposition by name and labels: `edges_total{outcome="read"}`, sorted and none empty."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()) if value)
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def count_metrics() -> None:
    """Let this process count from now on. Counts continue through its tests, so tests look at differences."""
    set_up("tests", TelemetrySettings())


class _Switch(Sampler):
    """Takes no trace but while a test looks, and then those alone that were begun elsewhere."""

    def __init__(self) -> None:
        self.on = Event()

    def should_sample(  # noqa: PLR0917 - the signature is the SDK's
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        chosen = DEFAULT_OFF if self.on.is_set() else ALWAYS_OFF
        return chosen.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)

    def get_description(self) -> str:
        return "as tests ask"


@cache
def _process() -> tuple[_Switch, InMemorySpanExporter]:
    """Set the one provider of this process up."""
    switch, exporter = _Switch(), InMemorySpanExporter()
    provider = TracerProvider(switch)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return switch, exporter


class Spans:
    """The spans of this process."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        """Look at what was exported."""
        self._exporter = exporter

    def ended(self) -> list[EndedSpan]:
        """Return the spans that have ended."""
        return [_read_span(span) for span in self._exporter.get_finished_spans()]


@contextmanager
def spans_in_memory() -> Iterator[Spans]:
    """Record the spans of traces that were begun elsewhere, while the block runs."""
    switch, exporter = _process()
    exporter.clear()
    switch.on.set()
    try:
        yield Spans(exporter)
    finally:
        switch.on.clear()


class OtlpReceiver:
    """Takes what processes send by OTLP over HTTP.

    Attributes:
        endpoint: what `OTEL_EXPORTER_OTLP_ENDPOINT` is to say.
        events: names of log events that came.
        metrics: names of metrics that came.
    """

    def __init__(self) -> None:
        """Listen on a free port; takes nothing before it is entered."""
        self._spans: list[EndedSpan] = []
        self.events: set[str] = set()
        self.metrics: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> OtlpReceiver:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def ended(self) -> list[EndedSpan]:
        """Return the spans that came."""
        return list(self._spans)

    def _take_logs(self, body: bytes) -> None:
        for of_process in ExportLogsServiceRequest.FromString(body).resource_logs:
            self.events |= {each.event_name for of_scope in of_process.scope_logs for each in of_scope.log_records}

    def _take_metrics(self, body: bytes) -> None:
        for of_process in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            self.metrics |= {each.name for of_scope in of_process.scope_metrics for each in of_scope.metrics}

    def _take_spans(self, body: bytes) -> None:
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            reported = {each.key: each.value.string_value for each in of_process.resource.attributes}
            for of_scope in of_process.scope_spans:
                self._spans += [
                    EndedSpan(
                        service=reported["service.name"],
                        name=span.name,
                        role=_ROLES[SpanKind(span.kind - 1)],
                        trace_id=span.trace_id.hex(),
                        span_id=span.span_id.hex(),
                        parent_id=span.parent_span_id.hex(),
                        links=tuple(link.span_id.hex() for link in span.links),
                    )
                    for span in of_scope.spans
                ]

    def _handler(receiver) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                take = {
                    "/v1/traces": receiver._take_spans,
                    "/v1/logs": receiver._take_logs,
                    "/v1/metrics": receiver._take_metrics,
                }
                take[self.path](body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler


def _read_span(span: ReadableSpan) -> EndedSpan:
    context = span.get_span_context()
    if context is None:
        message = "a span without a context"
        raise ValueError(message)
    return EndedSpan(
        service=str(span.resource.attributes.get("service.name", "")),
        name=span.name,
        role=_ROLES[span.kind],
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent_id="" if span.parent is None else f"{span.parent.span_id:016x}",
        links=tuple(f"{link.context.span_id:016x}" for link in span.links),
        attributes=dict(span.attributes or {}),
    )
