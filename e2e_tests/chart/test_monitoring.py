"""Metrics are read from every service; alerts ask for metrics that there are, and each has a page that says what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from graphtide_telemetry import metrics
from graphtide_telemetry.exposed import label, list_series
from graphtide_telemetry.names import Metric, entries
from graphtide_testing.charts import ROOT, render

if TYPE_CHECKING:
    import pytest

RUNBOOKS = ROOT / "docs" / "runbooks"

PROMETHEUS = {
    "up", "absent", "by", "increase", "le", "max", "or", "rate", "sum",
    "namespace", "pod", "service", "histogram_quantile",
}  # fmt: skip
"""Words of Prometheus, and labels that it adds."""


def rules(over: str = "full") -> list[dict[str, Any]]:
    (group,) = render(over=over).one("PrometheusRule", "alerts")["spec"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def words(expression: str) -> set[str]:
    """Return the names in an expression: of series, of labels and of functions."""
    bare = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"[a-zA-Z_][a-zA-Z0-9_]*", re.sub(r"\[[^\]]*\]", "", bare)))


def list_metrics() -> set[str]:
    every = entries(vars(metrics), Metric)
    series = {name for metric in every for name in list_series(metric)}
    return series | {label(attribute) for metric in every for attribute in metric.attributes}


def test_an_alert_asks_for_metrics_that_there_are(subtests: pytest.Subtests) -> None:
    for rule in rules():
        with subtests.test(rule["alert"]):
            assert words(rule["expr"]) - list_metrics() - PROMETHEUS == set()
            assert words(rule["expr"]) & (list_metrics() | {"up"})


def test_labels_of_an_alert_are_those_that_its_series_have(subtests: pytest.Subtests) -> None:
    for rule in rules():
        with subtests.test(rule["alert"]):
            named = {
                name
                for text in (rule["annotations"]["summary"], rule["annotations"]["description"])
                for name in re.findall(r"\$labels\.([a-z_]+)", text)
            }
            kept = re.search(r"(?:sum|max) by \(([^)]*)\)", rule["expr"])
            if kept is not None:
                assert named <= set(kept[1].split(", "))
            series = [metric for metric in entries(vars(metrics), Metric) if set(list_series(metric)) & words(rule["expr"])]
            labels = {label(attribute) for metric in series for attribute in metric.attributes}
            assert named <= labels | {"pod", "service"}


def test_an_alert_has_a_page_that_says_what_to_do(subtests: pytest.Subtests) -> None:
    for rule in rules():
        with subtests.test(rule["alert"]):
            assert rule["annotations"]["runbook_url"] == f"https://docs.example.org/runbooks/{rule['alert']}.md"
            page = (RUNBOOKS / f"{rule['alert']}.md").read_text("utf-8")
            assert page.startswith(f"# {rule['alert']}\n")
            assert [line for line in page.splitlines() if line.startswith("## ")] == [
                "## What it means",
                "## What to look at",
                "## What to do",
            ]


def test_every_page_is_that_of_an_alert() -> None:
    pages = {page.stem for page in RUNBOOKS.glob("*.md")}
    assert pages == {rule["alert"] for rule in rules()}


def test_thresholds_are_those_of_values() -> None:
    changed = render({"monitoring": {"rules": {"lagSeconds": 7}}}, over="full")
    (group,) = changed.one("PrometheusRule", "alerts")["spec"]["groups"]
    (behind,) = [rule for rule in group["rules"] if rule["alert"] == "GraphtideReaderBehind"]
    assert behind["expr"] == 'graphtide_consumer_lag_seconds{namespace="streams", service=~"tide-.+"} > 7'


def test_every_service_is_read_and_nothing_else() -> None:
    release = render(over="full")
    spec = release.one("ServiceMonitor", "metrics")["spec"]
    chosen = {
        name
        for name, each in release.of("Service").items()
        if spec["selector"]["matchLabels"].items() <= each["metadata"]["labels"].items()
    }
    assert chosen == {
        "admin-api", "alerts", "backfill", "ingestion", "matcher-algebra", "matcher-event-pattern", "matcher-sjtree",
        "matcher-simulation", "matcher-timing", "planner", "preprocess", "sequencer", "statistics",
    }  # fmt: skip
    (endpoint,) = spec["endpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("http", "/metrics")


def test_grafana_finds_the_dashboard() -> None:
    dashboards = render(over="full").one("ConfigMap", "dashboards")
    assert dashboards["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert (
        dashboards["data"]["graphtide.json"] == (ROOT / "charts/graphtide/dashboards/graphtide.json").read_text("utf-8").strip()
    )
