"""The registry of names is the only place that names what services tell, and the documentation shows all of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
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


def calls(path: Path) -> Iterator[tuple[ast.Call, str, str]]:
    """Yield the calls of methods: the call, what of, the method."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, ast.unparse(node.func.value), node.func.attr


def log_calls(path: Path) -> list[ast.Call]:
    return [call for call, of, method in calls(path) if of in {"_LOG", "log"} and method in LEVELS]


def test_services_log() -> None:
    assert sum(len(log_calls(path)) for path in SOURCES) > 20


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_log_event_and_its_fields_are_in_the_registry(path: Path) -> None:
    fields = {str(each) for each in entries(vars(attributes), Name)}
    for call in log_calls(path):
        event = call.args[0]
        assert isinstance(event, ast.Attribute), f"{path}:{call.lineno} names its event itself: add it to telemetry/events.py"
        assert ast.unparse(event.value) == "events"
        assert isinstance(vars(events)[event.attr], Name)
        unknown = {keyword.arg for keyword in call.keywords} - fields
        assert not unknown, f"{path}:{call.lineno} has fields that are not in telemetry/attributes.py: {unknown}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_instruments_and_spans_are_made_from_the_registry_alone(path: Path) -> None:
    if path.parent.name == "graphtide_telemetry":
        return
    made = [f"{path}:{call.lineno}" for call, _, method in calls(path) if method in OPEN_TELEMETRY | {"start_as_current_span"}]
    assert not made, "use graphtide_telemetry"


def test_no_name_stands_twice() -> None:
    for module, kind in ((attributes, Name), (events, Name)):
        names = [str(each) for each in entries(vars(module), kind)]
        assert len(names) == len(set(names))
    figures = [each.name for each in entries(vars(metrics), Metric)]
    assert len(figures) == len(set(figures))


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
