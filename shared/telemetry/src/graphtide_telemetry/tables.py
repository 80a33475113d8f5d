"""The registry as tables for the documentation: `python -m graphtide_telemetry.tables docs/reference/telemetry.md`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_telemetry import alerts, attributes, events, metrics, spans
from graphtide_telemetry.names import Alert, Metric, Name, SpanName, entries

if TYPE_CHECKING:
    from collections.abc import Iterable


def tables() -> dict[str, str]:
    """Return every table by the marker before it in the page."""
    return {
        "spans": _table(
            ("span", "kind", "meaning", "attributes"),
            (
                (f"`{each.operation} …`", each.role, each.meaning, _list(each.attributes))
                for each in entries(vars(spans), SpanName)
            ),
        ),
        "metrics": _table(
            ("metric", "kind", "unit", "meaning", "attributes"),
            (
                (f"`{each.name}`", each.kind.value, f"`{each.unit}`", each.meaning, _list(each.attributes))
                for each in entries(vars(metrics), Metric)
            ),
        ),
        "alerts": _table(
            ("alert", "severity", "when", "for", "threshold", "metrics"),
            (
                (
                    f"[`{each.name}`](../runbooks/{each.name}.md)",
                    each.severity,
                    each.when,
                    f"{each.minutes} min",
                    "" if each.threshold is None else f"`monitoring.rules.{each.threshold}`",
                    _list(metric.name for metric in each.metrics),
                )
                for each in entries(vars(alerts), Alert)
            ),
        ),
        "events": _table(("event", "meaning"), _group_names(entries(vars(events), Name))),
        "attributes": _table(("attribute or field", "meaning"), _group_names(entries(vars(attributes), Name))),
    }


def rewritten(page: str) -> str:
    """Return a page with the tables as they are now, each behind `<!-- table: its name -->` up to the next empty line."""
    for name, table in tables().items():
        marker = f"<!-- table: {name} -->\n"
        before, _, after = page.partition(marker)
        _, empty, rest = after.partition("\n\n")
        page = before + marker + table + empty + rest
    return page


def _group_names(names: Iterable[Name]) -> Iterable[tuple[str, ...]]:
    return ((f"`{each}`", each.meaning) for each in names)


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(rewritten(path.read_text("utf-8")), "utf-8")
