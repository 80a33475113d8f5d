"""Names under which Prometheus reads the metrics of the registry; a test compares with what its exporter writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_telemetry.names import Kind

if TYPE_CHECKING:
    from graphtide_telemetry.names import Metric

_UNITS: Final = {"s": "_seconds", "By": "_bytes"}


def list_series(metric: Metric) -> tuple[str, ...]:
    """Return the names of a metric's series: one, but for a histogram its buckets, its sum and its count, in that order."""
    name = metric.name.replace(".", "_") + _UNITS.get(metric.unit, "")
    match metric.kind:
        case Kind.COUNTER | Kind.READ_COUNTER:
            return (f"{name}_total",)
        case Kind.HISTOGRAM:
            return f"{name}_bucket", f"{name}_sum", f"{name}_count"
        case Kind.GAUGE:
            return (name,)


def label(attribute: str) -> str:
    """Return the name of the label that an attribute becomes."""
    return attribute.replace(".", "_")
