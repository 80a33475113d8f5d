"""What is said of names in Prometheus is what its exporter writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphtide_telemetry import metrics
from graphtide_telemetry.exposed import label, list_series
from graphtide_telemetry.names import Kind, Metric, entries
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

if TYPE_CHECKING:
    import pytest


def write_metric(metric: Metric) -> str:
    registry = CollectorRegistry()
    reader = PrometheusMetricReader(scope_info_enabled=False, disable_target_info=True, registry=registry)
    provider = MeterProvider([reader])
    meter = provider.get_meter("test")
    values = dict.fromkeys(map(str, metric.attributes), "v")
    match metric.kind:
        case Kind.COUNTER:
            meter.create_counter(metric.name, metric.unit).add(1, values)
        case Kind.HISTOGRAM:
            meter.create_histogram(metric.name, metric.unit).record(1, values)
        case Kind.GAUGE:
            meter.create_observable_gauge(metric.name, [lambda _: [Observation(1, values)]], metric.unit)
        case Kind.READ_COUNTER:
            meter.create_observable_counter(metric.name, [lambda _: [Observation(1, values)]], metric.unit)
    text = generate_latest(registry).decode()
    provider.shutdown()
    return text


def test_names_and_labels_are_those_of_the_exporter(subtests: pytest.Subtests) -> None:
    for metric in entries(vars(metrics), Metric):
        with subtests.test(metric.name):
            lines = [line for line in write_metric(metric).splitlines() if not line.startswith("#")]
            names = {re.split(r"[{ ]", line)[0] for line in lines}
            assert {name for name in names if not name.endswith("_created")} == set(list_series(metric))
            labels = {found for line in lines for found in re.findall(r'([a-z_]+)="', line)}
            assert labels - {"le"} == {label(attribute) for attribute in metric.attributes}
