"""Compares two reports: how many times as fast, or as large, the later one is, over the cases that both have."""

from __future__ import annotations

from collections import defaultdict
from statistics import geometric_mean
from typing import TYPE_CHECKING

from graphtide_core.errors import FatalError

from graphtide_bench.table import Table, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_bench.report import Report

Figure = tuple[str, str, float]
"""The group it belongs to, its name within the group, its value."""


def compare(before: Report, after: Report) -> Table:
    """Return a row for each group of cases: the mean ratio after/before, and the cases that changed least and most.

    More than 1 is better for rates, less than 1 for bytes.

    Raises:
        FatalError: the reports have no case in common.
    """
    old = {(group, name): value for group, name, value in _figures(before)}
    ratios: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for group, name, value in _figures(after):
        if old.get((group, name)) and value:
            ratios[group][name] = value / old[group, name]
    if not ratios:
        message = "the reports have no case in common"
        raise FatalError(message)
    rows = []
    for group, found in ratios.items():
        low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        rows.append(
            (
                group,
                f"{len(found)}",
                ratio(geometric_mean(found.values())),
                f"{ratio(found[low])} {low}",
                f"{ratio(found[high])} {high}",
            )
        )
    return Table("After / before", ("figure", "cases", "mean", "least", "most"), tuple(rows))


def _figures(report: Report) -> Iterator[Figure]:
    for each in report.measurements:
        where = f"{each.workload} {each.window:,} {each.way}"
        yield f"edges/s, {where}", each.pattern, each.rate
        yield f"peak state, {where}", each.pattern, float(each.peak_state_bytes)
    for use in report.resident:
        yield f"memory added, {use.workload} {use.engine}", f"{use.patterns} {use.peak.edges:,}", float(use.added)
    for run in report.many:
        yield f"edges/s, many patterns, {run.engine}", f"{run.patterns:,}", run.rate
