"""The registry of names is the only place that names what services report, and the documentation shows all of it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_telemetry import attributes, events, metrics, spans
from graphtide_telemetry.names import Kind, Metric, Name, SpanName, entries
from graphtide_telemetry.tables import tables
from graphtide_telemetry.tracing import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
SOURCES = [path for room in ("shared", "services") for path in sorted((ROOT / room).glob("*/src/**/*.py"))]
PAGE = ROOT / "docs" / "reference" / "telemetry.md"
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
OPEN_TELEMETRY = {"create_counter", "create_histogram", "create_observable_gauge", "create_observable_counter", "start_span"}


@cache
def calls() -> tuple[tuple[Path, ast.Call, str, str], ...]:
    """Return the calls of methods in all sources: the file, the call, what of, the method."""
    return tuple(
        (path, node, ast.unparse(node.func.value), node.func.attr)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )


def log_calls() -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls that write to a log, each with its place."""
    for path, call, of, method in calls():
        if of in {"_LOG", "log"} and method in LEVELS:
            yield f"{path.relative_to(ROOT)}:{call.lineno}", call


def test_services_log() -> None:
    assert len(list(log_calls())) > 20


def test_log_events_and_their_fields_are_in_the_registry() -> None:
    fields = {str(each) for each in entries(vars(attributes), Name)}
    offenders = []
    for place, call in log_calls():
        event = call.args[0]
        if not (isinstance(event, ast.Attribute) and ast.unparse(event.value) == "events"):
            offenders.append(f"{place} names its event itself: add it to telemetry/events.py")
        elif not isinstance(vars(events).get(event.attr), Name):
            offenders.append(f"{place} has an event that is not in telemetry/events.py: {event.attr}")
        if unknown := {str(keyword.arg) for keyword in call.keywords} - fields:
            offenders.append(f"{place} has fields that are not in telemetry/attributes.py: {sorted(unknown)}")
    assert not offenders, "\n".join(offenders)


def test_instruments_and_spans_are_made_from_the_registry_alone() -> None:
    made = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path, call, _, method in calls()
        if method in OPEN_TELEMETRY | {"start_as_current_span"} and path.parent.name != "graphtide_telemetry"
    ]
    assert not made, "use graphtide_telemetry in\n" + "\n".join(made)


def test_no_name_stands_twice() -> None:
    for module, kind in ((attributes, Name), (events, Name)):
        names = [str(each) for each in entries(vars(module), kind)]
        assert len(names) == len(set(names))
    metric_names = [each.name for each in entries(vars(metrics), Metric)]
    assert len(metric_names) == len(set(metric_names))


def test_names_have_the_forms_of_their_kinds() -> None:
    for event in entries(vars(events), Name):
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", event)
    for metric in entries(vars(metrics), Metric):
        assert re.fullmatch(r"(graphtide|http|messaging|process)(\.[a-z_]+)+", metric.name)
        assert bool(metric.bounds) == (metric.kind is Kind.HISTOGRAM)
        assert metric.meaning.endswith(".")
        assert metric.unit in {"s", "By"} or re.fullmatch(r"\{[a-z]+\}", metric.unit)
    for span in entries(vars(spans), SpanName):
        assert span.role in KINDS


def test_the_documentation_shows_the_registry() -> None:
    page = PAGE.read_text("utf-8")
    for title, table in tables().items():
        assert table in page, f"{title}: run `python -m graphtide_telemetry.tables {PAGE.relative_to(ROOT)}`"
