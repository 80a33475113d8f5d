"""Makes the chart's Grafana dashboard out of the registry of telemetry: a panel for every metric, in rows that belong together.

`python packaging/chart_dashboards.py` writes it into the chart; a test compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from graphtide_telemetry import metrics
from graphtide_telemetry.exposed import label, list_series
from graphtide_telemetry.names import Kind, Metric, entries

FILE: Final = Path(__file__).parents[1] / "charts" / "graphtide" / "dashboards" / "graphtide.json"

_ROWS: Final = {
    "Edges": ("graphtide.ingestion.", "graphtide.sequencer.", "graphtide.preprocess.", "graphtide.tables."),
    "Matching": ("graphtide.consumer.", "graphtide.matcher.", "graphtide.pattern.", "graphtide.partial_matches."),
    "Checkpoints": ("graphtide.checkpoint.",),
    "Control": ("graphtide.patterns", "graphtide.planner.", "graphtide.statistics."),
    "Alerts": ("graphtide.alerts.",),
    "Processes": ("graphtide.worker.", "graphtide.log.", "http.", "messaging.", "process."),
}
"""Rows of the dashboard, each with a prefix of its metrics."""

_UNITS: Final = {"s": "s", "By": "bytes"}
_WIDTH, _HEIGHT, _ACROSS = 8, 7, 3
_WHERE: Final = 'namespace="$namespace", service=~"$service"'


def dashboard() -> dict[str, Any]:
    """Return the dashboard, as Grafana reads it.

    Raises:
        ValueError: a metric is in no row.
    """
    every = entries(vars(metrics), Metric)
    panels: list[dict[str, Any]] = []
    placed: list[Metric] = []
    top = 0
    for title, beginnings in _ROWS.items():
        row = [metric for metric in every if metric.name.startswith(beginnings) and metric not in placed]
        panels.append(_row(title, top, len(panels) + 1))
        for number, metric in enumerate(row):
            place = (number % _ACROSS * _WIDTH, top + 1 + number // _ACROSS * _HEIGHT)
            panels.append(_panel(metric, place, len(panels) + 1))
        placed += row
        top += 1 + -(-len(row) // _ACROSS) * _HEIGHT
    if left := [metric.name for metric in every if metric not in placed]:
        message = f"no row of the dashboard has {', '.join(left)}"
        raise ValueError(message)
    return {
        "title": "graphtide",
        "uid": "graphtide",
        "tags": ["graphtide"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_source(), _variable("namespace", "process_memory_usage_bytes"), _services()]},
        "panels": panels,
    }


def _row(title: str, top: int, number: int) -> dict[str, Any]:
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": {"h": 1, "w": 24, "x": 0, "y": top}}


def _panel(metric: Metric, place: tuple[int, int], number: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": metric.name,
        "description": metric.meaning,
        "datasource": {"type": "prometheus", "uid": "$source"},
        "gridPos": {"h": _HEIGHT, "w": _WIDTH, "x": place[0], "y": place[1]},
        "fieldConfig": {"defaults": {"unit": _unit(metric), "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(_targets(metric))
        ],
    }


def _unit(metric: Metric) -> str:
    if metric.kind in {Kind.COUNTER, Kind.READ_COUNTER}:
        return "percentunit" if metric.unit == "s" else "cps"
    return _UNITS.get(metric.unit, "short")


def _targets(metric: Metric) -> list[tuple[str, str]]:
    """Return expressions with the names of their series: rates of counters, two quantiles of histograms, the most of gauges."""
    labels = ["service", *(label(attribute) for attribute in metric.attributes)]
    legend = " ".join(f"{{{{{each}}}}}" for each in labels)
    first = f"{list_series(metric)[0]}{{{_WHERE}}}"
    match metric.kind:
        case Kind.COUNTER | Kind.READ_COUNTER:
            return [(f"sum by ({', '.join(labels)}) (rate({first}[$__rate_interval]))", legend)]
        case Kind.GAUGE:
            return [(f"max by ({', '.join(labels)}) ({first})", legend)]
        case Kind.HISTOGRAM:
            rates = f"sum by (le, service) (rate({first}[$__rate_interval]))"
            return [(f"histogram_quantile({share}, {rates})", f"{{{{service}}}} {share}") for share in ("0.5", "0.99")]


def _source() -> dict[str, Any]:
    return {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _variable(name: str, series: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "$source"},
        "query": f"label_values({series}, {name})",
        "refresh": 2,
    }


def _services() -> dict[str, Any]:
    found = _variable("service", 'process_memory_usage_bytes{namespace="$namespace"}')
    return {**found, "includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}}


def text() -> str:
    """Return the file."""
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
