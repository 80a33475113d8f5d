"""Set telemetry up, once for a process: metrics for Prometheus, and everything by OTLP if configured.

Nothing goes over the network unless `OTEL_EXPORTER_OTLP_ENDPOINT`, or the variable of a signal, names an endpoint. Without one
no span is recorded: traces go through this process as they came.
"""

from __future__ import annotations

import os
import resource as rusage
import threading
from typing import TYPE_CHECKING, Final

from opentelemetry import _logs, metrics, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from graphtide_telemetry.instruments import observe
from graphtide_telemetry.metrics import PROCESS_CPU, PROCESS_MEMORY
from graphtide_telemetry.resident import resident_bytes
from graphtide_telemetry.version import version_of

if TYPE_CHECKING:
    from graphtide_telemetry.settings import TelemetrySettings

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

_METRICS: Final = CollectorRegistry()
_DONE = threading.Event()


def set_up(service: str, settings: TelemetrySettings) -> None:
    """Send metrics, traces and logs of this process where the environment says; call it once at the start.

    Args:
        service: name of the process, `graphtide-planner`; `OTEL_SERVICE_NAME` takes its place.
        settings: those of our own.
    """
    if _DONE.is_set() or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    _DONE.set()
    name = os.environ.get("OTEL_SERVICE_NAME") or service
    resource = Resource.create({"service.name": name, "service.version": version_of("graphtide-telemetry")})
    if _is_exported("TRACES"):
        sampler = None if "OTEL_TRACES_SAMPLER" in os.environ else ParentBased(TraceIdRatioBased(settings.trace_ratio))
        traces = TracerProvider(sampler, resource)
        traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(traces)
    if _is_exported("LOGS"):
        logs = LoggerProvider(resource)
        logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
        _logs.set_logger_provider(logs)
    readers: list[MetricReader] = [PrometheusMetricReader(scope_info_enabled=False, registry=_METRICS)]
    if _is_exported("METRICS"):
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    metrics.set_meter_provider(MeterProvider(readers, resource))
    observe(PROCESS_MEMORY, lambda: [(resident_bytes(), {})])
    observe(PROCESS_CPU, lambda: [(_processor_seconds(), {})])


def exposition() -> bytes:
    """Return the metrics of this process in Prometheus' text form; none before `set_up`."""
    return generate_latest(_METRICS)


def _is_exported(signal: str) -> bool:
    if os.environ.get(f"OTEL_{signal}_EXPORTER", "otlp") != "otlp":
        return False
    return any(os.environ.get(f"OTEL_EXPORTER_OTLP_{name}") for name in ("ENDPOINT", f"{signal}_ENDPOINT"))


def _processor_seconds() -> float:
    used = rusage.getrusage(rusage.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
